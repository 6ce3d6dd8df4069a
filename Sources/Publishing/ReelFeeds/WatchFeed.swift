import FoundationEssentials
import Glibc
import ReelCore
import ReelIngest
import ReelSource
import Synchronization

/// Hands a run the files of watched folders once they are settled, and sees to what becomes of them afterwards.
package final class WatchFeed: FileFeed {
  /// What becomes of a file that was dealt with.
  package struct Disposals: Sendable {
    /// Of one that became a post, or was one.
    package let after: FileDisposal.Kind
    /// Of one that did not, and never will.
    package let reject: FileDisposal.Kind
    /// Whether sidecars say who the author is.
    let trustsSidecars: Bool
    /// Those that files go to.
    let folders: FileDisposal.Folders

    package init(
      after: FileDisposal.Kind, reject: FileDisposal.Kind, trustsSidecars: Bool, folders: FileDisposal.Folders
    ) {
      (self.after, self.reject, self.trustsSidecars, self.folders) = (after, reject, trustsSidecars, folders)
    }
  }

  private struct State {
    /// What the watches are to be told, by whoever can't wait for them.
    var changes: [(watch: Int, change: @Sendable (inout FolderWatch) -> Void)] = []
    /// What is measured, as of the last look.
    var numbers: WatchNumbers
    /// Whether everything that was there at the beginning has been looked at, as of the last look.
    var hasListed = false
    /// What they have found, and nobody has looked at yet.
    var found: [(watch: Int, finding: FolderWatch.Finding)] = []
    /// What is under way.
    var taken: [FeedTicket: Taken] = [:]
    /// Tickets that were handed out.
    var count = 0
    var postponements = Postponements()
    /// Files that take long to read, each with a turn of its own.
    var slow: SlowFiles
    var tell: @Sendable ([WatchNotice]) -> Void = { _ in }
    /// To be told when the run has begun.
    var announced: WatchNotice?
    /// Which watch is being looked at, since when, and whether it was told that its folder does not answer.
    var look: (watch: Int, begun: ContinuousClock.Instant, isSilent: Bool)?
    /// From when on the run is to be over, and no file is disposed of any more.
    var end: ContinuousClock.Instant?
    private var isListed = false

    func taken(of file: FileReference) -> Taken? { file.ticket.flatMap { taken[$0] } }

    init(_ numbers: WatchNumbers, jobs: Int) {
      self.numbers = numbers
      slow = SlowFiles(jobs: jobs)
    }

    /// Whether everything that was there at the beginning has been looked at; true once.
    mutating func isNewlyListed() -> Bool {
      guard !isListed, hasListed else { return false }
      isListed = true
      return true
    }
  }
  private struct Taken {
    let watch: Int
    let file: FoundFile
    let settled: FolderWatch.Settled
    let sidecar: FileDisposal.SidecarState
    /// Whether somebody may not be done with that.
    let isSidecarNew: Bool
    /// Whether its reading may take as long as it takes.
    let hasTurn: Bool
  }

  /// Held for as long as a look takes, which a disk or a network may make long: only ``withWatches(_:)`` waits for it, and
  /// only who hands out files calls that.
  private let watches: Mutex<[FolderWatch]>
  /// Never held for long.
  private let state: Mutex<State>
  /// Of the folders that are watched.
  private let paths: [SourcePath]
  private let disposals: Disposals
  private let secondLook: Duration
  private let services: IngestServices
  private let onStep: @Sendable (FileDisposal.Step) -> Void
  private let onListed: @Sendable () -> Void
  private let cancellation = CancellationFlag()
  private let isDraining = Atomic(false)
  /// Wakes who waits for something to do.
  private let alarm: Alarm
  private let blocking = BlockingQueue(label: "reel.watch.disposal", width: 1)
  private let start = ContinuousClock.now

  /// - Parameters:
  ///   - patience: how long a look at a folder may take before it is told that it does not answer.
  ///   - onStep: called after each step of what becomes of a file.
  ///   - onListed: called once, when everything that was there at the beginning has been looked at.
  /// - Throws: `tooManyOpenFiles`.
  package init(
    _ watches: [FolderWatch], disposals: Disposals, secondLook: Duration, jobs: Int, services: IngestServices,
    patience: Duration = .seconds(30),
    onStep: @escaping @Sendable (FileDisposal.Step) -> Void = { _ in },
    onListed: @escaping @Sendable () -> Void
  ) throws(SourceError) {
    state = Mutex(State(WatchNumbers(watches), jobs: jobs))
    self.watches = Mutex(watches)
    paths = watches.map(\.path)
    (self.disposals, self.secondLook, self.services) = (disposals, secondLook, services)
    (self.onStep, self.onListed) = (onStep, onListed)
    guard let alarm = Alarm() else {
      throw SourceError(.tooManyOpenFiles, "too many files are open; raise the limit (ulimit -n)")
    }
    self.alarm = alarm
    // Nothing of a run is held by who only looks on: what it holds is given back when it ends.
    Task { [weak self] in
      while self?.tellSilence(after: patience) == true { try? await Task.sleep(for: patience / 4) }
    }
  }

  /// From now on what is worth knowing is told to `tell`.
  package func begin(telling tell: @escaping @Sendable ([WatchNotice]) -> Void) {
    state.withLock { $0.tell = tell }
  }

  /// Has it told of the first folder once the run has begun.
  package func announce(_ code: WatchNotice.Code, _ message: String) {
    let notice = paths.first.map { WatchNotice(path: $0, code: code, message: message) }
    state.withLock { $0.announced = notice }
  }

  /// Whether there is nothing to be told.
  package var hasAnnounced: Bool { state.withLock { $0.announced == nil } }

  /// What is to be measured.
  package var numbers: WatchNumbers {
    // While a look is on, those of the one before.
    _ = watches.withLockIfAvailable { use(&$0) { _ in } }
    return state.withLock { state in
      var numbers = state.numbers
      if let look = state.look, look.isSilent { numbers.folders[look.watch].isThere = false }
      return numbers
    }
  }

  /// - Parameter body: may take as long as a disk or a network does.
  private func withWatches<Value: Sendable>(_ body: (inout [FolderWatch]) -> Value) -> Value {
    watches.withLock { use(&$0, body) }
  }

  /// Tells the watches what they are to be told, and has `body` use them.
  private func use<Value: Sendable>(
    _ watches: inout [FolderWatch], _ body: (inout [FolderWatch]) -> Value
  ) -> Value {
    let changes = state.withLock { state in
      defer { state.changes = [] }
      return state.changes
    }
    for (watch, change) in changes { change(&watches[watch]) }
    let value = body(&watches)
    let hasListed = watches.allSatisfy { $0.isListed || !$0.isThere }
    let numbers = WatchNumbers(watches)
    state.withLock { ($0.numbers, $0.hasListed) = (numbers, hasListed) }
    return value
  }

  // MARK: Handing out

  package func begin(_ files: [FileReference]) {}

  package var isEndless: Bool { true }

  package func setsAside(_ file: FileReference) -> Bool {
    state.withLock { state in
      guard let taken = state.taken(of: file), !taken.file.isRemote, !taken.hasTurn else {
        return false
      }
      state.slow.add(taken.file, taken.settled, of: taken.watch)
      return true
    }
  }

  package func awaitsMore(of file: FileReference) -> Bool {
    state.withLock { state in
      guard let taken = state.taken(of: file) else { return false }
      return taken.settled.rest < secondLook && !taken.file.isRemote
    }
  }

  package func postpones(_ file: FileReference, after failure: FileFailure) -> Bool {
    if failure.isOfMissingBytes, awaitsMore(of: file) { return true }
    return state.withLock { state in
      guard let taken = state.taken(of: file) else { return false }
      if state.slow.isWaiting(taken.file.path) || failure.isOfSidecar && taken.isSidecarNew { return true }
      if failure.isCancellation || failure.chance(of: file.path) != .none { return true }
      return failure.mayBeOfABusyMachine && !state.postponements.isHopeless(file.path)
    }
  }

  /// Hands out nothing more: the run ends when what is under way has ended.
  package func drain() {
    isDraining.store(true, ordering: .relaxed)
    alarm.ring()
  }

  package func cancel() {
    cancellation.set()
    state.withLock { $0.end = $0.end ?? .now + Self.farewell }
    alarm.ring()
  }

  package func next(upTo count: Int, until isOver: () -> Bool) -> [FeedItem] {
    if let notice = state.withLock({ $0.announced.take() }) { tell(notice) }
    while !isOver(), !cancellation.isSet, !isDraining.load(ordering: .relaxed) {
      let isFound = look(upTo: count)
      let items = takeFound() + takeSlow()
      if !items.isEmpty { return items }
      if state.withLock({ $0.isNewlyListed() }) { onListed() }
      if !isFound {
        FolderWatch.wait(
          for: withWatches { $0 }, or: alarm.descriptor, at: now, atMost: .seconds(2))
        alarm.clear()
      }
    }
    return []
  }

  /// Whether there is anything to be looked at.
  private func look(upTo count: Int) -> Bool {
    guard state.withLock({ $0.found.isEmpty }) else { return true }
    let found = withWatches { watches in
      watches.indices.flatMap { index in
        // A list of a bucket ends by itself, and says why.
        if !watches[index].isRemote { state.withLock { $0.look = (index, .now, false) } }
        defer { endLook() }
        return watches[index].next(upTo: count, at: now, Date()).map { (watch: index, finding: $0) }
      }
    }
    state.withLock { $0.found = found }
    return !found.isEmpty
  }

  /// Tells the two notices of a folder in their order.
  private let silence = Mutex(())

  private func endLook() {
    silence.withLock { _ in
      let ended = state.withLock { $0.look.take() }
      guard let ended, ended.isSilent else { return }
      tell(WatchNotice(path: paths[ended.watch], code: .folderBack, message: "it answers again"))
    }
  }

  /// A server that is away may keep a look for as long as it is, and all other folders wait for that.
  /// - Returns: whether there may be more of that.
  private func tellSilence(after patience: Duration) -> Bool {
    silence.withLock { _ in
      let watch = state.withLock { state -> Int? in
        guard let look = state.look, !look.isSilent, .now - look.begun >= patience else { return nil }
        state.look?.isSilent = true
        return look.watch
      }
      guard let watch else { return }
      let others = paths.count > 1 ? ", and nothing else is watched meanwhile" : ""
      tell(
        WatchNotice(
          path: paths[watch], code: .folderGone,
          message:
            "it has not answered for \(patience.components.seconds) s: Reel waits for it\(others); see whether its disk or its server is there"
        ))
    }
    return !cancellation.isSet
  }

  private func takeFound() -> [FeedItem] {
    state.withLock { state in
      defer { state.found = [] }
      return state.found
    }.compactMap { take($0.finding, of: $0.watch) }
  }

  /// The next of those that take long to read, if it is its turn and it is as it was.
  private func takeSlow() -> [FeedItem] {
    while let next = state.withLock({ $0.slow.next() }) {
      let file = withWatches { $0[next.watch].find(next.path) }
      if let file, file.identity == next.identity {
        return [handOut(file, of: next.watch, next.settled, hasTurn: true)]
      }
      // It has gone, or comes as what it is now.
      state.withLock { $0.slow.end(next.path) }
    }
    return []
  }

  private var now: Duration { start.duration(to: .now) }

  /// What a run is to take in of it, if anything.
  private func take(_ finding: FolderWatch.Finding, of watch: Int) -> FeedItem? {
    switch finding {
    case .notice(let notice):
      tell(WatchNotice(notice, of: paths[watch]))
      return nil
    case .failed(let path, let error):
      return FeedItem(.failed(path, error))
    case .open(let path):
      tell(
        WatchNotice(
          path: path, code: .stillOpen,
          message:
            "it has not changed for a while, but another program has it open for writing; it is ingested when that closes it"
        ))
      return nil
    case .file(let file, let settled):
      if settled.isSparse {
        state.withLock { $0.slow.add(file, settled, of: watch) }
        return nil
      }
      return handOut(file, of: watch, settled, hasTurn: false)
    }
  }

  private func handOut(
    _ file: FoundFile, of watch: Int, _ settled: FolderWatch.Settled, hasTurn: Bool
  ) -> FeedItem {
    let sidecar = FileDisposal.SidecarState(beside: file)
    let taken = Taken(
      watch: watch, file: file, settled: settled, sidecar: sidecar,
      isSidecarNew: sidecar.isNew(within: secondLook, at: Date()), hasTurn: hasTurn)
    return state.withLock { state in
      state.count += 1
      let ticket = FeedTicket(state.count)
      state.taken[ticket] = taken
      return FeedItem(.candidate(file), ticket: ticket)
    }
  }

  // MARK: What becomes of them

  /// How long a run that is to end goes on disposing of files, of which thousands may wait for it.
  private static let farewell = Duration.seconds(5)

  /// Sees to the files that `events` tell the end of. What they tell is true already: a post is durable, and its object
  /// verified.
  package func note(_ events: [IngestEvent]) async {
    for event in events {
      guard let ticket = event.body.file?.ticket, let result = PublishResult(event.body),
        let taken = state.withLock({ $0.taken.removeValue(forKey: ticket) })
      else { continue }
      let file = taken.file
      if taken.hasTurn { endTurn(of: file) }
      switch result {
      case .published:
        state.withLock { $0.postponements.storeWorks() }
        await dispose(of: taken, disposals.after, because: nil)
      case .duplicate(let post): await settle(taken, asPost: post)
      case .removed(let removed): await reject(taken, "removed", removed.explanation)
      case .refused(let refusal): await reject(taken, refusal.code.rawValue, refusal.message)
      case .failed(let failure) where failure.isSourceChanged: changed(taken)
      case .failed where !taken.hasTurn && state.withLock({ $0.slow.isWaiting(file.path) }): alarm.ring()
      case .failed(let failure)
      where failure.isOfMissingBytes && taken.settled.rest < secondLook && !file.isRemote:
        looksCutOff(taken)
      case .failed(let failure) where failure.isOfSidecar && !file.isRemote:
        if taken.isSidecarNew {
          retry(taken, because: failure)
        } else {
          await reject(taken, failure.code.rawValue, failure.message)
        }
        let now = now
        change(taken.watch) { $0.hasInvalidSidecar(file, taken.sidecar, at: now) }
        alarm.ring()
      case .failed(let failure):
        switch failure.chance(of: file.path) {
        case .none:
          if failure.mayBeOfABusyMachine, !state.withLock({ $0.postponements.isHopeless(file.path) }) {
            retry(taken, because: failure)
          } else {
            await reject(taken, failure.code.rawValue, failure.message)
          }
        case .later: retry(taken, because: failure)
        // The run ends: the next one meets it again.
        case .elsewhere: break
        }
      case .planned, .cancelled: break
      }
    }
  }

  private func endTurn(of file: FoundFile) {
    state.withLock { $0.slow.end(file.path) }
    alarm.ring()
  }

  /// More of it may be on its way: it is given again when it has been left alone for longer.
  private func looksCutOff(_ taken: Taken) {
    let (file, settled, now) = (taken.file, taken.settled, now)
    change(taken.watch) { $0.looksCutOff(file, settled, at: now) }
    alarm.ring()
    tell(
      WatchNotice(
        path: file.path, code: .looksCutOff, message: "it looks cut off; it will be checked again later"))
  }

  /// It was a post before: what is to be taken away must not be all that there is of it.
  private func settle(_ taken: Taken, asPost post: Post?) async {
    let file = taken.file
    guard disposals.after != .keep else { return forget(file) }
    guard let post else { return forget(file) }
    do throws(UploadError) {
      let object = try await services.uploader.find(post.video)
      guard let object, post.size.map({ $0 == object.size }) ?? true else {
        tell(
          WatchNotice(
            path: file.path, code: .notDisposed,
            message:
              "it is published, but its object is missing from the store, so the file stays; put the object back with reel doctor --fix --from and this folder"
          ))
        return forget(file)
      }
    } catch {
      return retry(taken, because: FileFailure(error))
    }
    await dispose(of: taken, disposals.after, because: nil)
  }

  private func reject(_ taken: Taken, _ code: String, _ message: String) async {
    await dispose(
      of: taken, disposals.reject,
      because: SanitizedText.terminal("\(taken.file.path): \(message) [\(code)]") + "\n")
  }

  private func dispose(
    of taken: Taken, _ kind: FileDisposal.Kind, because reason: String?
  ) async {
    let (file, watch) = (taken.file, taken.watch)
    // What is left is met again by the next start.
    guard kind != .keep, state.withLock({ $0.end.map { .now < $0 } ?? true }) else { return forget(file) }
    guard taken.settled.closing != .unknown else {
      tell(
        WatchNotice(
          path: file.path, code: .notDisposed,
          message:
            "it stays: nobody can tell whether its writer is done with it, as \(file.isOnSharedSystem ? "its file system does not say" : "it is another user's, and was not seen being closed"); move it yourself, or say --presume-closed"
        ))
      return forget(file)
    }
    if taken.settled.hasHoles, kind == .delete {
      tell(
        WatchNotice(
          path: file.path, code: .notDisposed,
          message:
            "it stays: parts of it were never written, and nobody can tell whether they are still to come; delete it yourself, or say --after move:FOLDER"
        ))
      return forget(file)
    }
    let (trusts, folders) = (disposals.trustsSidecars, disposals.folders)
    let result = await blocking.run { [cancellation, onStep] in
      Result { () throws(SourceError) in
        try FileDisposal(kind, sidecarFirst: reason == nil && !trusts, folders: folders, onStep: onStep)
          .apply(to: file, reason: reason, sidecar: taken.sidecar, cancellation: cancellation)
      }
    }
    switch result {
    // It lies where it is to go.
    case .success(file.path): forget(file)
    case .success(let place):
      change(watch) { $0.left(file.path) }
      forget(file)
      let message = place.map { "it is \($0) now" } ?? "it was removed"
      tell(WatchNotice(path: file.path, code: reason == nil ? .disposed : .rejected, message: message))
    case .failure(let error):
      switch error.code {
      case .sourceChanged: changed(taken)
      case .isLink:
        tell(WatchNotice(path: file.path, code: .notDisposed, message: services.worded(error.text)))
        forget(file)
      case .notFound where file.path.withCString({ access($0, F_OK) }) != 0:
        change(watch) { $0.left(file.path) }
        forget(file)
      default:
        // Each further try that fails says the same.
        if state.withLock({ $0.postponements.isNew(file.path) }) {
          tell(WatchNotice(path: file.path, code: .notDisposed, message: services.worded(error.text)))
        }
        retry(taken)
      }
    }
  }

  private func forget(_ file: FoundFile) { state.withLock { $0.postponements.forget(file.path) } }

  /// Has a watch told of something before it looks again.
  private func change(_ watch: Int, _ change: @escaping @Sendable (inout FolderWatch) -> Void) {
    state.withLock { $0.changes.append((watch, change)) }
  }

  /// It is given again once it has rested.
  private func changed(_ taken: Taken) {
    let (file, settled, now) = (taken.file, taken.settled, now)
    change(taken.watch) { $0.changed(file, settled, at: now) }
    let message = state.withLock { $0.postponements.changed(file.path, at: now) }
    alarm.ring()
    if let message { tell(WatchNotice(path: file.path, code: .postponed, message: message)) }
  }

  /// - Parameter failure: why, unless that was told.
  private func retry(_ taken: Taken, because failure: FileFailure? = nil) {
    let (file, settled, now) = (taken.file, taken.settled, now)
    let told = failure?.worded(services.worded)
    let (delay, message) = state.withLock { $0.postponements.failed(file.path, told, at: now) }
    change(taken.watch) { $0.retry(file, settled, after: delay, at: now) }
    // It is waited for with another deadline than before.
    alarm.ring()
    if let message { tell(WatchNotice(path: file.path, code: .postponed, message: message)) }
  }

  private func tell(_ notice: WatchNotice) {
    let tell = state.withLock { $0.tell }
    tell([notice])
  }
}

