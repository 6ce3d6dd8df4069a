import ReelCore

/// All that is known of a file that nobody has opened yet.
enum RecallQuery {
  /// What was found, its post not yet read: that is done off the database's thread.
  struct Found: Sendable {
    let digest: ContentDigest
    let post: PostTable.Stored?
    let failureCode: String?
  }

  /// - Parameter steps: of the owner who asks; nil for one who only reads, and tells nothing.
  static func find(
    _ file: RecalledFile, _ steps: PublishingSteps?, at place: CatalogPlace, in db: Connection
  ) throws -> Found? {
    guard let digest = try KnownFileTable.find(file.identity, in: db) else { return nil }
    let publication = Publication(digest: digest, destination: file.destination, authorID: file.authorID)
    let post =
      if let steps {
        try steps.look(for: publication, in: db).flatMap { $0.announced ? $0.stored : nil }
      } else {
        try PostTable.find(publication, in: place.name(of: file.destination), db: db)?.post
      }
    return Found(
      digest: digest, post: post,
      failureCode: try FailureTable.code(at: file.path, in: db))
  }
}

extension RecallQuery.Found {
  func recollection(readingPost: Bool, at place: CatalogPlace) throws(CatalogError) -> CachedRecord {
    CachedRecord(
      digest: digest, isPublished: post != nil, post: readingPost ? try post?.post(at: place) : nil,
      failureCode: failureCode)
  }
}
