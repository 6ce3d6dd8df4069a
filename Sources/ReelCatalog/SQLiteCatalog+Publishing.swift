import FoundationEssentials
import ReelModel
import ReelSQLite
import ReelSystem

extension SQLiteCatalog {
  /// Looking is one read; only an event that a dead process left untold makes it write.
  public func published(_ publication: Publication) async throws(CatalogError) -> PublishedPost? {
    let steps = writableIfAny?.steps
    let found = try await connection.look { [place] db in
      try Self.look(for: publication, steps, at: place, in: db)
    }
    return try await tellable(found, publication)
  }

  /// What is read besides the post need not be of the same moment.
  public func content(
    of digest: ContentDigest, publishedAs publication: Publication?
  ) async throws(CatalogError) -> KnownContent {
    let steps = writableIfAny?.steps
    let (found, readings) = try await connection.look { [place] db in
      (
        try publication.flatMap { try Self.look(for: $0, steps, at: place, in: db) },
        try ReadingTable.all(of: digest, in: db)
      )
    }
    var post: PublishedPost?
    if let publication { post = try await tellable(found, publication) }
    let known = readings.compactMap { reader, text in ProbeOutcome(document: text).map { (reader, $0) } }
    return KnownContent(post: post, readings: Dictionary(known) { first, _ in first })
  }

  /// Who only reads tells nothing.
  private static func look(
    for publication: Publication, _ steps: PublishingSteps?, at place: CatalogPlace, in db: Connection
  ) throws -> PublishingSteps.Found? {
    if let steps { return try steps.look(for: publication, in: db) }
    return try PostTable.find(publication, in: place.name(of: publication.destination), db: db).map {
      PublishingSteps.Found(stored: $0.post, announced: true)
    }
  }

  /// A post whose event a dead process has left to be told becomes this one's to tell.
  private func tellable(
    _ found: PublishingSteps.Found?, _ publication: Publication
  ) async throws(CatalogError) -> PublishedPost? {
    guard let writing = writableIfAny, let found, !found.announced else {
      return try found?.published(at: place)
    }
    let steps = writing.steps
    return try await writing.group.durably { db in try steps.published(publication, in: db) }?
      .published(at: place)
  }

  /// T1. Cancelled only if the task was cancelled before the call; see ``SQLiteCatalog``.
  public func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim {
    let writing = try writable()
    if Task.isCancelled { throw CatalogError.cancelled(at: path) }
    let answer = try await writing.group.durably { db in try writing.steps.claim(request, in: db) }
    Failpoint.claimCommitted.pass()
    switch answer {
    case .granted(let intent): return .granted(intent)
    case .held: return .held
    case .published(let found): return .published(try found.published(at: place))
    }
  }

  /// T2, also in a cancelled task: what has been stored is better recorded than stored again.
  public func complete(
    _ intent: Intent, draft: PostDraft, stored: StoredObject
  ) async throws(CatalogError) -> Post {
    let writing = try writable()
    let moment = clock.now().wholeMilliseconds
    var post = Post(draft: draft, intent: intent, stored: stored, pageNumber: 0, createdAt: moment)
    let document = try PostTable.document(of: post, in: intent.publication.destination, at: place)
    post.pageNumber = try await writing.group.durably { db in
      try writing.steps.complete(
        intent, document: document, bytes: stored.size, at: moment.milliseconds, in: db)
    }
    Failpoint.completeCommitted.pass()
    return post
  }

  /// Gives the intent up, also in a cancelled task. One that is not held any more stays as it is.
  public func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    let writing = try writable()
    try await writing.group.durably { db in
      try writing.steps.release(intent, because: reason, in: db)
    }
  }

  /// The events of `posts` have been told. Committed with the next group, or soon after.
  public func announced(_ posts: [PostID]) async {
    guard let writing = writableIfAny, !posts.isEmpty else { return }
    for post in posts {
      await writing.lazily { db in
        try Outbox.strike(post, owner: writing.steps.me, in: db)
        try Failpoint.toldWritten.reachInDatabase()
      }
    }
  }
}

extension PublishingSteps.Found {
  fileprivate func published(at place: CatalogPlace) throws(CatalogError) -> PublishedPost {
    PublishedPost(post: try stored.post(at: place), announced: announced)
  }
}
