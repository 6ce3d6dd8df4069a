import ReelCore

/// Keeps a store's posts as documents of the collection `Post` in Firestore, numbered by one counter.
///
/// A post's document and the counter are written in one transaction: two posts published at once get different numbers,
/// and no number is used twice. The document's id is the post's, and it is created only if it does not exist, so a
/// retry makes no second document.
public struct FirestorePosts: PostRecorder {
  /// The destination of the store whose posts these are.
  public let destination: Destination

  private let client: FirestoreClient
  private let pauses: TransactionPauses
  /// One transaction at a time from this process, as each writes the counter.
  private let turn = AsyncSemaphore(count: 1)

  static let collection = "Post"
  /// The document that holds the last number, and its field.
  static let (counter, counterField) = ("PostCounter/Post", "pageNumber")

  /// Sends nothing yet.
  ///
  /// - Parameters:
  ///   - destination: the store whose posts these are.
  ///   - tokens: the access tokens that requests carry.
  ///   - pause: the clock for waiting between two transactions; a test's does not wait.
  ///   - randomness: draws the length of the pauses.
  public init(
    _ database: FirestoreDatabase, of destination: Destination, transport: any HTTPTransport,
    tokens: any TokenSource, clock: any WallClock = SystemWallClock(),
    pause: any Clock<Duration> = ContinuousClock(), randomness: any Randomness = SystemRandomness()
  ) {
    self.destination = destination
    client = FirestoreClient(
      database: database,
      google: GoogleClient(
        origin: database.origin, transport: transport, tokens: tokens, store: destination, clock: clock))
    pauses = TransactionPauses(clock: pause, randomness: randomness)
  }

  /// The project's Firestore.
  public var feed: Destination { client.database.destination }

  /// Reads the counter: a missing database, or a wrong project or role, shows here.
  /// - Throws: `storeUnusable`, and errors that may be temporary.
  public func prepare() async throws(UploadError) {
    do throws(UploadError) {
      _ = try await number(in: client.read([counterName], in: nil))
    } catch {
      throw error.code == .denied || error.code == .rejected
        ? UploadError(.storeUnusable, error.text) : error
    }
  }

  /// Creates the post's document with the next number, or finds the existing one and updates its poster.
  /// - Throws: `unavailable` if other transactions were faster too often; `rejected` if another post has that id.
  public func record(_ post: Post) async throws(UploadError) -> RecordedPost {
    try await write(post, over: [post.video], changing: PostDocument.posterFields(of: post))
  }

  /// Writes the fields of the post's document that differ between the two posts. If there is no document, creates it.
  /// - Throws: as ``record(_:)``.
  @discardableResult
  public func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost {
    try await write(
      post, over: [post.video, earlier?.video], changing: PostDocument.changes(from: earlier, to: post))
  }

  /// - Parameters:
  ///   - videos: the videos that an existing document may have; with any other it belongs to another post.
  ///   - fields: the fields that an existing document must have.
  private func write(
    _ post: Post, over videos: [ObjectKey?], changing fields: [String: FirestoreValue]
  ) async throws(UploadError) -> RecordedPost {
    let place = await turn.take()
    defer { turn.giveBack(place) }
    var aborted: String?
    for attempt in 1...TransactionPauses.attempts {
      if Task.isCancelled { throw UploadError(.cancelled, "cancelled before the post was written down") }
      let transaction = try await client.begin(after: aborted)
      switch try await recorded(post, videos, fields, in: transaction) {
      case .done(let recorded): return recorded
      case .again: aborted = transaction
      }
      try await pauses.wait(after: attempt)
    }
    throw UploadError(
      .unavailable,
      "the post \(post.id) could not be written into Firestore of the project \(client.database.project): other "
        + "writers were faster each time; try again")
  }

  /// Returns the document's `video` and `poster`.
  public func find(_ id: PostID) async throws(UploadError) -> PostRecord? {
    let found = try await client.read([name(of: id)], in: nil)
    return found[name(of: id)].map { document in
      PostRecord(
        video: document.fields?["video"]?.string.flatMap { ObjectKey($0) },
        poster: document.fields?["poster"]?.string.flatMap { ObjectKey($0) })
    }
  }

