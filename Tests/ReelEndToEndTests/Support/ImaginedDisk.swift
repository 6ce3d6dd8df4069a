import Foundation

/// A model of a disk, or two, on which a `DiskRecord` is replayed, and of what it may hold after a power loss.
///
/// Two rules for what a sync makes durable are modeled:
///
/// - `.onlyWhatWasSynced`: what POSIX promises and no more. A file's bytes and length are durable once the file was
///   synced, and a name (made, moved, removed) once its folder was. Everything else survives or not, each change
///   independently and in any order, with bytes in sectors of 512.
/// - `.journal`: the behavior of ext4 (`data=ordered`) and XFS. Changes of names reach the disk in order, and any
///   completed sync makes all earlier changes of names durable. Bytes are as above.
///
/// Under both rules a move is atomic, a sector is written completely or not at all, and the data of a failed sync may
/// be lost for good, whatever later syncs say (Linux marks such pages clean). Shared memory (`-shm`) is never synced,
/// so it may hold anything.
struct ImaginedDisk {
  enum Rule: CaseIterable {
    case onlyWhatWasSynced, journal
  }

  /// What happens to data that was not synced.
  enum Fate: CaseIterable {
    case allLost, allKept, someLost, sectorsLost
  }

  private enum Change {
    case write(Int, Data)
    case size(Int)
  }

  private struct Node {
    let isFolder: Bool
    /// Whether it is on the other disk.
    let isElsewhere: Bool
    var durable = Data()
    /// The changes that are not synced yet. `isLost` is true once a sync of the change has failed.
    var pending: [(change: Change, isLost: Bool)] = []
  }

  private struct Place: Hashable {
    let folder: Int
    let name: String
  }

  private enum Naming {
    case add(Place, Int)
    case remove(Place)
    case move(Place, Place, Int)

    /// The folder of the name. For a move, which never leaves its disk, it is that of the old name.
    var folder: Int {
      switch self {
      case .add(let place, _), .remove(let place), .move(let place, _, _): place.folder
      }
    }

    func concerns(_ folder: Int) -> Bool {
      switch self {
      case .add(let place, _), .remove(let place): place.folder == folder
      case .move(let old, let new, _): old.folder == folder || new.folder == folder
      }
    }
  }

  private let root: String
  let rule: Rule
  private let otherDisk: String?
  private var nodes: [Node] = [Node(isFolder: true, isElsewhere: false)]
  private var names: [Place: Int] = [:]
  private var durableNames: [Place: Int] = [:]
  private var pendingNames: [Naming] = []
  private var descriptors: [Int: Int] = [:]
  /// The bytes written to standard output.
  private(set) var told = Data()

  /// - Parameters:
  ///   - root: An existing folder in which everything happens.
  ///   - otherDisk: A folder in it where the other disk is mounted, which has names and syncs of its own.
  ///   - held: What is durable at the beginning: files by their paths in the root, nil for a folder.
  init(root: URL, rule: Rule, otherDisk: String? = nil, holding held: [(path: String, bytes: Data?)] = []) {
    self.root = root.path
    self.rule = rule
    self.otherDisk = otherDisk
    for (path, bytes) in held {
      add(self.root + "/" + path, isFolder: bytes == nil)
      if let bytes { nodes[nodes.count - 1].durable = bytes }
    }
    durableNames = names
    pendingNames = []
  }

  // MARK: Before the power loss

  mutating func play(_ step: DiskRecord.Step) {
    switch step {
    case .process: descriptors = [:]
    case .open(let descriptor, let created, let truncated, let path):
      if created { add(path, isFolder: false) }
      guard let node = node(at: path) else { return }
      descriptors[descriptor] = node
      if truncated { nodes[node].pending.append((.size(0), false)) }
    case .close(let descriptor): descriptors[descriptor] = nil
    case .write(let descriptor, let offset, let bytes): change(descriptor, .write(offset, bytes))
    case .truncate(let descriptor, let size): change(descriptor, .size(size))
    case .sync(let descriptor): sync(descriptor)
    case .failedSync(let descriptor):
      guard let node = descriptors[descriptor] else { return }
      for index in nodes[node].pending.indices { nodes[node].pending[index].isLost = true }
    case .syncAll: syncAll()
    case .rename(let old, let new):
      guard let from = place(of: old), let to = place(of: new), let node = names[from] else { return }
      name(.move(from, to, node))
    case .link(let old, let new):
      guard let to = place(of: new), let node = node(at: old) else { return }
      name(.add(to, node))
    case .unlink(let path), .removeFolder(let path):
      if let place = place(of: path) { name(.remove(place)) }
    case .makeFolder(let path): add(path, isFolder: true)
    case .tell(let bytes): told += bytes
    }
  }

  private mutating func add(_ path: String, isFolder: Bool) {
    guard let place = place(of: path) else { return }
    nodes.append(
      Node(isFolder: isFolder, isElsewhere: path == otherDisk || nodes[place.folder].isElsewhere))
    name(.add(place, nodes.count - 1))
  }

  private mutating func name(_ naming: Naming) {
    Self.apply(naming, to: &names)
    pendingNames.append(naming)
  }

  private mutating func change(_ descriptor: Int, _ change: Change) {
    if let node = descriptors[descriptor] { nodes[node].pending.append((change, false)) }
  }

