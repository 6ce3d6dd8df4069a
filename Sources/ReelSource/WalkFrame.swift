import ReelCore

/// A folder that a walk is in.
struct WalkFrame: Sendable {
  /// Nil while it is not held open, because the walk is deep below it.
  var directory: DirectoryHandle?
  let identity: DirectoryIdentity
  /// How long the folder's own path is.
  let pathLength: Int
  /// Whether the walk came here by a link, so that `..` leads elsewhere.
  let cameByLink: Bool
  private let names: NameList
  private var next = 0

  init(_ directory: DirectoryHandle, pathLength: Int, cameByLink: Bool) throws(SourceError) {
    self.directory = directory
    identity = directory.identity
    self.pathLength = pathLength
    self.cameByLink = cameByLink
    names = try NameList(of: directory)
  }

  mutating func nextName() -> [UInt8]? {
    guard next < names.count else { return nil }
    defer { next += 1 }
    return names[next]
  }
}
