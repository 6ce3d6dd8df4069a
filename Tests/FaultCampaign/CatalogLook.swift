import Foundation
import ReelCore
import ReelLibrary

/// The contents of a library's tables, read without Reel's own catalog.
package struct CatalogLook: Sendable {
  package struct Row: Sendable {
    package let key: String
    package let digest: ContentDigest?
    package let isPublished: Bool
  }
  package struct Poster: Sendable {
    package let key: String
    package let isShown: Bool
  }
  /// Every intent, published or not.
  package let rows: [Row]
  /// Every poster that was named.
  package let posters: [Poster]
  /// The posters that posts show.
  package let shown: [String]
  package let posts: Int
  package let untold: Int

  package init(library: String) throws {
    guard FileManager.default.fileExists(atPath: library + "/catalog.sqlite") else {
      (rows, posters, shown, posts, untold) = ([], [], [], 0, 0)
      return
    }
    let catalog = try Connection(library + "/catalog.sqlite")
    (rows, posters, shown, posts, untold) = try catalog.transaction(.deferred) {
      (
        try catalog.rows("SELECT objectKey, digest, state FROM intent") { row in
          Row(
            key: try row[0], digest: ContentDigest(sha256: try row[1] as [UInt8]),
            isPublished: try row[2] as Int == 1)
        },
        try catalog.rows("SELECT objectKey, state FROM poster") { row in
          Poster(key: try row[0], isShown: try row[1] as Int == 1)
        },
        try catalog.rows("SELECT json_extract(document, '$.poster') FROM post") { row in try row[0] as String?
        }
        .compactMap(\.self),
        try catalog.value("SELECT count(*) FROM post") ?? -1,
        try catalog.value("SELECT count(*) FROM outbox") ?? -1
      )
    }
  }
}
