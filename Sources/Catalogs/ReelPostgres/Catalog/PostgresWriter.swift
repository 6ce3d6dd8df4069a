import Dispatch
import FoundationEssentials
import ReelCore

/// Writes in the name of one owner.
///
/// A thread that may block has its own transaction, for a whole batch. What tasks hand in during one transaction is
/// written together in the next, so that many tasks cost one commit.
final class PostgresWriter: Sendable {
  typealias Answer<Value> = @Sendable (Result<Value, CatalogError>) -> Void

  /// What tasks hand in.
  fileprivate enum Piece: Sendable {
    case note(CatalogNote)
    case claim(ClaimRequest, Answer<PostgresPublishing.Answer>)
    case release(Intent, ReleaseReason, Answer<Void>)
    /// A debt, which is written before what is handed in.
    case owed(PostgresDebt)
    /// Only waits for what was handed in before.
    case flush(Answer<Void>)

    var isNote: Bool { if case .note = self { true } else { false } }

    /// Whether it may contain something that the server rejects, and a caller waits to learn of that.
    var writesAlone: Bool {
      switch self {
      case .claim, .release, .owed: true
      case .note, .flush: false
      }
    }
  }

  private let transactions: Transactions
  private let groups: GroupWriting<Piece>

  init(
    _ pool: PostgresPool, owner: PostgresOwner, host: String, clock: any WallClock,
    postClock: (any WallClock)?
  ) {
    let transactions = Transactions(pool: pool, owner: owner, host: host, clock: clock, postClock: postClock)
    self.transactions = transactions
    var limits = GroupWriting<Piece>.Limits()
    // Each claim takes its own lock, and the server has room for a few thousand.
    limits.group = 128
    groups = GroupWriting(label: "reel.postgres.write", limits: limits, isAwaited: { !$0.isNote }) { group in
      transactions.write(group)
    }
  }

  // MARK: For threads that may block

