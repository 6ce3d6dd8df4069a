import FoundationEssentials
import ReelCore

/// Posts that were removed.
enum PostgresRemovals {
  /// A row whose post has not been decoded yet.
  struct Stored: Sendable {
    let post: PostgresPublishing.StoredPost
    let removal: Removal
    let isStored: Bool

    func post(at server: String) throws(CatalogError) -> RemovedPost {
      RemovedPost(post: try post.post(at: server), removal: removal, mayBeStored: isStored)
    }
  }

  /// The columns of a removal `m`, by names that no post beside it has.
  static let columns = """
    m.page_number AS removed_page, m.created_at AS removed_created_at, m.document AS removed_document, m.reason,
      m.removed_by, m.removed_at, m.kept_until, m.is_stored
    """

  /// Reads ``columns``; nil if there is no removal.
  static func stored(_ row: PostgresRow) throws -> Stored? {
    guard let pageNumber: Int = try row["removed_page"] else { return nil }
    return Stored(
      post: PostgresPublishing.StoredPost(
        pageNumber: pageNumber, createdAt: try row["removed_created_at"],
        document: try row["removed_document"]),
      removal: Removal(
        reason: try row["reason"], by: try row["removed_by"],
        at: Date(milliseconds: try row["removed_at"]),
        keptUntil: (try row["kept_until"] as Int64?).map { Date(milliseconds: $0) }),
      isStored: try row["is_stored"])
  }

  /// Returns a query for the newest removal of that video and author, in any store, unless the video has become a post
  /// since. If nothing was ever removed, it costs one look-up.
  static func newest(of digest: String, author: String) -> String {
    """
    SELECT m.* FROM (
      SELECT number FROM reel.intent WHERE digest = \(digest) AND author = \(author)
      UNION
      SELECT i.number FROM reel.arrival v
      CROSS JOIN LATERAL (SELECT number, author FROM reel.intent WHERE number = v.intent OFFSET 0) i
      WHERE v.digest = \(digest) AND i.author = \(author)
    ) ours
    CROSS JOIN LATERAL (SELECT * FROM reel.removal WHERE intent = ours.number OFFSET 0) m
    WHERE (SELECT EXISTS (SELECT 1 FROM reel.removal)) AND NOT EXISTS (
      SELECT 1 FROM reel.intent later JOIN reel.post p ON p.intent = later.number
      WHERE later.digest = \(digest) AND later.author = \(author) AND p.created_at >= m.removed_at
    ) AND NOT EXISTS (
      SELECT 1 FROM reel.arrival v JOIN reel.intent later ON later.number = v.intent
      JOIN reel.post p ON p.intent = later.number
      WHERE v.digest = \(digest) AND later.author = \(author) AND p.created_at >= m.removed_at)
    ORDER BY ours.number DESC LIMIT 1
    """
  }
}