  /// Deletes the document. The counter stays, so that no number is used again.
  public func withdraw(_ id: PostID) async throws(UploadError) {
    for attempt in 1...TransactionPauses.attempts {
      if try await client.commit([.init(delete: name(of: id))], in: nil) == .committed { return }
      try await pauses.wait(after: attempt)
    }
    throw UploadError(
      .unavailable, "the post \(id) could not be removed from Firestore: other writers were faster each time")
  }

  // MARK: One transaction

  private enum Step {
    case done(RecordedPost)
    case again
  }

  private func recorded(
    _ post: Post, _ videos: [ObjectKey?], _ fields: [String: FirestoreValue], in transaction: String
  ) async throws(UploadError) -> Step {
    do throws(UploadError) {
      let found = try await client.read([counterName, name(of: post.id)], in: transaction)
      if let document = found[name(of: post.id)] {
        let recorded = try own(document, post, videos)
        let changed = fields.filter { (document.fields?[$0.key] ?? .null) != $0.value }
        if changed.isEmpty {
          await client.rollBack(transaction)
          return .done(recorded)
        }
        let outcome = try await client.commit([change(changed, in: document)], in: transaction)
        return outcome == .committed ? .done(recorded) : .again
      }
      let next = try number(in: found) + 1
      let outcome = try await client.commit(
        writes(post, next, counter: found[counterName]), in: transaction)
      return outcome == .committed ? .done(RecordedPost(id: post.id, pageNumber: next)) : .again
    } catch {
      // Otherwise it blocks others for a minute. In a task of its own, as the current one may be cancelled.
      await Task { await client.rollBack(transaction) }.value
      throw error
    }
  }

  /// Changes these fields, and leaves all others as they are.
  private func change(
    _ fields: [String: FirestoreValue], in document: FirestoreClient.Document
  ) -> FirestoreClient.Write {
    .init(
      update: .init(name: document.name, fields: fields),
      updateMask: .init(fieldPaths: fields.keys.sorted()),
      currentDocument: .init(updateTime: document.updateTime))
  }

  private func writes(
    _ post: Post, _ next: Int, counter: FirestoreClient.Document?
  ) -> [FirestoreClient.Write] {
    [
      .init(
        update: .init(name: counterName, fields: [Self.counterField: .number(next)]),
        currentDocument: counter.map { .init(updateTime: $0.updateTime) } ?? .init(exists: false)),
      .init(
        update: .init(name: name(of: post.id), fields: PostDocument.fields(of: post, pageNumber: next)),
        currentDocument: .init(exists: false)),
    ]
  }

  /// Returns the last number used; 0 if there is none.
  private func number(in documents: [String: FirestoreClient.Document]) throws(UploadError) -> Int {
    guard let counter = documents[counterName] else { return 0 }
    guard let last = counter.fields?[Self.counterField]?.integer, last >= 0, last < Int64.max else {
      throw UploadError(
        .rejected,
        "the document \(Self.counter) in Firestore of the project \(client.database.project) does not hold the last "
          + "post's number in its field \(Self.counterField): put it there, or remove the document")
    }
    return Int(last)
  }

  /// Checks that a document was written for this post by an earlier attempt.
  private func own(
    _ document: FirestoreClient.Document, _ post: Post, _ videos: [ObjectKey?]
  ) throws(UploadError) -> RecordedPost {
    guard let video = document.fields?["video"]?.string, videos.contains(where: { $0?.rawValue == video }),
      let number = document.fields?["pageNumber"]?.integer
    else {
      throw UploadError(
        .rejected,
        "Firestore of the project \(client.database.project) has another post under the id \(post.id): see what it is"
      )
    }
    return RecordedPost(id: post.id, pageNumber: Int(number))
  }

  private var counterName: String { client.database.name(Self.counter) }

  private func name(of id: PostID) -> String { client.database.name("\(Self.collection)/\(id)") }
}

/// The pauses before an aborted transaction is retried: exponential backoff with full jitter.
private struct TransactionPauses: Sendable {
  let clock: any Clock<Duration>
  let randomness: any Randomness

  static let attempts = 12

  func wait(after attempt: Int) async throws(UploadError) {
    let ceiling = UInt64(min(20 << attempt, 2000))
    let pause = Duration.milliseconds(Int64(randomness.number(below: ceiling + 1)))
    try await rethrowing(as: { _ in UploadError(.cancelled, "cancelled while waiting for Firestore") }) {
      try await clock.sleep(for: pause)
    }
  }
}
