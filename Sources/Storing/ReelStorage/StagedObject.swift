import CReel
import Glibc
import ReelCore
import ReelCrypto
import Synchronization

/// A private copy in a folder store's folder for temporary files, which becomes an object by being renamed.
final class StagedObject: StagedFile {
  private let file: Mutex<TemporaryFile>
  /// Keeps the folder for temporary files and its lock as long as the file may have to be deleted. Declared after the
  /// file, and therefore released after it.
  let store: OpenStore
  private let isTaken = Atomic<Bool>(false)
  private let failure: FolderFailure

  init(_ file: consuming TemporaryFile, of store: OpenStore, _ failure: FolderFailure) {
    self.file = Mutex(file)
    self.store = store
    self.failure = failure
  }

  var descriptor: Int32 { file.withLock { $0.descriptor.rawValue } }
  var mayBecomeObject: Bool { true }

  func seal() throws(UploadError) {
    try failure.doing("open a private copy") { () throws(SystemError) in
      try Failpoint.bytesCopied.reach()
      try file.withLock { file throws(SystemError) in try file.seal() }
    }
  }

  func failure(_ code: Int32, _ task: String) -> UploadError {
    failure(SystemError(code: code, call: ""), task)
  }

  /// Whether the caller may make it an object: true only once, as a file whose sync failed must not be synced again.
  func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

  /// Gives access to the file, for the calls that make it an object.
  func withFile<Value>(
    _ body: (borrowing TemporaryFile) throws(SystemError) -> Value
  ) throws(SystemError) -> Value {
    try file.withLock { file throws(SystemError) in try body(file) }
  }
}

/// A folder store's folder for temporary files, as the place for private copies.
struct FolderStaging: StagingArea {
  let store: OpenStore
  let failure: FolderFailure

  func makeFile() throws(UploadError) -> any StagedFile { try makeObject() }

  func makeObject() throws(UploadError) -> StagedObject {
    try failure.doing("create a file") { () throws(SystemError) in
      let file = try TemporaryFile.create(store.nextTemporaryName(), in: store.temporaries.rawValue)
      return StagedObject(file, of: store, failure)
    }
  }
}

extension FolderStaging {
  /// Gives the open file a hard link here. Returns nil if it can't have one: it is on another file system or mount, has
  /// no name at all, or its file system has no hard links.
  func linkObject(to file: Descriptor) throws(UploadError) -> StagedObject? {
    do throws(SystemError) {
      let linked = try TemporaryFile.linking(
        file, as: store.nextTemporaryName(), in: store.temporaries.rawValue)
      return StagedObject(linked, of: store, failure)
    } catch  where [EXDEV, ENOENT, EPERM, EACCES, EMLINK, EOPNOTSUPP].contains(error.code) {
      return nil
    } catch {
      throw failure(error, "link a file")
    }
  }
}

/// A file of a folder store, open for reading.
struct StoredFile: Sendable {
  let key: ObjectKey
  /// Its size in bytes.
  let size: Int64
  private let descriptor: Descriptor

  /// Opens an object; returns nil if there is none. It follows no link, and waits for nothing that could hang.
  /// - Throws: `conflict` if something other than a file has that name; `denied` if it can't be read.
  static func open(
    _ key: ObjectKey, in root: Descriptor, _ failure: FolderFailure
  ) throws(UploadError) -> StoredFile? {
    do throws(SystemError) {
      let descriptor = try Descriptor(
        opening: key.rawValue, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, in: root.rawValue)
      let status = try descriptor.status()
      if status.st_mode & S_IFMT == S_IFREG {
        return StoredFile(key: key, size: Int64(status.st_size), descriptor: descriptor)
      }
    } catch  where error.code == ENOENT {
      return nil
    } catch  where error.code != ELOOP && error.code != ENXIO {
      throw failure.object(key, error, "open")
    } catch {
    }
    throw notAFile(key, failure)
  }

  /// Removes the file of that name; does nothing if there is none.
  static func remove(
    _ key: ObjectKey, from root: Descriptor, _ failure: FolderFailure
  ) throws(UploadError) {
    do throws(SystemError) {
      _ = try retryingInterrupts("unlinkat") { unlinkat(root.rawValue, key.rawValue, 0) }
      try Failpoint.objectRemoved.reach()
    } catch  where error.code == ENOENT {
    } catch  where error.code == EISDIR {
      throw notAFile(key, failure)
    } catch {
      throw failure.object(key, error, "remove")
    }
  }

  /// Reads the file, and returns the digest of its bytes. Blocks.
  func digest(
    _ failure: FolderFailure, _ cancellation: CancellationFlag
  ) throws(UploadError) -> ContentDigest? {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var hash = SHA256()
    var offset: off_t = 0
    while true {
      try cancellation.check()
      let count = try rethrowing(as: { failure.object(key, $0, "read") }) { () throws(SystemError) in
        try retryingInterrupts("pread") {
          pread(descriptor.rawValue, buffer.baseAddress, buffer.count, offset)
        }
      }
      if count == 0 { return ContentDigest(sha256: hash.finalize()) }
      hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += off_t(count)
    }
  }

