import FoundationEssentials
import ReelCore

extension SQLiteCatalog {
  /// Who only reads tells nothing.
  static func look(
    for publication: Publication, _ steps: PublishingSteps?, at place: CatalogPlace, in db: Connection
  ) throws -> PublishingSteps.Found? {
    if let steps { return try steps.look(for: publication, in: db) }
    return try PostTable.find(publication, in: place.name(of: publication.destination), db: db).map {
      PublishingSteps.Found(stored: $0.post, announced: true)
    }
  }

  /// T1. Cancelled only if the task was cancelled before the call; see ``SQLiteCatalog``.
  public func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim {
    let writing = try writable()
    if Task.isCancelled { throw CatalogError.cancelled(at: path) }
    let answer = try await writing.writer.commit { db in try writing.steps.claim(request, in: db) }
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
    post.pageNumber = try await writing.writer.commit { db in
      try writing.steps.complete(
        intent, document: document, bytes: stored.size, at: moment.milliseconds, in: db)
    }
    Failpoint.completeCommitted.pass()
    return post
  }

  /// Gives the intent up, also in a cancelled task. One that is not held any more stays as it is.
  public func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    let writing = try writable()
    try await writing.writer.commit { db in
      try writing.steps.release(intent, because: reason, in: db)
    }
  }
}

extension PublishingSteps.Found {
  func published(at place: CatalogPlace) throws(CatalogError) -> PublishedPost {
    PublishedPost(post: try stored.post(at: place), announced: announced)
  }
}
