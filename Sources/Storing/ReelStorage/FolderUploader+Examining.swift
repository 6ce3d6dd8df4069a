import Glibc
import ReelCore

extension FolderUploader: StoreExamination {
  /// Returns the names in the folder. Needs no ``prepare()``, and creates nothing.
  public func names() async throws(UploadError) -> [String] {
    try await listing("list the folder") { root, _ throws(SystemError) in
      try FolderListing.names(in: root).filter { $0 != StorePreparation.hiddenFolder }
    }
  }

  /// Returns the files of dead uploaders in those folders for temporary files that exist: the one that was named, and
  /// the hidden one.
  public func leftovers() async throws(UploadError) -> [String] {
    try await listing("list the temporary files") { _, sweeps throws(SystemError) in
      var found: [String] = []
      for sweep in sweeps { found += try sweep.dead().map { sweep.folder + "/" + $0 } }
      return found
    }
  }

  /// Removes the files of dead uploaders, as ``prepare()`` does, but creates nothing.
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
        // Without the folder itself, nothing can be said about its contents.
        _ = try StoreFolder.open(root)
        let folders = preparation.temporaryPaths.filter { (try? StoreFolder.open($0)) != nil }
        return try body(root, folders.map(preparation.sweep))
      }
    }
  }
}

/// The names of the files that an uploader writes until they are complete, and how to tell which of them are a dead
/// uploader's.
///
/// `upload-OWNER.owner` is a lock that lives as long as its uploader; `upload-OWNER.N.part` is its nth temporary file.
/// Files with other names are not Reel's, and are left alone.
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

  /// The owner to which `name` belongs, or nil if the name is not one of Reel's.
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

/// Removes the temporary files of dead uploaders.
struct LeftoverSweep {
  /// The folder for temporary files.
  let folder: String
  /// How long the files of an uploader under another kernel are kept after it last renewed its lock; nil if there can
  /// be no such uploader.
  var foreignLease: Duration?

  /// Returns the owners that are alive, or whose state can't be determined.
  /// - Throws: if the folder can't be listed. A file that can't be judged or removed stays.
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

  /// Returns the names of the files that ``run()`` would remove.
  func dead() throws(SystemError) -> [String] {
    try FolderListing.names(in: folder).filter { name in
      guard let owner = TemporaryName.owner(of: name) else { return false }
      return isDead(owner)
    }.sorted()
  }

  private func isDead(_ owner: String) -> Bool {
    (try? OwnerLock.isAlive(directory: folder, name: owner, foreignLease: foreignLease)) == false
  }

  /// Returns the owners that have files here, each with its temporary files.
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
