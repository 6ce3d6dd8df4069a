import Glibc
import ReelCore

/// The folders that are never taken in, and what lies beneath them.
struct ExcludedDirectories {
  private let roots: Set<DirectoryIdentity>
  private var known: [DirectoryIdentity: Bool] = [:]

  /// What is said when the user names such a folder, or something in it.
  static let error = SourceError(
    .outsideRoot, "it belongs to Reel's own library or destination, which is never taken in; leave it out")

  init(_ roots: [DirectoryIdentity]) {
    self.roots = Set(roots)
  }

  /// Whether it is one of them. What lies beneath is not met, as long as the walk came from above.
  func contains(_ directory: DirectoryIdentity) -> Bool {
    roots.contains(directory)
  }

  /// Whether `directory` is one of them or lies beneath one: climbs to the root of the file system. Blocks.
  mutating func covers(_ directory: Descriptor, _ identity: DirectoryIdentity) -> Bool {
    guard !roots.isEmpty else { return false }
    if let answer = known[identity] { return answer }
    let answer = climb(from: directory, identity)
    known[identity] = answer
    return answer
  }

  private func climb(from directory: Descriptor, _ identity: DirectoryIdentity) -> Bool {
    var current = directory
    var identity = identity
    while !roots.contains(identity) {
      guard let parent = try? PathLookup.find(Array("..".utf8), from: current, links: .refuse),
        parent.status.directoryIdentity != identity
      else { return false }
      current = parent.descriptor
      identity = parent.status.directoryIdentity
    }
    return true
  }
}
