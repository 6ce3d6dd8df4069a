import Glibc
import ReelCore

/// The walk through one folder that the user named: depth first, the names of each folder in byte order.
///
/// The folders on the way down are held open, but at most ``heldFrames`` of them. The others are reopened on the way up
/// through `..`, but only if that is still the same folder. So a tree may have any depth.
struct FolderWalk: Sendable {
  /// The number of folders on the way down that stay open.
  private static let heldFrames = 32

  let root: DirectoryHandle
  private let links: LinkRule
  /// How many bytes of a path belong to the root.
  let rootLength: Int
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

  /// Creates a walk that begins at something below `root`, with ``entry(at:_:in:)``.
  init(beneath root: DirectoryHandle, _ path: SourcePath, followLinks: Bool) {
    self.root = root
    links = followLinks ? .followBeneath : .refuse
    self.path = path.bytes
    rootLength = path.bytes.count + (path.bytes.last == UInt8(ascii: "/") ? 0 : 1)
    frames = []
  }

  func entry(at path: SourcePath, _ name: [UInt8], in directory: DirectoryHandle) -> Entry {
    Entry(directory: directory, name: name, path: path, rootLength: rootLength)
  }

  /// A name that the walk has reached.
  struct Entry: Sendable {
    let directory: DirectoryHandle
    let name: [UInt8]
    let path: SourcePath
    /// How many bytes of the path belong to the root.
    let rootLength: Int

    /// The path relative to the root.
    var relativePath: [UInt8] { Array(path.bytes.dropFirst(rootLength)) }
  }

  enum Step: Sendable {
    case entry(Entry)
    /// The rest of this folder can't be walked.
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

  /// - Throws: `denied` and the like if the folder can't be listed; the walk continues after it.
  mutating func enter(_ entry: Entry, _ directory: DirectoryHandle, byLink: Bool) throws(SourceError) {
    frames.append(try WalkFrame(directory, pathLength: entry.path.bytes.count, cameByLink: byLink))
    path = entry.path.bytes
    let far = frames.count - Self.heldFrames
    if far > 0 { frames[far].directory = nil }
  }

  /// Whether the current folder holds a file, of any kind, whose sidecar would have this name, or one that prints
  /// alike.
  mutating func hasVideo(forSidecar name: [UInt8]) -> Bool {
    guard let last = frames.indices.last, let key = AlikeName.key(name) else { return false }
    let stem = Array(name.dropLast(".json".utf8.count))
    let isFound = frames[last].names(beginningWith: stem).contains { other in
      !Sidecar.isName(other) && AlikeName.key(Sidecar.name(for: other)) == key
    }
    // A name that is normalized differently begins with other bytes.
    return isFound || !stem.allSatisfy { $0 < 0x80 } && frames[last].sidecarKeys.contains(key)
  }

  /// Whether there is a file beside it whose name is its own and one of these endings, which begin with a dot.
  func hasFile(beside entry: Entry, ending endings: [[UInt8]]) -> Bool {
    var names = endings.map { entry.name + $0 }
    if let last = frames.last, last.identity == entry.directory.identity {
      let listed = last.names(beginningWith: entry.name + [UInt8(ascii: ".")])
      names.removeAll { !listed.contains($0) }
    }
    return names.contains { (try? entry.directory.status(of: $0))?.kind == .regular }
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

  /// Reopens the folder by its path from the root, because `..` did not lead to it.
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

/// A folder on a walk's current path.
struct WalkFrame: Sendable {
  /// Nil while it is not held open, because the walk is far below it.
  var directory: DirectoryHandle?
  let identity: DirectoryIdentity
  /// The length of the folder's own path.
  let pathLength: Int
  /// Whether the walk entered it through a link, so that `..` leads elsewhere.
  let cameByLink: Bool
  private let names: NameList
  private var next = 0
  /// The names that its files' sidecars would have, as keys that are equal for names printing alike.
  private(set) lazy var sidecarKeys = Set(
    (0..<names.count).lazy.map { [names] in names[$0] }.filter { !Sidecar.isName($0) }.compactMap {
      AlikeName.key(Sidecar.name(for: $0))
    })

  init(_ directory: DirectoryHandle, pathLength: Int, cameByLink: Bool) throws(SourceError) {
    self.directory = directory
    identity = directory.identity
    self.pathLength = pathLength
    self.cameByLink = cameByLink
    names = try NameList(of: directory)
  }

  func names(beginningWith stem: [UInt8]) -> some Sequence<[UInt8]> {
    (names.firstIndex(notBefore: stem)..<names.count).lazy.map { names[$0] }.prefix { $0.starts(with: stem) }
  }

  mutating func nextName() -> [UInt8]? {
    guard next < names.count else { return nil }
    defer { next += 1 }
    return names[next]
  }
}

/// What a walk has met already, so that overlapping inputs yield each file only once.
///
/// It remembers each folder entered and each file named: 16 bytes of identity for a folder; for a file, its name and
/// the identity of its folder. What a folder holds does not count. With one input and no links nothing can occur twice,
/// so nothing is kept.
struct SeenSources {
  private struct NamedFile: Hashable {
    let directory: DirectoryIdentity
    let name: [UInt8]
  }
  private let isNeeded: Bool
  private var directories: Set<DirectoryIdentity> = []
  private var files: Set<NamedFile> = []

  init(isNeeded: Bool) {
    self.isNeeded = isNeeded
  }

  /// Records the folder, and returns whether it is met for the first time.
  mutating func enters(_ directory: DirectoryIdentity) -> Bool {
    !isNeeded || directories.insert(directory).inserted
  }

  func hasEntered(_ directory: DirectoryIdentity) -> Bool {
    directories.contains(directory)
  }

  /// Records the file, and returns whether it is named for the first time.
  mutating func names(_ name: [UInt8], in directory: DirectoryIdentity) -> Bool {
    !isNeeded || files.insert(NamedFile(directory: directory, name: name)).inserted
  }

  func hasNamed(_ name: [UInt8], in directory: DirectoryIdentity) -> Bool {
    !files.isEmpty && files.contains(NamedFile(directory: directory, name: name))
  }
}

/// The folders that are never ingested, together with everything beneath them.
struct ExcludedDirectories {
  private let roots: Set<DirectoryIdentity>
  private var known: [DirectoryIdentity: Bool] = [:]

  /// The error if the user names such a folder, or something in it.
  static let error = SourceError(
    .outsideRoot, "it belongs to Reel's own library or destination, which is never ingested; leave it out")

  init(_ roots: [DirectoryIdentity]) {
    self.roots = Set(roots)
  }

  /// Whether it is one of them. A walk from above never reaches what is beneath one.
  func contains(_ directory: DirectoryIdentity) -> Bool {
    roots.contains(directory)
  }

  /// Whether `directory` is one of them or is beneath one; climbs to the root of the file system. Blocks.
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