extension FileFailure {
  /// Whether it is put right by another sidecar.
  fileprivate var isOfSidecar: Bool { code == .source(.sidecarInvalid) }
}

/// A descriptor that becomes readable when somebody says so.
private struct Alarm {
  private let reading, writing: Descriptor

  /// Nil where the process has no descriptors left.
  init?() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (reading, writing) = (Descriptor(adopting: ends[0]), Descriptor(adopting: ends[1]))
  }

  var descriptor: Int32 { reading.rawValue }

  func ring() { _ = write(writing.rawValue, [1], 1) }

  func clear() {
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(reading.rawValue, &bytes, bytes.count) > 0 {}
  }
}

extension WatchNumbers {
  fileprivate init(_ watches: [FolderWatch]) {
    self.init(
      waiting: watches.reduce(0) { $0 + $1.waiting }, folders: watches.map { ($0.path.text, $0.isThere) })
  }
}

extension WatchNotice {
  init(_ notice: FolderWatch.Notice, of path: SourcePath) {
    switch notice {
    case .gone:
      self.init(
        path: path, code: .folderGone,
        message: "it is gone, and Reel waits for it to come back: mount it, or make it again")
    case .back: self.init(path: path, code: .folderBack, message: "it is back, and is being watched")
    case .polled(let reason):
      self.init(path: path, code: .polled, message: "it is listed at intervals instead of watched: \(reason)")
    case .overflowed:
      self.init(
        path: path, code: .overflowed,
        message: "there were more changes than the system could report; everything is checked again")
    }
  }
}
