import Glibc
import ReelCore

extension FolderUploader: StoreExamination {
  /// Needs no ``prepare()``, and makes nothing.
  public func names() async throws(UploadError) -> [String] {
    try await listing("list the folder") { root, _ throws(SystemError) in
      try FolderListing.names(in: root).filter { $0 != StorePreparation.hiddenFolder }
    }
  }

  /// In the folders of temporaries that are there: the one that was named, and the hidden one.
  public func leftovers() async throws(UploadError) -> [String] {
    try await listing("list the temporary files") { _, sweeps throws(SystemError) in
      var found: [String] = []
      for sweep in sweeps { found += try sweep.dead().map { sweep.folder + "/" + $0 } }
      return found
    }
  }

  /// As ``prepare()`` does, but makes nothing.
  public func removeLeftovers() async throws(UploadError) {
    try await listing("remove temporary files") { _, sweeps throws(SystemError) in
      for sweep in sweeps { try sweep.run() }
    }
  }

  private func listing<Value: Sendable>(
    _ task: String,
    _ body: @escaping @Sendable (_ root: String, _ temporaries: [LeftoverSweep]) throws(SystemError) -> Value
  ) async throws(UploadError) -> Value {
    try checkPaths()
    let (root, preparation) = (rootPath, preparation)
    return try await BlockingQueue(label: "reel.folder-listing", width: 1).run { () throws(UploadError) in
      try FolderFailure(store: root).doing(task) { () throws(SystemError) in
        // Without the folder itself nothing that is in it can be judged.
        _ = try StoreFolder.open(root)
        let folders = preparation.temporaryPaths.filter { (try? StoreFolder.open($0)) != nil }
        return try body(root, folders.map(preparation.sweep))
      }
    }
  }
}

/// The names of what an uploader writes before it is whole, and the way to tell whose is dead.
///
/// `upload-OWNER.owner` is a lock that lives as long as its uploader; `upload-OWNER.N.part` is its nth
/// temporary file. Nothing else is ours, and nothing else is touched.
enum TemporaryName {
  static let partSuffix = ".part"
  private static let prefix = "upload-"
  private static let ownerLength = 22

  static func newOwner(_ randomness: some Randomness = SystemRandomness()) -> String {
    prefix + randomness.name(length: ownerLength)
  }

  static func part(owner: String, attempt: Int) -> String {
    "\(owner).\(attempt)\(partSuffix)"
  }

  /// The owner that `name` belongs to, or nil when the name is not ours.
  static func owner(of name: String) -> String? {
    guard let dot = name.firstIndex(of: ".") else { return nil }
    let owner = String(name[..<dot])
    guard owner.hasPrefix(prefix), isRandom(owner.dropFirst(prefix.count)) else { return nil }
    let rest = name[dot...]
    if rest == OwnerLock.suffix || rest == OwnerLock.suffix + OwnerLock.unfinishedSuffix { return owner }
    guard rest.hasSuffix(partSuffix) else { return nil }
    let attempt = rest.dropFirst().dropLast(partSuffix.count)
    return !attempt.isEmpty && attempt.utf8.allSatisfy(\.isASCIIDigit) ? owner : nil
  }

  private static func isRandom(_ text: Substring) -> Bool {
    text.utf8.count == ownerLength && text.utf8.allSatisfy(\.isASCIIAlphanumeric)
  }
}

/// Removes the temporaries of dead uploaders.
struct LeftoverSweep {
  /// The folder of temporaries.
  let folder: String
  /// How long the temporaries of an uploader under another kernel stay after it has renewed its file; nil where there
  /// is no such uploader.
  var foreignLease: Duration?

  /// Gives the owners that live, or whose state can't be found out.
  /// - Throws: when the folder can't be listed. A file that can't be judged or removed stays.
  @discardableResult
  func run() throws(SystemError) -> Set<String> {
    var living: Set<String> = []
    for (owner, parts) in try leftovers() {
      guard isDead(owner) else {
        living.insert(owner)
        continue
      }
      for part in parts { unlink(folder + "/" + part) }
      Failpoint.leftoverRemoved.pass()
      _ = try? OwnerLock.removeIfDead(directory: folder, name: owner, foreignLease: foreignLease)
    }
    return living
  }

  /// The names of what ``run()`` would remove.
  func dead() throws(SystemError) -> [String] {
    try FolderListing.names(in: folder).filter { name in
      guard let owner = TemporaryName.owner(of: name) else { return false }
      return isDead(owner)
    }.sorted()
  }

  private func isDead(_ owner: String) -> Bool {
    (try? OwnerLock.isAlive(directory: folder, name: owner, foreignLease: foreignLease)) == false
  }

  /// The owners with files here, and their temporary files.
  private func leftovers() throws(SystemError) -> [String: [String]] {
    var found: [String: [String]] = [:]
    for name in try FolderListing.names(in: folder) {
      guard let owner = TemporaryName.owner(of: name) else { continue }
      found[owner, default: []] += name.hasSuffix(TemporaryName.partSuffix) ? [name] : []
    }
    return found
  }
}

/// The names in a folder, without `.` and `..`.
enum FolderListing {
  static func names(in folder: String) throws(SystemError) -> [String] {
    guard let stream = opendir(folder) else { throw SystemError.last("opendir") }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw SystemError.last("readdir") }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
  }
}
