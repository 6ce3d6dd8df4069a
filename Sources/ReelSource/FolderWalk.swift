import ReelCore

/// The walk through one folder that the user named: depth first, the names of each folder in byte order.
///
/// The folders on the way down are held open, but not more of them than ``heldFrames``: the others are opened
/// again on the way up, by `..`, and only if that is still the same folder. So a tree may be as deep as it
/// likes.
struct FolderWalk: Sendable {
  /// How many folders on the way down stay open.
  private static let heldFrames = 32

  let root: DirectoryHandle
  private let links: LinkRule
  /// How much of a path is the name of the root.
  private let rootLength: Int
  /// The path of the current folder.
  private var path: [UInt8]
  private var frames: [WalkFrame]

  /// - Throws: `denied` and the like when the folder can't be listed.
  init(_ root: DirectoryHandle, path: SourcePath, followLinks: Bool) throws(SourceError) {
    self.root = root
    links = followLinks ? .followBeneath : .refuse
    self.path = path.bytes
    let frame = try WalkFrame(root, pathLength: path.bytes.count, cameByLink: false)
    rootLength = path.bytes.count + (path.bytes.last == UInt8(ascii: "/") ? 0 : 1)
    frames = [frame]
  }

  /// A name that the walk has come to.
  struct Entry: Sendable {
    let directory: DirectoryHandle
    let name: [UInt8]
    let path: SourcePath
    /// How much of the path is the name of the root.
    let rootLength: Int

    /// Seen from the root.
    var relativePath: [UInt8] { Array(path.bytes.dropFirst(rootLength)) }
  }

  enum Step: Sendable {
    case entry(Entry)
    /// The rest of this folder is lost.
    case lost(SourcePath, SourceError)
    case end
  }

  mutating func next() -> Step {
    while let last = frames.indices.last {
      guard let directory = frames[last].directory else { return reopen(last) }
      if let name = frames[last].nextName() { return .entry(entry(name, in: directory)) }
      leave(directory)
    }
    return .end
  }

  private func entry(_ name: [UInt8], in directory: DirectoryHandle) -> Entry {
    Entry(
      directory: directory, name: name, path: SourcePath(bytes: path).appending(name), rootLength: rootLength)
  }

  /// - Throws: `denied` and the like when the folder can't be listed; the walk goes on beside it.
  mutating func enter(_ entry: Entry, _ directory: DirectoryHandle, byLink: Bool) throws(SourceError) {
    frames.append(try WalkFrame(directory, pathLength: entry.path.bytes.count, cameByLink: byLink))
    path = entry.path.bytes
    let far = frames.count - Self.heldFrames
    if far > 0 { frames[far].directory = nil }
  }

  private mutating func leave(_ directory: DirectoryHandle) {
    let left = frames.removeLast()
    guard let last = frames.indices.last else { return }
    path.removeLast(path.count - frames[last].pathLength)
    if frames[last].directory == nil, !left.cameByLink {
      frames[last].directory = parent(of: directory, expected: frames[last].identity)
    }
  }

  private func parent(of directory: DirectoryHandle, expected: DirectoryIdentity) -> DirectoryHandle? {
    guard let located = try? directory.find(Array("..".utf8)), located.status.directoryIdentity == expected
    else { return nil }
    return try? located.openDirectory()
  }

  /// By its path from the root, because `..` did not lead there.
  private mutating func reopen(_ index: Int) -> Step {
    let path = SourcePath(bytes: path)
    do throws(SourceError) {
      let located = try PathLookup.find(
        Array(path.bytes.dropFirst(rootLength)), from: root.descriptor, links: links)
      guard located.status.directoryIdentity == frames[index].identity else { throw SourceError.changed }
      frames[index].directory = try located.openDirectory()
      return next()
    } catch {
      abandon(index)
      return .lost(path, error)
    }
  }

  private mutating func abandon(_ index: Int) {
    frames.remove(at: index)
    if let last = frames.indices.last { path.removeLast(path.count - frames[last].pathLength) }
  }
}