  private mutating func sync(_ descriptor: Int) {
    guard let node = descriptors[descriptor] else { return }
    settleBytes(of: node)
    switch rule {
    case .journal:
      let isElsewhere = nodes[node].isElsewhere
      let folders = nodes.map(\.isElsewhere)
      settleNames { folders[$0.folder] == isElsewhere }
    case .onlyWhatWasSynced: if nodes[node].isFolder { settleNames { $0.concerns(node) } }
    }
  }

  /// Only the library's store is synced like this, and it is not on the other disk.
  private mutating func syncAll() {
    for node in nodes.indices where !nodes[node].isElsewhere { settleBytes(of: node) }
    let folders = nodes.map(\.isElsewhere)
    settleNames { !folders[$0.folder] }
  }

  private mutating func settleBytes(of node: Int) {
    for (change, isLost) in nodes[node].pending where !isLost { Self.apply(change, to: &nodes[node].durable) }
    nodes[node].pending = []
  }

  private mutating func settleNames(where isSettled: (Naming) -> Bool) {
    for naming in pendingNames where isSettled(naming) { Self.apply(naming, to: &durableNames) }
    pendingNames.removeAll(where: isSettled)
  }

  private static func apply(_ naming: Naming, to names: inout [Place: Int]) {
    switch naming {
    case .add(let place, let node): names[place] = node
    case .remove(let place): names[place] = nil
    case .move(let old, let new, let node):
      if names[old] == node { names[old] = nil }
      names[new] = node
    }
  }

  private static func apply(_ change: Change, to bytes: inout Data) {
    switch change {
    case .write(let offset, let piece):
      if bytes.count < offset + piece.count { bytes.append(Data(count: offset + piece.count - bytes.count)) }
      bytes.replaceSubrange(offset..<(offset + piece.count), with: piece)
    case .size(let size):
      if size < bytes.count {
        bytes.removeLast(bytes.count - size)
      } else {
        bytes.append(Data(count: size - bytes.count))
      }
    }
  }

  // MARK: Paths

  private func components(_ path: String) -> [String]? {
    guard path == root || path.hasPrefix(root + "/") else { return nil }
    return path.dropFirst(root.count).split(separator: "/").filter { $0 != "." }.map(String.init)
  }

  private func node(at path: String) -> Int? {
    guard let components = components(path) else { return nil }
    var node = 0
    for name in components {
      guard let next = names[Place(folder: node, name: name)] else { return nil }
      node = next
    }
    return node
  }

  private func place(of path: String) -> Place? {
    guard let components = components(path), let name = components.last else { return nil }
    let parent = ([root] + components.dropLast()).joined(separator: "/")
    return node(at: parent).map { Place(folder: $0, name: name) }
  }

  // MARK: The power loss

  /// Writes what survives into the root, which must be empty.
  func leave(_ fate: Fate, _ generator: inout some RandomNumberGenerator) throws {
    var names = durableNames
    for naming in survivingNames(fate, &generator) { Self.apply(naming, to: &names) }
    try write(folder: 0, to: root, names, fate, &generator)
  }

  private func survivingNames(_ fate: Fate, _ generator: inout some RandomNumberGenerator) -> [Naming] {
    switch (fate, rule) {
    case (.allLost, _): []
    case (.allKept, _): pendingNames
    case (_, .journal):
      [false, true].flatMap { isElsewhere in
        let names = pendingNames.filter { nodes[$0.folder].isElsewhere == isElsewhere }
        return names.prefix(Int.random(in: 0...names.count, using: &generator))
      }
    case (_, .onlyWhatWasSynced): pendingNames.filter { _ in Bool.random(using: &generator) }
    }
  }

  private func write(
    folder: Int, to path: String, _ names: [Place: Int], _ fate: Fate,
    _ generator: inout some RandomNumberGenerator
  ) throws {
    let here = names.filter { $0.key.folder == folder }.sorted { $0.key.name < $1.key.name }
    for (place, node) in here {
      let target = path + "/" + place.name
      if nodes[node].isFolder {
        try FileManager.default.createDirectory(
          atPath: target, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try write(folder: node, to: target, names, fate, &generator)
      } else {
        let isShared = place.name.hasSuffix("-shm")
        let bytes = isShared ? Self.noise(&generator) : surviving(nodes[node], fate, &generator)
        try bytes.write(to: URL(fileURLWithPath: target))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: target)
      }
    }
  }

  private func surviving(_ node: Node, _ fate: Fate, _ generator: inout some RandomNumberGenerator) -> Data {
    var bytes = node.durable
    for (change, isLost) in node.pending where fate != .allLost {
      if isLost, fate != .allKept { continue }
      if fate == .someLost, Bool.random(using: &generator) { continue }
      guard fate == .sectorsLost, case .write(let offset, let piece) = change else {
        Self.apply(change, to: &bytes)
        continue
      }
      for (at, sector) in Self.sectors(offset, piece) where Bool.random(using: &generator) {
        Self.apply(.write(at, sector), to: &bytes)
      }
    }
    return bytes
  }

  /// Splits bytes at the boundaries of the disk's sectors.
  private static func sectors(_ offset: Int, _ bytes: Data) -> [(Int, Data)] {
    var found: [(Int, Data)] = []
    var at = offset
    while at < offset + bytes.count {
      let end = min((at / 512 + 1) * 512, offset + bytes.count)
      found.append((at, bytes[(bytes.startIndex + at - offset)..<(bytes.startIndex + end - offset)]))
      at = end
    }
    return found
  }

  private static func noise(_ generator: inout some RandomNumberGenerator) -> Data {
    let pattern = (0..<256).map { _ in UInt8.random(in: 0...255, using: &generator) }
    return Data((0..<128).flatMap { _ in pattern })
  }
}
