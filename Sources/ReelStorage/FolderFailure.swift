import Glibc
import ReelCore

/// Turns what the system says about a folder store into what an uploader says.
struct FolderFailure {
  /// The store's path, for the sentence.
  let store: String

  /// A failure of the store as a whole, or of any new object in it.
  ///
  /// - Parameter task: what could not be done, such as "create a file".
  func callAsFunction(_ error: SystemError, _ task: String) -> UploadError {
    let code = Self.code(of: error.code)
    return UploadError(
      code, "could not \(task) in the store \(store) (\(error.reason)): \(advice(code, error.code))")
  }

  /// A failure with one object that is there: no permission is about that object, not about the store.
  func object(_ key: ObjectKey, _ error: SystemError, _ task: String) -> UploadError {
    guard error.code == EACCES || error.code == EPERM else { return self(error, "\(task) \(key)") }
    return UploadError(
      .denied, "may not \(task) \(key) in the store \(store) (\(error.reason)): check its owner and its mode")
  }

  /// The store's path leads elsewhere than when it was opened.
  var moved: UploadError {
    UploadError(
      .storeUnusable,
      "the folder of the store \(store) was moved, removed or replaced during the run: put it back, then run the same "
        + "command again")
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

  private func advice(_ code: UploadError.Code, _ number: Int32) -> String {
    switch code {
    case .storeUnusable where number == EROFS:
      "it is on a file system that is mounted read-only; mount it writable, or name another destination"
    case .storeFull: "free some space there, then run the same command again"
    case .tooLarge: "the file is larger than that file system, or a limit of this process (ulimit -f), allows"
    case .alreadyExists: "something is there under that name already"
    case .storeUnusable: "check that the folder is there, mounted and writable for this user"
    case .unavailable: "close other programs, raise the limit (ulimit -n), or use fewer --jobs"
    case .interrupted: "look at the system's log for errors of that disk"
    default: "check the folder and its file system"
    }
  }
}
