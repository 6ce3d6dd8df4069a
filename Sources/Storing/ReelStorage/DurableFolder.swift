import Glibc
import ReelCore
import Synchronization

/// A folder whose names are made durable: what was renamed into it before a call of ``sync()`` survives a power loss
/// once that call has returned.
///
/// One fsync serves all callers whose rename came before it began, so ten thousand small files that are stored at the
/// same time do not cost ten thousand of them.
actor DurableFolder {
  private typealias Pass = Task<Result<Void, SystemError>, Never>

  private let descriptor: Descriptor
  private let queue = BlockingQueue(label: "reel.folder-sync", width: 1)
  private let flush: @Sendable (Descriptor) throws(SystemError) -> Void
  /// The newest pass, running or finished.
  private var newest: Pass?
  /// The pass that has not begun yet, if any. It serves everyone who calls ``sync()`` until it begins.
  private var upcoming: Pass?
  /// How often ``sync()`` has been called.
  private(set) var asked = 0

  /// - Parameter flush: makes the names in the folder of that descriptor durable; a test's counts the calls.
  init(
    _ descriptor: Descriptor,
    flush: @escaping @Sendable (Descriptor) throws(SystemError) -> Void = { folder throws(SystemError) in
      try folder.syncFolder()
    }
  ) {
    self.descriptor = descriptor
    self.flush = flush
  }

  /// Returns when a flush that began after this call has ended.
  /// - Throws: that flush's error. It is not retried: after a failure the kernel may have dropped the pages that it
  ///   could not write, and the next fsync would report success.
  func sync() async throws(SystemError) {
    asked += 1
    try await (upcoming ?? appendPass()).value.get()
  }

  private func appendPass() -> Pass {
    let before = newest
    let pass = Pass {
      _ = await before?.value
      upcoming = nil
      return await flushed()
    }
    newest = pass
    upcoming = pass
    return pass
  }

  private func flushed() async -> Result<Void, SystemError> {
    await queue.run { [descriptor, flush] () throws(Never) in
      Result { () throws(SystemError) in try flush(descriptor) }
    }
  }
}

/// The permissions of what a folder store creates: mode bits as in chmod(1), regardless of the umask.
public struct FolderModes: Hashable, Sendable {
  /// The mode of files, such as 0600.
  public let file: UInt32
  /// The mode of folders, such as 0700.
  public let folder: UInt32

  /// Drops bits beyond 0777. The owner can always read and write (and enter folders).
  public init(file: UInt32, folder: UInt32) {
    self.file = file & 0o777 | 0o600
    self.folder = folder & 0o777 | 0o700
  }

  /// Files with mode `file`, and folders that everyone who may read the files can enter: 0644 gives 0755.
  public init(file: UInt32) {
    self.init(file: file, folder: file | (file & 0o444) >> 2)
  }

  /// Parses the mode of files as octal digits, as chmod(1) does, such as `640`. Returns nil if they are no mode, or one
  /// that does not let the owner read and write.
  package init?(octal text: String) {
    guard let mode = UInt32(text, radix: 8), mode <= 0o777, mode & 0o600 == 0o600 else { return nil }
    self.init(file: mode)
  }

  /// For this user alone: 0600 and 0700.
  public static let `private` = FolderModes(file: 0o600, folder: 0o700)
}

/// Turns a system error in a folder store into an uploader's error.
struct FolderFailure {
  /// The store's path, for messages.
  let store: String

  /// A failure of the store as a whole, or of any new object in it.
  ///
  /// - Parameter task: what could not be done, such as "create a file".
  func callAsFunction(_ error: SystemError, _ task: String) -> UploadError {
    let code = Self.code(of: error.code)
    return UploadError(
      code, "could not \(task) in the store \(store) (\(error.reason)): " + advice(code, error))
  }

