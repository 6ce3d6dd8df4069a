import Foundation
import ReelCore
import ReelLibrary

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
    let catalog = try Connection(library + "/catalog.sqlite")
    (rows, posts, untold) = try catalog.transaction(.deferred) {
      (
        try catalog.rows("SELECT objectKey, digest, state FROM intent") { row in
          Row(
            key: try row[0], digest: ContentDigest(sha256: try row[1] as [UInt8]),
            isPublished: try row[2] as Int == 1)
        },
        try catalog.value("SELECT count(*) FROM post") ?? -1,
        try catalog.value("SELECT count(*) FROM outbox") ?? -1
      )
    }
  }
}
