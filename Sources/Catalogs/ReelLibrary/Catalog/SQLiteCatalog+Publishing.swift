import FoundationEssentials
import ReelCore

extension SQLiteCatalog {
  /// Finds the post of `publication`. Without `steps` the caller only reads, so no event is left to it.
  static func look(
    for publication: Publication, again: Bool, _ steps: PublishingSteps?, at place: CatalogPlace,
    in db: Connection
  ) throws -> PublishingSteps.Found? {
    if let steps { return try steps.look(for: publication, again: again, in: db) }
    let store = place.name(of: publication.destination)
    let found = try PostTable.find(publication, in: store, orMoved: !again, db: db)
    return found.map { PublishingSteps.Found(stored: $0.post, announced: true) }
  }

  /// Claims an intent (T1). It is cancelled only if the task was cancelled before the call; see ``SQLiteCatalog``.
  public func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim {
    let writing = try writable()
    if Task.isCancelled { throw CatalogError.cancelled(at: path) }
    let answer = try await writing.writer.commit { db in try writing.steps.claim(request, in: db) }
    Failpoint.claimCommitted.pass()
    return try answer.claim(at: place)
  }

  /// Releases the intent, also in a cancelled task. An intent that is no longer held stays as it is. If this throws,
  /// the release stays owed, and is written with what the catalog writes next.
  public func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    let writing = try writable()
    try await writing.writer.commitOrOwe { db in
      try writing.steps.release(intent, because: reason, in: db)
    }
  }

  /// Gives the intent up for good, in one transaction, also in a cancelled task. If this throws, it stays owed, as with
  /// ``release(_:because:)``.
  public func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool {
    let writing = try writable()
    return try await writing.writer.commitOrOwe { db in
      try writing.steps.release(intent, because: .keyUnusable, in: db)
      return try IntentTable.isGivenUp(intent.id, in: db)
    }
  }
}

extension PublishingSteps.Answer {
  fileprivate func claim(at place: CatalogPlace) throws(CatalogError) -> Claim {
    switch self {
    case .granted(let intent): .granted(intent)
    case .held: .held
    case .removed(let removed): .removed(try removed.post(at: place))
    case .published(let found): .published(try found.published(at: place))
    }
  }
}

extension PublishingSteps.Found {
  func published(at place: CatalogPlace) throws(CatalogError) -> PublishedPost {
    PublishedPost(post: try stored.post(at: place), announced: announced)
  }
}

extension SQLiteCatalog {
  /// Looks all of them up in one read. It writes only to take over an event that a dead process left undelivered.
  public func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent] {
    let writing = writableIfAny
    let found = try connection.readNow { db in
      try questions.map { question in
        (
          try question.publication.flatMap {
            try Self.look(for: $0, again: question.again, writing?.steps, at: place, in: db)
          },
          try question.publication.flatMap {
            try RemovalTable.newest(of: $0.digest, author: IntentTable.author(of: $0), in: db)
          },
          try ProbeResultTable.all(of: question.digest, in: db)
        )
      }
    }
    var contents: [KnownContent] = []
    for (question, (post, removed, readings)) in zip(questions, found) {
      var post = post
      if let writing, let untold = post, !untold.announced, let publication = question.publication {
        // This process takes over the event that a dead process left undelivered.
        post = try writing.writer.write { db in
          try writing.steps.published(publication, again: question.again, in: db)
        }
      }
      let known = readings.compactMap { reader, text in ProbeOutcome(document: text).map { (reader, $0) } }
      contents.append(
        KnownContent(
          post: try post?.published(at: place),
          removed: post == nil ? try removed?.post(at: place) : nil,
          readings: Dictionary(known) { first, _ in first }))
    }
    return contents
  }

  /// Claims an intent for each request (T1), in one transaction.
  public func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>] {
    let writing = try writable()
    let answers = try writing.writer.writeTogether { [self] db in
      try write(notes, in: db)
      return try requests.map { request in
        try Self.outcome { try writing.steps.claim(request, in: db) }
      }
    }
    for _ in answers { Failpoint.claimCommitted.pass() }
    return answers.map { answer in
      answer.flatMap { answer in
        Result { () throws(CatalogError) in try answer.claim(at: place) }
      }
    }
  }

  /// Publishes the posts of these intents (T2) in one transaction, also in a cancelled task: what has been stored
  /// should be recorded rather than stored again.
  public func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>] {
    if completions.isEmpty, notes.isEmpty { return [] }
    let writing = try writable()
    let moment = clock.now().wholeMilliseconds
    let posts = try completions.map { one throws(CatalogError) in
      let post = Post(
        draft: one.draft, intent: one.intent, stored: one.stored, pageNumber: 0, createdAt: moment)
      let destination = one.intent.publication.destination
      return (post: post, document: try PostTable.document(of: post, in: destination, at: place))
    }
    let places = try writing.writer.writeTogether { [self] db in
      try write(notes, in: db)
      return try zip(completions, posts).map { one, post in
        try Self.outcome {
          try writing.steps.complete(
            one.intent, document: post.document, poster: one.draft.poster?.key, bytes: one.stored.size,
            at: moment.milliseconds, in: db)
        }
      }
    }
    for _ in places { Failpoint.completeCommitted.pass() }
    return zip(posts, places).map { post, place in
      place.map { number in
        var post = post.post
        post.pageNumber = number
        return post
      }
    }
  }

  /// Hands these in at once, to be committed soon.
  public func note(_ notes: [CatalogNote]) {
    guard let writing = writableIfAny, !notes.isEmpty else { return }
    writing.writer.enqueue { [self] db in try write(notes, in: db) }
  }

  private static func outcome<Value>(_ body: () throws -> Value) throws -> Result<Value, CatalogError> {
    do {
      return .success(try body())
    } catch let error as CatalogError {
      return .failure(error)
    }
  }

  private func write(_ notes: [CatalogNote], in db: Connection) throws {
    let now = clock.now()
    for note in notes where note.isKept(at: now) {
      switch note {
      case .digest(let digest, let identity): try KnownFileTable.put(digest, of: identity, in: db)
      case .outcome(let outcome, let digest, let reader):
        guard let document = try? outcome.document() else { continue }
        try ProbeResultTable.put(document, of: digest, by: reader, in: db)
      case .failure(let failure, let path): try FailureTable.put(failure, at: path, in: db)
      case .announced(let posts):
        guard let me = writableIfAny?.steps.me else { continue }
        for post in posts { try Outbox.delete(post, owner: me, in: db) }
        try Failpoint.toldWritten.reachInDatabase()
      }
    }
  }
}
