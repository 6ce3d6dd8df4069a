import Foundation
import GRDB
import ReelModel

/// What the tables of a library say, read beside Reel's own code.
package struct CatalogLook: Sendable {
  package struct Row: Sendable {
    package let key: String
    package let digest: ContentDigest?
    package let isPublished: Bool
  }
  /// Every intent, published or not.
  package let rows: [Row]
  package let posts: Int
  package let untold: Int

  package init(library: String) throws {
    guard FileManager.default.fileExists(atPath: library + "/catalog.sqlite") else {
      (rows, posts, untold) = ([], 0, 0)
      return
    }
    let queue = try DatabaseQueue(path: library + "/catalog.sqlite")
    (rows, posts, untold) = try queue.read { database in
      let rows = try GRDB.Row.fetchAll(database, sql: "SELECT objectKey, digest, state FROM intent")
      return (
        rows.map { row in
          Row(
            key: row[0], digest: ContentDigest(sha256: row[1] as Data),
            isPublished: (row[2] as Int) == 1)
        },
        try Int.fetchOne(database, sql: "SELECT count(*) FROM post") ?? -1,
        try Int.fetchOne(database, sql: "SELECT count(*) FROM outbox") ?? -1
      )
    }
  }
}
