import Dispatch
import FoundationEssentials
import ReelCore
import Synchronization

/// Writes in the name of one owner.
///
/// A thread that may block has a transaction to itself, for a whole batch; what tasks hand in while one is under way is
/// written together in the next, so that many tasks cost one commit.
final class PostgresWriter: Sendable {
  /// What tasks hand in.
  fileprivate struct Group {
    var notes: [CatalogNote] = []
    var claims: [(request: ClaimRequest, answer: Answer<PostgresPublishing.Answer>)] = []
    var releases: [(intent: Intent, reason: ReleaseReason, answer: Answer<Void>)] = []
    var completions: [(finishing: PostgresPublishing.Finishing, answer: Answer<PostgresPublishing.Place>)] =
      []
    /// Who only waits for what was handed in before.
    var flushes: [Answer<Void>] = []

    var isEmpty: Bool { notes.isEmpty && awaited == 0 }
    var awaited: Int { claims.count + releases.count + completions.count + flushes.count }
  }

  typealias Answer<Value> = @Sendable (Result<Value, CatalogError>) -> Void

  private struct State {
    var pending = Group()
    /// Whether somebody is at it, or about to be.
    var isWriting = false
    var isFlushDue = false
    var isClosed = false
  }

  /// The most of each kind in one transaction.
  private static let largestGroup = 256
  /// Notes are kept over a failure while fewer than these are pending.
  private static let mostNotes = 10_000
  /// How long a note may stay uncommitted.
  private static let patience = DispatchTimeInterval.milliseconds(200)

  private let pool: PostgresPool
  private let owner: PostgresOwner
  private let host: String
  private let clock: any WallClock
  /// Of posts; nil for the server's.
  private let postClock: (any WallClock)?
  private let thread = DispatchQueue(label: "reel.postgres.write")
  private let state = Mutex(State())

  init(
    _ pool: PostgresPool, owner: PostgresOwner, host: String, clock: any WallClock,
    postClock: (any WallClock)?
  ) {
    (self.pool, self.owner, self.host, self.clock, self.postClock) = (pool, owner, host, clock, postClock)
  }

  private var server: String { pool.address.name }

  // MARK: For threads that may block

