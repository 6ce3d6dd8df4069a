import GRDB
import Glibc
import ReelModel

extension CatalogError {
  /// What `error`, thrown while working on the catalog at `path`, means for people.
  static func from(_ error: any Error, at path: String) -> CatalogError {
    switch error {
    case let known as CatalogError: known
    case let failure as DatabaseError: from(failure, at: path)
    case is CancellationError: cancelled(at: path)
    default: CatalogError(.unusable, "the catalog \(path) gave an error that Reel does not know: \(error)")
    }
  }

  private static func from(_ error: DatabaseError, at path: String) -> CatalogError {
    let reason = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
    switch code(of: error, at: path) {
    case .cancelled: return cancelled(at: path)
    case .locked:
      return CatalogError(
        .locked,
        "another process keeps the catalog \(path) locked: wait until it is done, or end it, and try again")
    case .corrupt:
      return CatalogError(
        .corrupt,
        "the catalog \(path) is damaged or is no catalog (\(reason)): put a backup in its place, or "
          + "move it away and make a new one of the stored objects (reel doctor --rebuild)")
    case .diskFull:
      return CatalogError(
        .diskFull, "no space left on the disk of the catalog \(path): free some, and run again")
    default:
      return CatalogError(
        .unusable,
        "the catalog \(path) cannot be used (\(reason)): check its disk, its owner and its permissions")
    }
  }

  private static func code(of error: DatabaseError, at path: String) -> Code {
    switch error.resultCode {
    case .SQLITE_BUSY, .SQLITE_LOCKED: .locked
    case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt
    case .SQLITE_FULL: .diskFull
    // So a full disk shows where SQLite makes or grows a file beside the database.
    case .SQLITE_IOERR, .SQLITE_CANTOPEN: diskIsFull(at: path) ? .diskFull : .unusable
    case .SQLITE_INTERRUPT: .cancelled
    default: .unusable
    }
  }

  private static func diskIsFull(at path: String) -> Bool {
    var facts = statvfs()
    return statvfs(path, &facts) == 0 && facts.f_bavail == 0
  }
}
