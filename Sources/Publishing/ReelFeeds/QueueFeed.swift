import Dispatch
import ReelCore
import ReelIngest
import ReelPostgres
import ReelSource
import ReelValidation
import Synchronization

/// Hands a run the items of the queue, and records what becomes of them.
///
/// It holds no more items than it finishes within some seconds, so that the rest is shared with other workers, and
/// enough to keep every job busy.
package final class QueueFeed: FileFeed {
  private struct State {
    /// The items that are held.
    var items: [FeedTicket: TakenItem] = [:]
    /// The number of tickets handed out.
    var count = 0
    /// How many items ended recently, and when.
    var ended: [(at: ContinuousClock.Instant, count: Int)] = []
    /// The run's files that are in progress.
    var begun: Set<FeedTicket> = []
    /// The policies by name.
    var policies: [String: any IntakePolicy] = [:]
    var doubts = MachineDoubts()
    /// Whether a machine check is under way. All items may have ended by then, but only the check may settle the
    /// doubts.
    var isInDoubt = false
    var problem: (any ReelError)?
    /// The item being looked up, since when, and whether it was reported that its place does not answer.
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
  /// The queue on which the items in progress are recorded, in order.
  private let hands = DispatchQueue(label: "reel.work.hands")

  /// The code for items with a policy that can't be used on this machine.
  private static let policyUnknown = "policyUnknown"
  /// Items are held for about this much work ahead.
  private static let ahead = Duration.seconds(10)
  /// The longest wait for a notification about new items, and the longest without notifications, behind PgBouncer.
  private static let longestWait = (heard: Duration.seconds(60), unheard: Duration.seconds(10))

  /// - Parameters:
  ///   - staysForMore: whether to wait for more when the queue is empty; otherwise the run ends then.
  ///   - source: resolves the address of an item to the state that was enqueued, and to no other.
  ///   - allowed: what items may name.
  ///   - policy: loads a policy that items name.
  ///   - check: used when many files in a row have failed.
  ///   - patience: how long the lookup of an item may take before `tell` is called because its disk or its server does
  ///     not answer.
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

  /// Reports a lookup that takes long: it may last as long as a server is down, and nothing else is taken meanwhile.
  private func tellSilence(after patience: Duration, _ tell: (String) -> Void) {
    let item = state.withLock { state -> TakenItem? in
      guard let look = state.look, !look.isTold, .now - look.begun >= patience else { return nil }
      state.look?.isTold = true
      return look.item
    }
    guard let item else { return }
    tell(
      "\(item.address) (item \(item.id)) has not answered for \(patience.components.seconds) s, and no other item is taken "
        + "meanwhile: check its disk or its server; a signal ends the worker, which then gives back its items"
    )
  }

  /// Why no more items were taken; nil if nothing is wrong.
  package var fault: (any ReelError)? { state.withLock { $0.problem } }

  // MARK: Taking items

  /// Does nothing: no wait for the queue lasts longer than the interval at which `isOver` is checked.
  package func cancel() {}

  package func next(upTo count: Int, until isOver: () -> Bool) -> [FeedItem] {
    do throws(CatalogError) {
      while !isOver(), fault == nil {
        // What has ended already is in the room that is looked at next.
        while endings.wait(timeout: .now()) == .success {}
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

  /// Returns the items whose policies are known here, and fails the others for now, because no one can say whether they
  /// may be published.
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
        // A failure of the database is not the item's.
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

  /// Every item was enqueued on purpose, so a missing file is a failure.
  package var expectsFiles: Bool { true }

  /// A file that is tried again has not failed yet; it is counted when it ends.
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

  /// Stops taking items. Only the first problem is reported.
  private func end(by problem: any ReelError) {
    state.withLock { $0.problem = $0.problem ?? problem }
  }

  /// Settles the doubts once no item is left that could: the failures that may be this machine's become those of their
  /// items. Returns false while a machine check is under way.
  private func settle() throws(CatalogError) -> Bool {
    let outcomes: [ItemOutcome]? = state.withLock { state in
      if state.isInDoubt { return nil }
      return state.items.isEmpty ? state.doubts.take() : []
    }
    guard let outcomes else { return false }
    try worker.finish(outcomes)
    return true
  }

  /// How many more items to take; 0 unless that is worth a transaction.
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

  /// Waits until there may be something to take. Items that other workers hold can become free without a notification.
  private func wait(_ isOver: () -> Bool) throws(CatalogError) {
    let held = state.withLock { $0.items.count }
    if held > 0 {
      // When the last item ends, the queue may be empty.
      listener.wait(atMost: .seconds(1)) { isOver() || state.withLock { $0.items.count } != held }
      return
    }
    while !isOver() {
      // Randomized, so that many waiting workers do not look at the same time.
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
          // If links are not followed, the path itself says where the file is.
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

  /// Resolves the item's address.
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

  // MARK: Recording results

  /// Records what `events` say about items. They are already true: the post of a published item is durable. Blocks.
  package func note(_ events: [IngestEvent]) throws(CatalogError) {
    var (outcomes, delivered): ([ItemOutcome], [Int]) = ([], [])
    var ended = 0
    // Not between the list of what is begun and its record: what ends now would be recorded as begun after its end.
    let inDoubt = hands.sync {
      state.withLock { state -> MachineDoubts? in
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

  /// Checks the machine after many failures in a row, and returns the outcomes to record. Blocks while it checks.
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