  /// T1 for all of them, and `notes`. Blocks.
  func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<PostgresPublishing.Answer, CatalogError>] {
    try write(Batch(notes: notes, requests: requests)).claims
  }

  /// T2 for all of them, and `notes`. Blocks.
  func complete(
    _ finishing: [PostgresPublishing.Finishing], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<PostgresPublishing.Place, CatalogError>] {
    try write(Batch(notes: notes, finishing: finishing)).places
  }

  /// One transaction for all of a batch.
  private struct Batch {
    var notes: [CatalogNote] = []
    var releases: [(intent: Intent, reason: ReleaseReason)] = []
    var requests: [ClaimRequest] = []
    var finishing: [PostgresPublishing.Finishing] = []
  }

  private struct Outcome {
    var claims: [Result<PostgresPublishing.Answer, CatalogError>] = []
    var places: [Result<PostgresPublishing.Place, CatalogError>] = []
  }

  private func write(_ batch: Batch) throws(CatalogError) -> Outcome {
    if state.withLock({ $0.isClosed }) { throw .closed(at: server) }
    do throws(Failure) {
      return try carryOut(batch)
    } catch {
      throw error.error
    }
  }

  /// Why nothing of a batch was written.
  private struct Failure: Error {
    let error: CatalogError
    /// Whether the others of the batch may well be written without the one that the server can't take.
    var mayBeOfOne = false
  }

  private func carryOut(_ batch: Batch) throws(Failure) -> Outcome {
    let notes = PostgresNotes(batch.notes, now: clock.now())
    if notes.isEmpty, batch.releases.isEmpty, batch.requests.isEmpty, batch.finishing.isEmpty {
      return Outcome()
    }
    var call = PostgresPublishing.ClaimCall()
    for isLast in [false, true] {
      do {
        return try pool.transaction { tx in
          call.mayBeDone = call.mayBeDone || tx.mayBeDone
          let steps = PostgresPublishing(tx: tx, me: owner.id, server: server)
          try notes.write(in: tx, host: host, me: owner.id)
          try steps.release(batch.releases)
          let claims = try steps.claim(batch.requests, of: &call)
          return Outcome(
            claims: claims,
            places: try steps.complete(
              batch.finishing, at: postClock?.now().milliseconds, mayBeDone: call.mayBeDone))
        }
      } catch let error as PostgresError where error.isUniqueViolation && !isLast {
        // The name of a poster that another got at the same moment: it is there to be seen now.
      } catch {
        throw Failure(
          error: CatalogError.from(error, at: server),
          mayBeOfOne: (error as? PostgresError)?.mayBeOfOne ?? (error is CatalogError))
      }
    }
    throw Failure(error: .closed(at: server))
  }

  // MARK: For tasks

  func claim(_ request: ClaimRequest) async throws(CatalogError) -> PostgresPublishing.Answer {
    try await handIn { $0.claims.append((request, $1)) }
  }

  func complete(_ finishing: PostgresPublishing.Finishing) async throws(CatalogError)
    -> PostgresPublishing.Place
  {
    try await handIn { $0.completions.append((finishing, $1)) }
  }

  func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try await handIn { (group: inout Group, answer: @escaping Answer<Void>) in
      group.releases.append((intent, reason, answer))
    }
  }

  /// Waits until everything that was handed in before is committed.
  func flush() async throws(CatalogError) {
    try await handIn { (group: inout Group, answer: @escaping Answer<Void>) in group.flushes.append(answer) }
  }

  /// Hands `notes` in without waiting.
  func enqueue(_ notes: [CatalogNote]) {
    let isDue = state.withLock { state in
      if state.isClosed || state.pending.notes.count >= Self.mostNotes { return false }
      state.pending.notes += notes
      if state.isWriting || state.isFlushDue { return false }
      state.isFlushDue = true
      return true
    }
    if isDue { flushLater() }
  }

  /// Takes nothing in any more.
  func close() { state.withLock { $0.isClosed = true } }

  private func handIn<Value: Sendable>(
    _ add: @Sendable (inout Group, @escaping Answer<Value>) -> Void
  ) async throws(CatalogError) -> Value {
    let result: Result<Value, CatalogError> = await withCheckedContinuation { continuation in
      let (isTaken, isMine) = state.withLock { state in
        if state.isClosed { return (false, false) }
        add(&state.pending) { continuation.resume(returning: $0) }
        defer { state.isWriting = true }
        return (true, !state.isWriting)
      }
      if !isTaken { continuation.resume(returning: .failure(.closed(at: server))) }
      if isMine { thread.async { [self] in writePending() } }
    }
    return try result.get()
  }

  private func flushLater() {
    thread.asyncAfter(deadline: .now() + Self.patience) { [weak self] in
      guard let self else { return }
      let isDue = state.withLock { state in
        state.isFlushDue = false
        if state.isWriting || state.pending.isEmpty { return false }
        state.isWriting = true
        return true
      }
      if isDue { writePending() }
    }
  }

  /// Writes until nothing is pending.
  private func writePending() {
    while true {
      let group = state.withLock { state in
        let group = state.pending.take(Self.largestGroup)
        if group.isEmpty { state.isWriting = false }
        return group
      }
      if group.isEmpty { return }
      if !write(group) { return }
    }
  }

  /// False when only notes are left, which could not be written now.
  private func write(_ group: Group) -> Bool {
    let batch = Batch(
      notes: group.notes, releases: group.releases.map { ($0.intent, $0.reason) },
      requests: group.claims.map(\.request), finishing: group.completions.map(\.finishing))
    do throws(Failure) {
      let outcome = try carryOut(batch)
      for (one, result) in zip(group.claims, outcome.claims) { one.answer(result) }
      for (one, result) in zip(group.completions, outcome.places) { one.answer(result) }
      for one in group.releases { one.answer(.success(())) }
      for answer in group.flushes { answer(.success(())) }
      return true
    } catch {
      if group.awaited - group.flushes.count > 1, error.mayBeOfOne { return writeAlone(group) }
      let error = error.error
      for one in group.claims { one.answer(.failure(error)) }
      for one in group.completions { one.answer(.failure(error)) }
      for one in group.releases { one.answer(.failure(error)) }
      for answer in group.flushes { answer(.failure(error)) }
      return keep(group.notes)
    }
  }

  private func writeAlone(_ group: Group) -> Bool {
    var goesOn = true
    for one in group.releases { goesOn = write(Group(releases: [one])) }
    for one in group.claims { goesOn = write(Group(claims: [one])) }
    for one in group.completions { goesOn = write(Group(completions: [one])) }
    if !group.notes.isEmpty || !group.flushes.isEmpty {
      goesOn = write(Group(notes: group.notes, flushes: group.flushes))
    }
    return goesOn
  }

  /// Tries again a little later what nobody waits for, as long as it is little.
  private func keep(_ notes: [CatalogNote]) -> Bool {
    let goesOn = state.withLock { state in
      if !state.isClosed, state.pending.notes.count < Self.mostNotes {
        state.pending.notes.insert(contentsOf: notes, at: 0)
      }
      let goesOn = state.pending.isEmpty || state.pending.awaited > 0
      if !goesOn { (state.isWriting, state.isFlushDue) = (false, true) }
      return goesOn
    }
    if !goesOn { flushLater() }
    return goesOn
  }
}

extension PostgresWriter.Group {
  /// Takes the first `count` of each kind out; who waits for what was handed in before is answered with the last of it.
  fileprivate mutating func take(_ count: Int) -> Self {
    var taken = Self()
    taken.notes = Self.take(count * 4, of: &notes)
    taken.claims = Self.take(count, of: &claims)
    taken.releases = Self.take(count, of: &releases)
    taken.completions = Self.take(count, of: &completions)
    if notes.isEmpty, claims.isEmpty, releases.isEmpty, completions.isEmpty {
      swap(&taken.flushes, &flushes)
    }
    return taken
  }

  private static func take<Element>(_ count: Int, of elements: inout [Element]) -> [Element] {
    defer { elements.removeFirst(min(count, elements.count)) }
    return Array(elements.prefix(count))
  }
}