  /// Claims an intent for each request (T1), and writes `notes`. Blocks.
  func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<PostgresPublishing.Answer, CatalogError>] {
    settle()
    return try write(Batch(notes: notes, requests: requests)).claims
  }

  /// Remembers what could not be written. It is written before what tasks hand in next, or with a heartbeat.
  func owe(_ debt: PostgresDebt) { transactions.debts.add(debt) }

  /// Hands in what is owed, without waiting.
  func payDebts() {
    if !transactions.debts.isEmpty { _ = groups.handIn(.flush { _ in }) }
  }

  /// Pays what is owed, if possible, so that a look-up of posts sees which events
  /// this process no longer delivers. Blocks.
  func settle() {
    if transactions.debts.isEmpty { return }
    let isOver = DispatchSemaphore(value: 0)
    if groups.handIn(.flush { _ in isOver.signal() }) { isOver.wait() }
  }

  /// Publishes the posts of these intents (T2), and writes `notes`. Blocks.
  func complete(
    _ finishing: [PostgresPublishing.Finishing], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<PostgresPublishing.Place, CatalogError>] {
    let places = try write(Batch(notes: notes, finishing: finishing)).places
    for (one, place) in zip(finishing, places) {
      // An earlier call may have published it, with its answer lost.
      if case .failure(let error) = place, error.code == .leaseLost { owe(.event(one.intent)) }
    }
    return places
  }

  /// What one transaction writes.
  fileprivate struct Batch {
    var notes: [CatalogNote] = []
    var debts: [PostgresDebt] = []
    var releases: [(intent: Intent, reason: ReleaseReason)] = []
    var requests: [ClaimRequest] = []
    var finishing: [PostgresPublishing.Finishing] = []
  }

  private struct Outcome {
    var claims: [Result<PostgresPublishing.Answer, CatalogError>] = []
    var places: [Result<PostgresPublishing.Place, CatalogError>] = []
  }

  private func write(_ batch: Batch) throws(CatalogError) -> Outcome {
    if groups.isClosed { throw .closed(at: transactions.server) }
    var call = PostgresPublishing.ClaimCall()
    do throws(Failure) {
      return try transactions.carryOut(batch, of: &call)
    } catch {
      // The server may have granted intents, and gone away before it could say so.
      if !batch.requests.isEmpty { owe(.claims(call)) }
      guard call.mayBeDone, error.mayBeOfOne, !batch.finishing.isEmpty else { throw error.error }
      // Some of it may be published, with the answer lost.
      return Outcome(
        places: batch.finishing.map { one in
          transactions.result { () throws(Failure) in
            try transactions.carryOut(Batch(finishing: [one]), of: &call).places
          }
        })
    }
  }

  /// The reason why nothing of a batch was written.
  private struct Failure: Error {
    let error: CatalogError
    /// Whether the rest of the batch may well be written without the one part that the server rejects.
    var mayBeOfOne = false
  }

  // MARK: For tasks

  func claim(_ request: ClaimRequest) async throws(CatalogError) -> PostgresPublishing.Answer {
    try await handIn { .claim(request, $0) }
  }

  func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try await handIn { .release(intent, reason, $0) }
  }

  /// Waits until everything that was handed in before is committed.
  func flush() async throws(CatalogError) {
    try await handIn { .flush($0) }
  }

  /// Hands in `notes` without waiting.
  func enqueue(_ notes: [CatalogNote]) { _ = groups.handIn(notes.map(Piece.note)) }

  /// Accepts no more writes.
  func close() { groups.close() }

  private func handIn<Value: Sendable>(
    _ piece: @Sendable (@escaping Answer<Value>) -> Piece
  ) async throws(CatalogError) -> Value {
    let result: Result<Value, CatalogError> = await withCheckedContinuation { continuation in
      if !groups.handIn(piece { continuation.resume(returning: $0) }) {
        continuation.resume(returning: .failure(.closed(at: transactions.server)))
      }
    }
    return try result.get()
  }

  // MARK: Transactions

  private struct Transactions: Sendable {
    let pool: PostgresPool
    let owner: PostgresOwner
    let host: String
    let clock: any WallClock
    /// The clock for the times of posts; nil for the server's.
    let postClock: (any WallClock)?
    let debts = PostgresDebts()

    var server: String { pool.address.name }

    /// - Parameter call: if parts of a batch are carried out again, that of the whole batch: what was committed before,
    ///   with its answer lost, is found by it.
    func carryOut(_ batch: Batch, of call: inout PostgresPublishing.ClaimCall) throws(Failure) -> Outcome {
      let notes = PostgresNotes(batch.notes, now: clock.now())
      let onlyCompletes =
        notes.isEmpty && batch.debts.isEmpty && batch.releases.isEmpty && batch.requests.isEmpty
      if onlyCompletes, batch.finishing.isEmpty { return Outcome() }
      for isLast in [false, true] {
        do {
          // Completing is a single statement.
          return try pool.transaction(ofOneStatement: onlyCompletes && !call.mayBeDone) { tx in
            call.mayBeDone = call.mayBeDone || tx.mayBeDone
            let steps = PostgresPublishing(tx: tx, me: owner.id, server: server)
            try steps.lock(batch.requests)
            try notes.write(in: tx, host: host, me: owner.id)
            for debt in batch.debts { try debt.pay(in: tx, by: owner.id) }
            try steps.release(batch.releases)
            let claims = try steps.claim(batch.requests, of: &call)
            return Outcome(
              claims: claims,
              places: try steps.complete(
                batch.finishing, at: postClock?.now().milliseconds, mayBeDone: call.mayBeDone))
          }
        } catch let error as PostgresError where error.isUniqueViolation && !isLast {
          // Another process took the name of a poster at the same moment; the next try sees that.
        } catch {
          if let places = lookForPosts(batch, of: call) { return Outcome(places: places) }
          throw Failure(
            error: CatalogError.from(error, at: server),
            mayBeOfOne: (error as? PostgresError)?.mayBeOfOne ?? (error is CatalogError))
        }
      }
      throw Failure(error: .closed(at: server))
    }

    /// Finds out whether a single completion is published, after its COMMIT was not answered and the server rejected
    /// the repetition. Nil if it is not published, or that can't be found out.
    private func lookForPosts(
      _ batch: Batch, of call: PostgresPublishing.ClaimCall
    ) -> [Result<PostgresPublishing.Place, CatalogError>]? {
      guard call.mayBeDone, batch.finishing.count == 1, batch.requests.isEmpty, batch.releases.isEmpty,
        let found = try? pool.transaction({ tx in
          try PostgresPublishing(tx: tx, me: owner.id, server: server).published(batch.finishing)
        }), let place = found.first?.place
      else { return nil }
      return [.success(place)]
    }

    /// Returns the only result of `body`.
    func result(
      _ body: () throws(Failure) -> [Result<PostgresPublishing.Place, CatalogError>]
    ) -> Result<PostgresPublishing.Place, CatalogError> {
      do throws(Failure) {
        return try body().first ?? .failure(.closed(at: server))
      } catch {
        return .failure(error.error)
      }
    }

    /// Writes a group, and answers its callers. False if it was not written.
    func write(_ group: [Piece]) -> Bool {
      var call = PostgresPublishing.ClaimCall()
      let isWritten = write(debts.takeAll().map(Piece.owed) + group, of: &call)
      defer { debts.endPaying() }
      // The server may have granted intents all the same.
      if call.isUnheard { debts.add(.claims(call)) }
      return isWritten
    }

    private func write(_ group: [Piece], of call: inout PostgresPublishing.ClaimCall) -> Bool {
      do throws(Failure) {
        let outcome = try carryOut(Batch(group), of: &call)
        for case .success(let answer) in outcome.claims {
          switch answer {
          case .granted(let intent): call.told.insert(intent.id)
          case .published(let post, _): call.handed.remove(post.pageNumber)
          case .removed, .held: break
          }
        }
        answer(group, with: outcome)
        return true
      } catch {
        guard error.mayBeOfOne, group.count > 1 else {
          for piece in group { fail(piece, error.error, of: &call) }
          // A note that the server rejects is dropped: otherwise all that is written with it would fail, even the last
          // group before closing.
          return error.mayBeOfOne && group.allSatisfy(\.isNote)
        }
        let alone = group.filter(\.writesAlone)
        if alone.isEmpty {
          var isWritten = true
          for piece in group { isWritten = write([piece], of: &call) && isWritten }
          return isWritten
        }
        for piece in alone { _ = write([piece], of: &call) }
        let others = group.filter { !$0.writesAlone }
        return others.isEmpty || write(others, of: &call)
      }
    }

    private func fail(_ piece: Piece, _ error: CatalogError, of call: inout PostgresPublishing.ClaimCall) {
      switch piece {
      case .note: break
      case .claim(_, let answer):
        call.isUnheard = true
        debts.expectOne()
        answer(.failure(error))
      case .release(let intent, let reason, let answer):
        debts.add(.release(intent, reason))
        answer(.failure(error))
      case .owed(let debt): debts.add(debt)
      case .flush(let answer): answer(.failure(error))
      }
    }

    private func answer(_ group: [Piece], with outcome: Outcome) {
      var claims = outcome.claims[...]
      for piece in group {
        switch piece {
        case .note, .owed: break
        case .claim(_, let answer): if let result = claims.popFirst() { answer(result) }
        case .release(_, _, let answer), .flush(let answer): answer(.success(()))
        }
      }
    }
  }
}

extension PostgresWriter.Batch {
  fileprivate init(_ group: [PostgresWriter.Piece]) {
    for piece in group {
      switch piece {
      case .note(let note): notes.append(note)
      case .claim(let request, _): requests.append(request)
      case .release(let intent, let reason, _): releases.append((intent, reason))
      case .owed(let debt): debts.append(debt)
      case .flush: break
      }
    }
  }
}
