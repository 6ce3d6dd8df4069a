import GRDB

extension SQLiteCatalog {
  /// The version of the SQLite that this program uses; nil when it does not answer.
  public static var sqliteVersion: String? {
    try? DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
  }
}
