import CReel
import Glibc
import ReelCore

extension CatalogError {
  /// Translates `error`, thrown while working on the database at `path`, into one that people understand.
  /// - Parameter noun: what that database is called in the message.
  static func from(_ error: any Error, at path: String, noun: String = "catalog") -> CatalogError {
    switch error {
    case let known as CatalogError: known
    case let failure as SQLiteError: from(failure, at: path, noun)
    default:
      CatalogError(
        .unusable, "the \(noun) \(path) failed with an error that Reel does not recognize: \(error)")
    }
  }

  /// Runs `body`, and rethrows its errors as ``from(_:at:noun:)`` translates them.
  static func mapping<Value>(at path: String, _ body: () throws -> Value) throws(CatalogError) -> Value {
    try rethrowing(as: { from($0, at: path) }, body)
  }

  private static func from(_ error: SQLiteError, at path: String, _ noun: String) -> CatalogError {
    switch code(of: error, at: path) {
    case .cancelled: return cancelled(at: path)
    case .locked:
      return CatalogError(
        .locked,
        "another process keeps the \(noun) \(path) locked: wait until it is done, or end it, and try again")
    case .corrupt:
      return CatalogError(
        .corrupt,
        "the \(noun) \(path) is damaged or is not a catalog (\(error.message)): restore a backup, or "
          + "move it away and rebuild it from the stored objects (\(command: "doctor --rebuild"))")
    case .diskFull:
      return CatalogError(
        .diskFull, "no space left on the disk of the \(noun) \(path): free some, and try again")
    default:
      return CatalogError(
        .unusable,
        "the \(noun) \(path) "
          + (obstacle(to: error, at: path)
            ?? "cannot be used (\(error.message)): check its disk, its owner and its permissions"))
    }
  }

  private static func code(of error: SQLiteError, at path: String) -> Code {
    switch error.code {
    case .busy, .locked: .locked
    // A mismatch is a value of a type that its column can't have.
    case .corrupt, .notADatabase, .mismatch: .corrupt
    case .full: .diskFull
    // SQLite reports a full disk with these codes when it creates or grows a file beside the database.
    case .inputOutput, .cannotOpen:
      [ENOSPC, EDQUOT].contains(error.systemCode) || diskIsFull(at: path) || hasNoRoomForAFile(beside: path)
        ? .diskFull : .unusable
    case .interrupted: .cancelled
    default: .unusable
    }
  }

  /// The cause of an error that SQLite gives the same code as a broken disk, as the end
  /// of a sentence; nil if none is found.
  private static func obstacle(to error: SQLiteError, at path: String) -> String? {
    guard [.inputOutput, .cannotOpen, .readOnly].contains(error.code) else { return nil }
    if isMountedReadOnly(path) {
      return "is on a file system that is mounted read-only: mount it writable, or name another place"
    }
    guard let limit = fileSizeLimit(at: path) else { return nil }
    return "would exceed this process's file size limit (\(limit) bytes, `ulimit -f`): raise that limit"
  }

  private static func diskIsFull(at path: String) -> Bool {
    var facts = statvfs()
    return statvfs(path, &facts) == 0 && facts.f_bavail == 0 && facts.f_flag & readOnly == 0
  }

  /// Whether no file can be created beside the database. Btrfs may have room to extend a file, and none for another
  /// one, such as the log. SQLite then tries once more to open that file, and reports that it does not exist.
  private static func hasNoRoomForAFile(beside path: String) -> Bool {
    let folder = path.split(separator: "/").dropLast().joined(separator: "/")
    let file = open((path.hasPrefix("/") ? "/" : "./") + folder, reel_o_tmpfile | O_WRONLY | O_CLOEXEC, 0o600)
    guard file < 0 else {
      close(file)
      return false
    }
    return errno == ENOSPC || errno == EDQUOT
  }

  private static func isMountedReadOnly(_ path: String) -> Bool {
    var facts = statvfs()
    return statvfs(path, &facts) == 0 && facts.f_flag & readOnly != 0
  }

  private static let readOnly = UInt(ST_RDONLY)

  /// The limit on the size of this process's files, if the next write to the
  /// database's files could exceed it; else nil.
  private static func fileSizeLimit(at path: String) -> UInt64? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max
    else { return nil }
    let sizes = ["", "-wal", "-shm", "-journal"].map { ending in
      var facts = stat()
      return stat(path + ending, &facts) == 0 ? UInt64(facts.st_size) : 0
    }
    // The file that was being written may be gone by now, so allow for it: a log of a few megabytes at most.
    return (sizes.max() ?? 0) + (16 << 20) > limit.rlim_cur ? UInt64(limit.rlim_cur) : nil
  }
}

extension CatalogError {
  static func newerSchema(_ found: Int, known: Int, at path: String) -> CatalogError {
    CatalogError(
      .newerSchema,
      "the catalog \(path) was made by a newer Reel (schema \(found), this one knows schema \(known)): "
        + "update Reel, or name another library with \(setting: .library)")
  }

  /// The catalog has to be brought up to date, but `processes`, perhaps an older Reel among them, have it open.
  static func olderReel(at path: String, _ processes: [Int32]) -> CatalogError {
    let who = processes.isEmpty ? "another process has" : "others have"
    let named = processes.isEmpty ? "" : " (\(processes.map { "process \($0)" }.joined(separator: ", ")))"
    return CatalogError(
      .locked,
      "the catalog \(path) was made by an older Reel and has to be brought up to date, and \(who) it open\(named): end "
        + "every older reel that works on this library, such as a watch, and try again")
  }

  /// The catalog has to be brought up to date, and this process may not write to it.
  static func needsWriter(at path: String, library: String) -> CatalogError {
    CatalogError(
      .unusable,
      "the catalog \(path) was made by an older Reel, or where the library was before, and can't be brought up to date "
        + "here, where it can't be written: open it once where it can be, as its owner (`reel status --library "
        + "\(ShellWord.quoted(Array(library.utf8)))`)")
  }

  static func lost(at path: String) -> CatalogError {
    CatalogError(
      .lost,
      "the catalog \(path) is missing or empty, although this library had one: restore a backup (docs/backup.md), or "
        + "rebuild it from the objects in its folders (\(command: "doctor --rebuild")); without one, everything would be "
        + "published again"
    )
  }

  static func moved(from path: String) -> CatalogError {
    CatalogError(
      .unusable,
      "the catalog \(path) was moved, removed or replaced while it was in use, so nothing more is written into it: put "
        + "it back, then try again")
  }

  static func notACatalog(at path: String) -> CatalogError {
    CatalogError(
      .corrupt,
      "\(path) is a database, but not one of Reel's: move it away, or name another library with \(setting: .library)"
    )
  }

  /// What to do about a failed call on a file, by its `errno`.
  static func advice(_ code: Int32) -> String {
    switch code {
    case EROFS: "it is on a file system that is mounted read-only; mount it writable, or name another place"
    case EFBIG: "it would exceed this process's file size limit (`ulimit -f`); raise that limit"
    default: "check its disk, its owner and its permissions"
    }
  }
}
