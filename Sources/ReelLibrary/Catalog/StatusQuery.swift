import FoundationEssentials
import ReelCore

/// What a catalog holds.
enum StatusQuery {
  static func status(at place: CatalogPlace, in db: Connection) throws -> CatalogStatus {
    let stores = try db.rows("SELECT name, posts, bytes FROM destination WHERE posts > 0") { row in
      (name: try row["name"] as String, posts: try row["posts"] as Int, bytes: try row["bytes"] as Int64)
    }
    return CatalogStatus(
      posts: stores.reduce(0) { $0 + $1.posts },
      bytes: stores.reduce(0) { $0 + $1.bytes },
      destinations: stores.map { (destination: place.destination(named: $0.name), posts: $0.posts) }
        .sorted { $0.destination.name < $1.destination.name },
      unfinished: try count("intent WHERE state = 0", in: db),
      failures: try FailureTable.newest(CatalogStatus.mostFailures, in: db),
      failureCount: try count("failure", in: db),
      schemaVersion: Int(try db.number("PRAGMA user_version") ?? 0))
  }

  static func count(_ rows: String, in db: Connection) throws -> Int {
    Int(try db.number("SELECT count(*) FROM \(rows)") ?? 0)
  }
}
