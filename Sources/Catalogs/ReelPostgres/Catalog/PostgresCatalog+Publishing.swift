import FoundationEssentials
import ReelCore

extension PostgresCatalog {
  /// Claims an intent (T1). It is cancelled only if the task was cancelled before the call.
  package func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim {
    let writing = try writable()
    if Task.isCancelled { throw .cancelled(at: server) }
    let answer = try await writing.writer.claim(request)
    Failpoint.claimCommitted.pass()
    return try claim(answer)
  }

  /// Claims an intent for each request (T1), in one transaction.
  package func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>] {
    let answers = try writable().writer.claim(requests, noting: notes)
    for _ in answers { Failpoint.claimCommitted.pass() }
    return answers.map { answer in
      answer.flatMap { answer in Result { () throws(CatalogError) in try claim(answer) } }
    }
  }

  private func claim(_ answer: PostgresPublishing.Answer) throws(CatalogError) -> Claim {
    switch answer {
    case .granted(let intent): .granted(intent)
    case .held: .held
    case .removed(let removed): .removed(try removed.post(at: server))
    case .published(let stored, let announced):
      .published(PublishedPost(post: try post(stored), announced: announced))
    }
  }

  /// Publishes the posts of these intents (T2) in one transaction, also in a cancelled task: what has been stored
  /// should be recorded rather than stored again.
  package func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>] {
    if completions.isEmpty, notes.isEmpty { return [] }
    let writing = try writable()
    let prepared = try completions.map { one throws(CatalogError) in try finishing(one) }
    let places = try writing.writer.complete(prepared.map(\.finishing), noting: notes)
    for _ in places { Failpoint.completeCommitted.pass() }
    return zip(prepared, places).map { one, place in place.map { one.post.placed($0) } }
  }

  private func finishing(
    _ one: Completion
  ) throws(CatalogError) -> (post: Post, finishing: PostgresPublishing.Finishing) {
    var post = Post(
      draft: one.draft, intent: one.intent, stored: one.stored, pageNumber: 0,
      createdAt: Date(timeIntervalSince1970: 0))
    post.pageNumber = nil
    post.createdAt = nil
    let finishing = PostgresPublishing.Finishing(
      intent: one.intent, document: try post.document(at: server), poster: one.draft.poster?.key,
      bytes: one.stored.size,
      words: PostgresWords.vector(of: post))
    return (post, finishing)
  }

  /// Releases the intent, also in a cancelled task. An intent that is no longer held stays as it is. If this throws,
  /// the release stays owed, and is written with what the catalog writes next.
  package func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try await writable().writer.release(intent, because: reason)
  }

  /// Gives the intent up for good, also in a cancelled task.
  package func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool {
    try await release(intent, because: .keyUnusable)
    return try await blocking { pool in try pool.read { db in try Self.isGivenUp(intent.id, db) } }
  }

  /// Hands these in at once, to be committed soon.
  package func note(_ notes: [CatalogNote]) {
    if notes.isEmpty { return }
    writableIfAny?.writer.enqueue(notes)
  }

  // MARK: Posts and their documents

  func post(_ stored: PostgresPublishing.StoredPost) throws(CatalogError) -> Post {
    try stored.post(at: server)
  }

  func posts(_ stored: [PostgresPublishing.StoredPost]) throws(CatalogError) -> [Post] {
    var posts: [Post] = []
    for one in stored { posts.append(try post(one)) }
    return posts
  }
}

extension Post {
  /// Does the same as ``document()``, with an error for people.
  func document(at server: String) throws(CatalogError) -> String {
    try rethrowing(
      as: { CatalogError(.unusable, "post \(id) cannot be written into the catalog \(server): \($0)") }
    ) { try document() }
  }

  fileprivate func placed(_ place: PostgresPublishing.Place) -> Post {
    var post = self
    post.pageNumber = place.pageNumber
    post.createdAt = Date(milliseconds: place.createdAt)
    return post
  }
}

extension PostgresPublishing.StoredPost {
  /// Reads the columns `page_number`, `created_at` and `document`.
  init(_ row: PostgresRow) throws {
    self.init(
      pageNumber: try row["page_number"], createdAt: try row["created_at"], document: try row["document"])
  }

  func post(at server: String) throws(CatalogError) -> Post {
    do {
      return try Post(document: document, pageNumber: pageNumber, createdAt: createdAt)
    } catch {
      throw CatalogError(
        .corrupt,
        "post \(pageNumber) in the catalog \(server) is damaged (\(error)): restore a backup")
    }
  }

  /// Returns the same post with another document.
  func saying(_ document: String) -> Self {
    Self(pageNumber: pageNumber, createdAt: createdAt, document: document)
  }
}
