import Foundation

/// A disk, or two, that a `DiskRecord` is played to, and what may be on it when the power goes.
///
/// Two rules of what a sync makes durable are modelled:
///
/// - `.onlyWhatWasSynced`, what POSIX promises and no more. Bytes and length of a file are durable once that file was
///   synced; a name (made, moved, removed) once its folder was. Everything else is there or not, each change by
///   itself and in any order, bytes by sectors of 512.
/// - `.journal`, as ext4 (`data=ordered`) and XFS do it. Names reach the disk in the order in which they were changed,
///   and any sync that ends takes all changes of names before it along. Bytes are as above.
///
/// In both a move is one step, a sector is written whole or not at all, and what a sync that failed was to write may
/// be lost for good, whatever later ones say (Linux marks such pages clean). Shared memory (`-shm`) is never synced:
/// anything may stand in it.
struct ImaginedDisk {
  enum Rule: CaseIterable {
    case onlyWhatWasSynced, journal
  }

  /// What becomes of what was not synced.
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
    /// Not synced yet; `isLost` when a sync of it failed.
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

    /// The folder of the name; of a move, which never leaves its disk, that of the old one.
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
  private let rule: Rule
  private let otherDisk: String?
  private var nodes: [Node] = [Node(isFolder: true, isElsewhere: false)]
  private var names: [Place: Int] = [:]
  private var durableNames: [Place: Int] = [:]
  private var pendingNames: [Naming] = []
  private var descriptors: [Int: Int] = [:]
  /// What was told on standard output.
  private(set) var told = Data()

  /// - Parameters:
  ///   - root: an existing folder, in which everything happens.
  ///   - otherDisk: a folder in it where the other disk is mounted, which has names and syncs of its own.
  ///   - held: what is durable at the beginning: files by their paths in the root, nil for a folder.
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

  // MARK: While there is power

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

  /// Only the library's store is synced so, which is not on the other disk.
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

  // MARK: Places

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

  // MARK: The power goes

  /// Writes what is left into the root, which holds nothing of it.
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

  /// Cut where the disk's sectors begin.
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
