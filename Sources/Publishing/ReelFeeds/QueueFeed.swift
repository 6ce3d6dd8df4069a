import Dispatch
import ReelCore
import ReelIngest
import ReelPostgres
import ReelSource
import ReelValidation
import Synchronization

/// Hands a run the items of the queue, and writes down what becomes of them.
///
/// It holds no more than it ends in some seconds, so that what is left is shared with others, and enough to keep every job
/// at work.
package final class QueueFeed: FileFeed {
  private struct State {
    /// What is held.
    var items: [FeedTicket: TakenItem] = [:]
    /// Tickets that were handed out.
    var count = 0
    /// Items that ended lately, and when.
    var ended: [(at: ContinuousClock.Instant, count: Int)] = []
    /// The files of the run that are being worked on.
    var begun: Set<FeedTicket> = []
    /// By their names.
    var policies: [String: any IntakePolicy] = [:]
    var doubts = MachineDoubts()
    /// Whether it is being found out whose fault failures are: nothing is held by then, and nobody else may say so.
    var isInDoubt = false
    var problem: (any ReelError)?
    /// Which item is being looked at, since when, and whether it was told that its place does not answer.
    var look: (item: TakenItem, begun: ContinuousClock.Instant, isTold: Bool)?
  }

  private let worker: QueueWorker
  private let listener: QueueListener
  private let policy: @Sendable (String) throws -> any IntakePolicy
  private let source: @Sendable (TakenItem) async throws(SourceError) -> SourceInput
  private let allowed: AllowedSources
  private let check: MachineCheck
  private let walk: WalkOptions
  private let jobs: Int
  private let staysForMore: Bool
  private let state = Mutex(State())
  private let endings = DispatchSemaphore(value: 0)
  /// Where it is written down, in order, what is being worked on.
  private let hands = DispatchQueue(label: "reel.work.hands")

  /// Of items that name a policy which can't be used on this machine.
  private static let policyUnknown = "policyUnknown"
  /// For how long work is held ahead.
  private static let ahead = Duration.seconds(10)
  /// How long it waits for word of something to take, at most, and where nobody hears any, behind PgBouncer.
  private static let longestWait = (heard: Duration.seconds(60), unheard: Duration.seconds(10))

  /// - Parameters:
  ///   - staysForMore: whether to wait for more when the queue is empty; else its end is the run's.
  ///   - source: what the address of an item stands for: the state that was enqueued, and no other.
  ///   - allowed: what items may name.
  ///   - policy: a policy that items name.
  ///   - check: asked when many files in a row have failed.
  ///   - patience: how long a look at an item may take before `tell` is told that its disk or its server does not answer.
  package init(
    _ worker: QueueWorker, listener: QueueListener, jobs: Int, staysForMore: Bool, walk: WalkOptions,
    allowed: AllowedSources, check: MachineCheck, patience: Duration = .seconds(30),
    tell: @escaping @Sendable (String) -> Void = { _ in },
    policy: @escaping @Sendable (String) throws -> any IntakePolicy,
    source: @escaping @Sendable (TakenItem) async throws(SourceError) -> SourceInput
  ) {
    (self.allowed, self.check, self.policy) = (allowed, check, policy)
    (self.worker, self.listener, self.jobs, self.staysForMore) = (worker, listener, jobs, staysForMore)
    var walk = walk
    walk.entersFolders = false
    (self.walk, self.source) = (walk, source)
    Task { [weak self] in
      while self?.tellSilence(after: patience, tell) != nil { try? await Task.sleep(for: patience / 4) }
    }
  }

  /// A server that is away may keep a look for as long as it is, and nothing else is taken meanwhile.
  private func tellSilence(after patience: Duration, _ tell: (String) -> Void) {
    let item = state.withLock { state -> TakenItem? in
      guard let look = state.look, !look.isTold, .now - look.begun >= patience else { return nil }
      state.look?.isTold = true
      return look.item
    }
    guard let item else { return }
    tell(
      "\(item.address) (item \(item.id)) has not answered for \(patience.components.seconds) s, and nothing else is taken "
        + "meanwhile: see whether its disk or its server is there; a signal ends the worker, and gives back what it holds"
    )
  }

  /// Why nothing more was taken; nil where nothing is wrong.
  package var fault: (any ReelError)? { state.withLock { $0.problem } }

  // MARK: Taking

  /// Nothing to do: no wait for the queue is longer than it takes to ask `isOver` again.
  package func cancel() {}

  package func next(upTo count: Int, until isOver: () -> Bool) -> [FeedItem] {
    do throws(CatalogError) {
      while !isOver(), fault == nil {
        let room = room()
        if room == 0 {
          _ = endings.wait(timeout: .now() + .milliseconds(250))
          continue
        }
        let taken = try worker.take(upTo: min(count, room))
        let ready = try refusing(taken)
        if !ready.isEmpty { return ready.map { FeedItem(found($0), ticket: ticket(for: $0)) } }
        if !taken.isEmpty { continue }
        guard try settle() else {
          _ = endings.wait(timeout: .now() + .milliseconds(250))
          continue
        }
        if try isDone() { return [] }
        try wait(isOver)
      }
    } catch {
      end(by: error)
    }
    return []
  }

  /// Those whose policies are known here. Of the others nobody can say whether they may be published.
  private func refusing(_ taken: [TakenItem]) throws(CatalogError) -> [TakenItem] {
    var (ready, outcomes): ([TakenItem], [ItemOutcome]) = ([], [])
    for item in taken {
      guard let name = item.policy, state.withLock({ $0.policies[name] == nil }) else {
        ready.append(item)
        continue
      }
      do {
        let policy = try policy(name)
        state.withLock { $0.policies[name] = policy }
        ready.append(item)
      } catch let error as CatalogError {
        // The database's trouble is none of the item's.
        throw error
      } catch {
        outcomes.append(
          ItemOutcome(
            item.id,
            .failedForNow(
              code: Self.policyUnknown, message: (error as? PolicyError)?.sentence ?? "\(error)")))
      }
    }
    try worker.finish(outcomes)
    return ready
  }

  /// What is tried again is no failed file yet: it is counted when it ends.
  package var expectsFiles: Bool { true }

  package func postpones(_ file: FileReference, after failure: FileFailure) -> Bool {
    guard let item = file.ticket.flatMap({ ticket in state.withLock { $0.items[ticket] } }) else {
      return false
    }
    guard case .failedForNow = PublishResult.failed(failure).ending(of: item) else { return false }
    return worker.hasTriesLeft(item)
  }

  package func wishes(for file: FileReference) -> FileWishes {
    state.withLock { state in
      guard let item = file.ticket.flatMap({ state.items[$0] }) else { return FileWishes() }
      return FileWishes(author: item.author, policy: item.policy.flatMap { state.policies[$0] })
    }
  }

  package func begin(_ files: [FileReference]) {
    hands.sync {
      let items = state.withLock { state in
        state.begun.formUnion(files.compactMap(\.ticket))
        return state.begun.compactMap { state.items[$0]?.id }
      }
      do throws(CatalogError) {
        try worker.begin(items)
      } catch {
        end(by: error)
      }
    }
  }

  /// Nothing more is taken. What came first is told.
  private func end(by problem: any ReelError) {
    state.withLock { $0.problem = $0.problem ?? problem }
  }

  /// There is nothing else to go by: what failed, and may have failed because of this machine, failed. False where there
  /// soon is something.
  private func settle() throws(CatalogError) -> Bool {
    let outcomes: [ItemOutcome]? = state.withLock { state in
      if state.isInDoubt { return nil }
      return state.items.isEmpty ? state.doubts.take() : []
    }
    guard let outcomes else { return false }
    try worker.finish(outcomes)
    return true
  }

  /// How many more to take; 0 unless it is worth a transaction.
  private func room() -> Int {
    state.withLock { state in
      let now = ContinuousClock.now
      state.ended.removeAll { now - $0.at > Self.ahead }
      let lately = state.ended.reduce(0) { $0 + $1.count }
      let most = min(max(2 * jobs, lately), 32 * jobs)
      let room = most - state.items.count
      return room >= max(1, most / 4) ? room : 0
    }
  }

  private func isDone() throws(CatalogError) -> Bool {
    guard !staysForMore, state.withLock({ $0.items.isEmpty }) else { return false }
    return try worker.isQueueEmpty()
  }

  /// Until something may have come. What others hold may be free again without anybody saying so.
  private func wait(_ isOver: () -> Bool) throws(CatalogError) {
    let held = state.withLock { $0.items.count }
    if held > 0 {
      // The end of the last one may be the end of all.
      listener.wait(atMost: .seconds(1)) { isOver() || state.withLock { $0.items.count } != held }
      return
    }
    while !isOver() {
      // Many who wait don't look at the same time.
      let longest = listener.isListening ? Self.longestWait.heard : Self.longestWait.unheard
      let limit = staysForMore ? longest * Double.random(in: 0.5...1) : .seconds(2)
      listener.wait(atMost: limit, until: isOver)
      guard staysForMore else { return }
      if try listener.isAnythingWaiting(for: worker) { return }
    }
  }

  private func ticket(for item: TakenItem) -> FeedTicket {
    state.withLock { state in
      state.count += 1
      let ticket = FeedTicket(state.count)
      state.items[ticket] = item
      return ticket
    }
  }

  private func found(_ item: TakenItem) -> WalkItem {
    state.withLock { $0.look = (item, .now, false) }
    defer { state.withLock { $0.look = nil } }
    do throws(SourceError) {
      try allowed.check(item.address)
      for found in SourceWalk(inputs: [try input(item)], options: walk).next(upTo: 2) {
        switch found {
        case .candidate(let file):
          // Where no link is followed, its path says where it lies.
          if walk.followLinks { try allowed.check(file) }
          return found
        case .failed: return found
        case .ignored, .orphanSidecar, .leftAlone: continue
        }
      }
      return .failed(item.address, SourceError(.notFound, "there is no such file"))
    } catch {
      return .failed(item.address, error)
    }
  }

  /// What the item's address stands for.
  private func input(_ item: TakenItem) throws(SourceError) -> SourceInput {
    guard item.address.isAddress else { return SourceInput(path: item.address) }
    let call = BlockingCall { [source] () async -> Result<SourceInput, SourceError> in
      do throws(SourceError) {
        return .success(try await source(item))
      } catch {
        return .failure(error)
      }
    }
    guard let input = call.wait() else { throw SourceError(.unreadable, "its store can't be reached") }
    return try input.get()
  }

  // MARK: What becomes of them

  /// Writes down what `events` say of items. What they tell is true already: a post that an item became is durable.
  /// Blocks.
  package func note(_ events: [IngestEvent]) throws(CatalogError) {
    var (outcomes, delivered): ([ItemOutcome], [Int]) = ([], [])
    var ended = 0
    let inDoubt = state.withLock { state -> MachineDoubts? in
      for event in events {
        guard let ticket = event.body.file?.ticket, let result = PublishResult(event.body),
          let item = state.items.removeValue(forKey: ticket)
        else { continue }
        state.begun.remove(ticket)
        ended += 1
        if case .published(let post) = result, let page = post.pageNumber { delivered.append(page) }
        outcomes += state.doubts.note(result, of: item)
      }
      if ended > 0 { state.ended.append((.now, ended)) }
      state.isInDoubt = state.doubts.isToBeSettled
      return state.isInDoubt ? state.doubts : nil
    }
    if let inDoubt { outcomes += settle(inDoubt) }
    do throws(CatalogError) {
      try worker.finish(outcomes, delivered: delivered)
    } catch {
      end(by: error)
      throw error
    }
    if ended > 0 { endings.signal() }
  }

  /// What is to be written down once there are many failures in a row. Blocks for as long as it takes to find out.
  private func settle(_ inDoubt: MachineDoubts) -> [ItemOutcome] {
    var doubts = inDoubt
    let outcomes = doubts.settle(check)
    state.withLock { [doubts] state in
      (state.doubts, state.isInDoubt) = (doubts, false)
      if let sentence = doubts.sentence, state.problem == nil {
        state.problem = MachineFault(message: sentence)
      }
    }
    return outcomes
  }
}