  /// Runs `body`, and reports its failure as that of `task`, as ``callAsFunction(_:_:)`` does.
  func doing<Value>(
    _ task: String, _ body: () throws(SystemError) -> Value
  ) throws(UploadError) -> Value {
    try rethrowing(as: { self($0, task) }, body)
  }

  /// A failure with one object that exists: a missing permission concerns that object, not the store.
  func object(_ key: ObjectKey, _ error: SystemError, _ task: String) -> UploadError {
    guard error.code == EACCES || error.code == EPERM else { return self(error, "\(task) \(key)") }
    return UploadError(
      .denied, "may not \(task) \(key) in the store \(store) (\(error.reason)): check its owner and its mode")
  }

  /// The store's path no longer leads to the folder that was opened.
  var moved: UploadError {
    UploadError(
      .storeUnusable,
      "the folder of the store \(store) was moved, removed or replaced during the run: put it back, then try again"
    )
  }

  private static func code(of number: Int32) -> UploadError.Code {
    switch number {
    case ENOSPC, EDQUOT: .storeFull
    case EFBIG: .tooLarge
    case EEXIST: .alreadyExists
    case EROFS, EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, ENODEV, ENXIO, ENOTCONN, ESHUTDOWN, EXDEV, EOPNOTSUPP,
      ENAMETOOLONG:
      .storeUnusable
    case EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, EBUSY, ENOLCK, EHOSTDOWN: .unavailable
    case EIO, ESTALE, ETIMEDOUT: .interrupted
    default: .rejected
    }
  }

  private func advice(_ code: UploadError.Code, _ error: SystemError) -> ErrorMessage {
    switch code {
    case .storeUnusable where error.code == EROFS:
      "it is on a file system that is mounted read-only; mount it writable, or name another destination"
    case .storeUnusable where error.call == "chmod":
      "its file system does not let permissions be changed; mount it with other options, or name another destination"
    case .unavailable where error.code == ENOLCK:
      "its file system does not support file locks; mount it with locking enabled, or name another destination"
    case .storeFull: "free some space there, then try again"
    case .tooLarge: "the file is larger than that file system, or a limit of this process (ulimit -f), allows"
    case .alreadyExists: "something is there under that name already"
    case .storeUnusable: "check that the folder is there, mounted and writable for this user"
    case .unavailable: "close other programs, raise the limit (ulimit -n), or use fewer \(setting: .jobs)"
    case .interrupted: "check the system log for errors of that disk"
    default: "check the folder and its file system"
    }
  }
}

/// Reports what a folder store's file system can't promise, each shortcoming once.
final class FolderNotices: Sendable {
  enum Notice {
    case keepsNoPermissions, showsFiles, namesByReplacing
  }

  private let store: String
  private let write: @Sendable (String) -> Void
  private let told = Mutex<Set<Notice>>([])

  init(store: String, tell: @escaping @Sendable (String) -> Void) {
    (self.store, write) = (store, tell)
  }

  func tell(_ notice: Notice) {
    guard told.withLock({ $0.insert(notice).inserted }) else { return }
    write(sentence(notice))
  }

  func hasTold(_ notice: Notice) -> Bool { told.withLock { $0.contains(notice) } }

  private func sentence(_ notice: Notice) -> String {
    switch notice {
    case .keepsNoPermissions:
      "the file system of the store \(store) does not keep owners and permissions: others who may write there can "
        + "change what is stored; to keep them out, mount it for this user alone (uid= and umask=077; SMB: "
        + "file_mode=0600,dir_mode=0700; WSL: metadata)"
    case .showsFiles:
      "the file system of the store \(store) does not keep permissions: others on this machine may read what is stored; "
        + "to keep them out, mount it for this user alone (uid= and umask=077)"
    case .namesByReplacing:
      "the file system of the store \(store) can't name a file without replacing one that gets the same name at the same "
        + "moment (no links, no RENAME_NOREPLACE): Reel checks first, and the names are random"
    }
  }
}