  private static func notAFile(_ key: ObjectKey, _ failure: FolderFailure) -> UploadError {
    UploadError(
      .conflict,
      "\(key) in the store \(failure.store) is not a file of Reel's: see what it is, and move it away")
  }
}

/// A file that is being written under a temporary name. It is deleted with this value unless it has been renamed.
struct TemporaryFile: ~Copyable {
  private(set) var descriptor: Descriptor
  private let folder: Int32
  private let name: String
  /// Whether it has another name, which belongs to the program that made it.
  private let isLinked: Bool

  private init(adopting descriptor: Descriptor, folder: Int32, name: String, isLinked: Bool = false) {
    self.descriptor = descriptor
    self.folder = folder
    self.name = name
    self.isLinked = isLinked
  }

  deinit {
    if unlinkat(folder, name, 0) == 0 { Failpoint.temporaryRemoved.pass() }
  }

  /// Creates `name`, which must not exist, in the open folder `folder`, with mode 0600.
  static func create(_ name: String, in folder: Int32) throws(SystemError) -> TemporaryFile {
    let made = try Descriptor(
      opening: name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, in: folder)
    let file = TemporaryFile(adopting: made, folder: folder, name: name)
    try Failpoint.temporaryCreated.reach()
    // The umask may have removed some of these bits.
    try settleMode(0o600, of: made)
    return file
  }

  /// Also gives `file`, which is open for reading, the name `name` in the open folder `folder`, by a hard link.
  /// - Throws: `EXDEV`, `EPERM` and the like if it can't have one there.
  static func linking(
    _ file: Descriptor, as name: String, in folder: Int32
  ) throws(SystemError) -> TemporaryFile {
    // Link the descriptor: another file may have its name by now.
    let path = "/proc/self/fd/\(file.rawValue)"
    _ = try retryingInterrupts("linkat") { linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW) }
    let linked = TemporaryFile(adopting: file, folder: folder, name: name, isLinked: true)
    try Failpoint.temporaryCreated.reach()
    return linked
  }

  /// Opens the file for reading only, in place of the descriptor for writing.
  mutating func seal() throws(SystemError) {
    descriptor = try Descriptor(opening: name, O_RDONLY | O_NOFOLLOW, in: folder)
  }

  /// Sets exactly `mode`, regardless of the umask.
  func allow(_ mode: mode_t) throws(SystemError) {
    // The program that made it may have allowed more.
    if isLinked { return _ = try retryingInterrupts("chmod") { fchmod(descriptor.rawValue, mode) } }
    if mode != 0o600 { try settleMode(mode, of: descriptor) }
  }

  /// Makes the bytes durable. Call it once only for each file: an fsync that failed must not be repeated. On return the
  /// file is no longer open for writing.
  /// - Parameter flush: makes the bytes of the open file durable; a test's inspects it.
  func sync(
    _ flush: (Descriptor) throws(SystemError) -> Void = { file throws(SystemError) in try file.sync() }
  ) throws(SystemError) {
    // Only the program that made it can write to it, and its file system is this machine's own.
    if isLinked { return try flush(descriptor) }
    // On SMB, Linux syncs nothing for a file that is open only for reading, and reports success or a lack of
    // permission.
    try flush(Descriptor(opening: name, O_WRONLY | O_NOFOLLOW, in: folder))
  }

  /// Drops the file's durable bytes from the page cache. Otherwise a large run would evict what other programs keep
  /// there, and each next copy would need memory that the machine has never touched. A linked file is left alone: if it
  /// is large, this takes longer than everything else that is done with it, and its sender may be waiting.
  func dropCache() {
    guard !isLinked else { return }
    _ = posix_fadvise(descriptor.rawValue, 0, 0, POSIX_FADV_DONTNEED)
  }

  /// Returns the length in bytes that the file system reports.
  func length() throws(SystemError) -> Int64 {
    Int64(try descriptor.status().st_size)
  }

  /// Gives the file its name in `target`, atomically and without replacing another.
  /// - Returns: as ``renameWithoutReplacing(_:in:to:in:)``.
  /// - Throws: `EEXIST` when the name is taken.
  func rename(to newName: String, in target: Int32) throws(SystemError) -> Bool {
    try renameWithoutReplacing(name, in: folder, to: newName, in: target)
  }

  /// Gives the file the name of another one in `target`, which is atomically replaced.
  func replace(_ other: String, in target: Int32) throws(SystemError) {
    _ = try retryingInterrupts("renameat") { renameat(folder, name, target, other) }
  }
}
