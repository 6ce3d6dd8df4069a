import Glibc
import ReelCore

extension CatalogError {
  static func newerSchema(_ found: Int, known: Int, at path: String) -> CatalogError {
    CatalogError(
      .newerSchema,
      "the catalog \(path) was made by a newer Reel (schema \(found), this one knows schema \(known)): "
        + "update Reel, or name another library with --library")
  }

  static func lost(at path: String) -> CatalogError {
    CatalogError(
      .lost,
      "the catalog \(path) is gone or empty, and this library had one: put a backup in its place (docs/backup.md), or "
        + "make a new one of the objects in its folders (reel doctor --rebuild); with none, everything would be published "
        + "again"
    )
  }

  static func moved(from path: String) -> CatalogError {
    CatalogError(
      .unusable,
      "the catalog \(path) was moved, removed or replaced while it was in use, so nothing more is written into it: put "
        + "it back, then run the same command again")
  }

  static func notACatalog(at path: String) -> CatalogError {
    CatalogError(
      .corrupt,
      "\(path) is a database, but not one of Reel's: move it away, or name another library with --library")
  }

  static func leaseLost(_ intent: Intent, at path: String) -> CatalogError {
    CatalogError(
      .leaseLost,
      "attempt \(intent.attempt) at post \(intent.id) does not hold it any more in the catalog \(path), "
        + "another run may have taken it over: run the command again")
  }

  static func nameTaken(_ request: ClaimRequest, at path: String) -> CatalogError {
    CatalogError(
      .unusable,
      "the catalog \(path) already has a post \(request.newID) or an object \(request.newKey) in "
        + "\(request.publication.destination): run the command again, it draws new names")
  }

  /// What to do about a failed call on a file, by its `errno`.
  static func advice(_ code: Int32) -> String {
    switch code {
    case EROFS: "it is on a file system that is mounted read-only; mount it writable, or name another place"
    case EFBIG: "it would be larger than the files of this process may be (`ulimit -f`); raise that limit"
    default: "check its disk, its owner and its permissions"
    }
  }

  static func closed(at path: String) -> CatalogError {
    CatalogError(.unusable, "the catalog \(path) has been closed: open it again")
  }

  static func readOnly(at path: String) -> CatalogError {
    CatalogError(
      .unusable, "the catalog \(path) was opened for reading only: open it for writing to publish")
  }

  static func cancelled(at path: String) -> CatalogError {
    CatalogError(.cancelled, "the task was cancelled before the catalog \(path) answered: run it again")
  }
}
