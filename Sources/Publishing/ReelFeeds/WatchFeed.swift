import Dispatch
import FoundationEssentials
import Glibc
import ReelCore
import ReelIngest
import ReelSource
import Synchronization

/// Hands a run the files of watched folders once they have settled, and moves or removes them afterwards.
package final class WatchFeed: FileFeed {
  /// What to do with files that are done.
  package struct Disposals: Sendable {
    /// For a file that became a post, or already was one.
    package let after: FileDisposal.Kind
    /// For a file that did not become a post, and never will.
    package let reject: FileDisposal.Kind
    /// Whether sidecars may name the author.
    let trustsSidecars: Bool
    /// The folders that files are moved to.
    let folders: FileDisposal.Folders

    package init(
      after: FileDisposal.Kind, reject: FileDisposal.Kind, trustsSidecars: Bool, folders: FileDisposal.Folders
    ) {
      (self.after, self.reject, self.trustsSidecars, self.folders) = (after, reject, trustsSidecars, folders)
    }
  }

  private struct State {
    /// Changes to apply to the watches, from callers that can't wait for them.
    var changes: [(watch: Int, change: @Sendable (inout FolderWatch) -> Void)] = []
    /// The standing of each folder as of its last look.
    var standings: [Standing]
    /// What the looks have found and no run has taken yet.
    var found: [FeedItem] = []
    /// The files in progress.
    var taken: [FeedTicket: Taken] = [:]
    /// The number of tickets handed out.
    var count = 0
    var postponements = Postponements()
    /// Files that take long to read, which wait for a turn.
    var slow: SlowFiles
    var tell: @Sendable ([WatchNotice]) -> Void = { _ in }
    /// A notice to emit once the run has begun.
    var announced: WatchNotice?
    /// The looks under way, by watch.
    var looks: [Int: Look] = [:]
    /// When the run must be over; after that, no more files are moved or removed.
    var end: ContinuousClock.Instant?
    private var isListed = false

    func taken(of file: FileReference) -> Taken? { file.ticket.flatMap { taken[$0] } }

    init(_ standings: [Standing], jobs: Int) {
      self.standings = standings
      slow = SlowFiles(jobs: jobs)
    }

    /// Whether the watch's folder does not answer, and this was reported.
    func isSilent(_ watch: Int) -> Bool { looks[watch]?.isSilent ?? false }

    /// Notes that a look at the watch begins; false if one is already under way.
    mutating func begin(_ watch: Int) -> Bool {
      guard looks[watch] == nil else { return false }
      looks[watch] = Look()
      return true
    }

    /// Whether everything present at the beginning has been looked at, apart from folders that do not answer. True only
    /// once.
    mutating func isNewlyListed() -> Bool {
      guard !isListed, standings.indices.allSatisfy({ standings[$0].isListed || isSilent($0) }) else {
        return false
      }
      isListed = true
      return true
    }
  }
  /// The state of a folder.
  private struct Standing {
    let waiting: Int
    let isThere, isListed: Bool

    init(_ watch: FolderWatch) {
      (waiting, isThere, isListed) = (watch.waiting, watch.isThere, watch.isListed)
    }
  }
  private struct Look {
    let begun = ContinuousClock.now
    /// Whether it was reported that the folder does not answer.
    var isSilent = false
    /// Whether the round of looks has stopped waiting for this one.
    var isLate = false
  }
  private struct Taken {
    let watch: Int
    let file: FoundFile
    let settled: FolderWatch.Settled
    let sidecar: FileDisposal.SidecarState
    /// Whether the sidecar may still be unfinished.
    let isSidecarNew: Bool
    /// Whether its reading may take as long as it needs.
    let hasTurn: Bool
  }

  private let watches: [WatchThread]
  /// Locked only briefly.
  private let state: Mutex<State>
  /// The paths of the watched folders.
  private let paths: [SourcePath]
  private let disposals: Disposals
  private let secondLook: Duration
  private let services: IngestServices
  private let onStep: @Sendable (FileDisposal.Step) -> Void
  private let onListed: @Sendable () -> Void
  private let cancellation = CancellationFlag()
  private let isDraining = Atomic(false)
  /// Wakes the thread that waits for something to do.
  private let alarm: Alarm
  private let blocking = BlockingQueue(label: "reel.watch.disposal", width: 1)
  private let start = ContinuousClock.now

  /// - Parameters:
  ///   - patience: how long a look at a folder may take before it is reported as not answering.
  ///   - onStep: called after each step of moving or removing a file.
  ///   - onListed: called once, when everything present at the beginning has been looked at.
  /// - Throws: `tooManyOpenFiles`.
  package init(
    _ watches: [FolderWatch], disposals: Disposals, secondLook: Duration, jobs: Int, services: IngestServices,
    patience: Duration = .seconds(30),
    onStep: @escaping @Sendable (FileDisposal.Step) -> Void = { _ in },
    onListed: @escaping @Sendable () -> Void
  ) throws(SourceError) {
    state = Mutex(State(watches.map(Standing.init), jobs: jobs))
    self.watches = watches.map(WatchThread.init)
    paths = watches.map(\.path)
    (self.disposals, self.secondLook, self.services) = (disposals, secondLook, services)
    (self.onStep, self.onListed) = (onStep, onListed)
    guard let alarm = Alarm() else {
      throw SourceError(.tooManyOpenFiles, "too many files are open; raise the limit (ulimit -n)")
    }
    self.alarm = alarm
    // This task holds the feed only weakly, so that its resources are released when the run ends.
    Task { [weak self] in
      while self?.tellSilence(after: patience) == true { try? await Task.sleep(for: patience / 4) }
    }
  }

  /// Sends notices to `tell` from now on.
  package func begin(telling tell: @escaping @Sendable ([WatchNotice]) -> Void) {
    state.withLock { $0.tell = tell }
  }

  /// Emits a notice about the first folder once the run has begun.
  package func announce(_ code: WatchNotice.Code, _ message: String) {
    let notice = paths.first.map { WatchNotice(path: $0, code: code, message: message) }
    state.withLock { $0.announced = notice }
  }

  /// Whether no announcement is pending.
  package var hasAnnounced: Bool { state.withLock { $0.announced == nil } }

  /// The numbers for the metrics.
  package var numbers: WatchNumbers {
    // During a look, the numbers of the previous look are used.
    for index in watches.indices { _ = watches[index].ifIdle { use(&$0, index) { _ in } } }
    return state.withLock { state in
      WatchNumbers(
        waiting: state.standings.reduce(0) { $0 + $1.waiting },
        folders: paths.indices.map { (paths[$0].text, state.standings[$0].isThere && !state.isSilent($0)) })
    }
  }

  /// Applies the pending changes to a watch, and calls `body` with it.
  /// - Parameter body: may take as long as a disk or a network does.
  private func use<Value>(
    _ watch: inout FolderWatch, _ index: Int, _ body: (inout FolderWatch) -> Value
  ) -> Value {
    let changes = state.withLock { state in
      defer { state.changes.removeAll { $0.watch == index } }
      return state.changes.filter { $0.watch == index }
    }
    for change in changes { change.change(&watch) }
    let value = body(&watch)
    let standing = Standing(watch)
    state.withLock { $0.standings[index] = standing }
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

  /// Hands out nothing more; the run ends once the files in progress have ended.
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
      look(upTo: count)
      let items = state.withLock { state in
        defer { state.found = [] }
        return state.found
      }
      if !items.isEmpty { return items }
      if state.withLock({ $0.isNewlyListed() }) { onListed() }
      FolderWatch.wait(
        for: watches.compactMap { $0.ifIdle { $0 } }, or: alarm.descriptor, at: now, atMost: .seconds(2))
      alarm.clear()
    }
    return []
  }

  /// How long other folders wait for a look at one folder.
  private static let lookTime = DispatchTimeInterval.milliseconds(200)

  /// Looks at all folders, each on its own thread. A look that takes longer is not waited for, and rings the alarm when
  /// it is done.
  private func look(upTo count: Int) {
    guard state.withLock({ $0.found.isEmpty }) else { return }
    let round = DispatchGroup()
    for index in watches.indices where state.withLock({ $0.begin(index) }) {
      watches[index].async(group: round) { [self] watch in
        let (items, notices) = use(&watch, index) { look(at: &$0, index, upTo: count) }
        endLook(index, items, notices)
      }
    }
    guard round.wait(timeout: .now() + Self.lookTime) == .timedOut else { return }
    state.withLock { state in for index in state.looks.keys { state.looks[index]?.isLate = true } }
  }

  /// - Returns: the items to process, and the notices to emit.
  private func look(
    at watch: inout FolderWatch, _ index: Int, upTo count: Int
  ) -> ([FeedItem], [WatchNotice]) {
    var notices: [WatchNotice] = []
    var items = watch.next(upTo: count, at: now, Date()).compactMap { take($0, of: index, &notices) }
    while let next = state.withLock({ $0.slow.next(of: index) }) {
      if let file = watch.find(next.path), file.identity == next.identity {
        items.append(handOut(file, of: index, next.settled, hasTurn: true))
      } else {
        // The file is gone, or will come again in its present state.
        state.withLock { $0.slow.end(next.path) }
      }
    }
    return (items, notices)
  }

  /// Keeps the two notices about a folder in order.
  private let silence = Mutex(())

  private func endLook(_ index: Int, _ items: [FeedItem], _ notices: [WatchNotice]) {
    silence.withLock { _ in
      let ended = state.withLock { state in
        state.found += items
        return state.looks.removeValue(forKey: index)
      }
      if ended?.isLate == true { alarm.ring() }
      if ended?.isSilent == true {
        tell(WatchNotice(path: paths[index], code: .folderBack, message: "it answers again"))
      }
      for notice in notices { tell(notice) }
    }
  }

  /// Reports looks that take long: one may last as long as a server is down.
  /// - Returns: whether to keep watching for such looks.
  private func tellSilence(after patience: Duration) -> Bool {
    silence.withLock { _ in
      let silent = state.withLock { state in
        // Listing a bucket ends by itself, with its own error.
        let silent = paths.indices.filter { index in
          guard !watches[index].isRemote, let look = state.looks[index], !look.isSilent else { return false }
          return .now - look.begun >= patience
        }
        for index in silent { state.looks[index]?.isSilent = true }
        return silent
      }
      for index in silent {
        tell(
          WatchNotice(
            path: paths[index], code: .folderGone,
            message:
              "it has not answered for \(patience.components.seconds) s: Reel waits for it; see whether its disk or its server is there"
          ))
      }
      // The initial listing consists only of folders that answer.
      if !silent.isEmpty { alarm.ring() }
    }
    return !cancellation.isSet
  }

  private var now: Duration { start.duration(to: .now) }

  /// Returns the item that a run is to process, if any.
  private func take(
    _ finding: FolderWatch.Finding, of watch: Int, _ notices: inout [WatchNotice]
  ) -> FeedItem? {
    switch finding {
    case .notice(let notice):
      notices.append(WatchNotice(notice, of: paths[watch]))
      return nil
    case .failed(let path, let error):
      return FeedItem(.failed(path, error))
    case .open(let path):
      notices.append(
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

  // MARK: Disposing of files

  /// How long a run that is to end continues to dispose of files, thousands of which may be waiting.
  private static let farewell = Duration.seconds(5)

  /// Disposes of the files whose ends `events` report. These are already true: a post is durable, and its object
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
        // The run ends, and the next one finds the file again.
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

  /// More data may be on its way: the file is handed out again after a longer rest.
  private func looksCutOff(_ taken: Taken) {
    let (file, settled, now) = (taken.file, taken.settled, now)
    change(taken.watch) { $0.looksCutOff(file, settled, at: now) }
    alarm.ring()
    tell(
      WatchNotice(
        path: file.path, code: .looksCutOff, message: "it looks cut off; it will be checked again later"))
  }

  /// Settles a file that already was a post: before it is moved or removed, its object must exist, as the file may be
  /// the only copy.
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
    // The next start finds what is left.
    guard kind != .keep, state.withLock({ $0.end.map { .now < $0 } ?? true }) else { return forget(file) }
    guard taken.settled.closing != .unknown else {
      tell(
        WatchNotice(
          path: file.path, code: .notDisposed,
          message:
            "it stays, because Reel can't tell whether its writer has finished: \(file.isOnSharedSystem ? "its file system does not say" : "it belongs to another user, and was not seen being closed"); move it yourself, or use --presume-closed"
        ))
      return forget(file)
    }
    if taken.settled.hasHoles, kind == .delete {
      tell(
        WatchNotice(
          path: file.path, code: .notDisposed,
          message:
            "it stays: parts of it were never written, and Reel can't tell whether they are still to come; delete it yourself, or use --after move:FOLDER"
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
    // The file is already where it is to go.
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
        // Report only the first failure; later ones say the same.
        if state.withLock({ $0.postponements.isNew(file.path) }) {
          tell(WatchNotice(path: file.path, code: .notDisposed, message: services.worded(error.text)))
        }
        retry(taken)
      }
    }
  }

  private func forget(_ file: FoundFile) { state.withLock { $0.postponements.forget(file.path) } }

  /// Queues a change for a watch, to be applied before its next look.
  private func change(_ watch: Int, _ change: @escaping @Sendable (inout FolderWatch) -> Void) {
    state.withLock { $0.changes.append((watch, change)) }
  }

  /// Has the file handed out again once it has settled.
  private func changed(_ taken: Taken) {
    let (file, settled, now) = (taken.file, taken.settled, now)
    change(taken.watch) { $0.changed(file, settled, at: now) }
    let message = state.withLock { $0.postponements.changed(file.path, at: now) }
    alarm.ring()
    if let message { tell(WatchNotice(path: file.path, code: .postponed, message: message)) }
  }

  /// - Parameter failure: the reason; nil if it was reported.
  private func retry(_ taken: Taken, because failure: FileFailure? = nil) {
    let (file, settled, now) = (taken.file, taken.settled, now)
    let told = failure?.worded(services.worded)
    let (delay, message) = state.withLock { $0.postponements.failed(file.path, told, at: now) }
    change(taken.watch) { $0.retry(file, settled, after: delay, at: now) }
    // The file now has another deadline.
    alarm.ring()
    if let message { tell(WatchNotice(path: file.path, code: .postponed, message: message)) }
  }

  private func tell(_ notice: WatchNotice) {
    let tell = state.withLock { $0.tell }
    tell([notice])
  }
}

extension FileFailure {
  /// Whether a corrected sidecar would mend it.
  fileprivate var isOfSidecar: Bool { code == .source(.sidecarInvalid) }
}

/// A pipe whose reading end becomes readable when the alarm rings.
private struct Alarm {
  private let reading, writing: Descriptor

  /// Nil if the process has no descriptors left.
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

/// A watch and its own thread, which a disk or a network may block for any length of time.
private final class WatchThread: Sendable {
  let isRemote: Bool
  private let watch: Mutex<FolderWatch>
  private let queue = DispatchQueue(label: "reel.watch.look")

  init(_ watch: FolderWatch) {
    isRemote = watch.isRemote
    self.watch = Mutex(watch)
  }

  func async(group: DispatchGroup, _ body: @escaping @Sendable (inout FolderWatch) -> Void) {
    queue.async(group: group) { [self] in watch.withLock { body(&$0) } }
  }

  /// Calls `body` unless a look is under way, in which case it returns nil.
  func ifIdle<Value: Sendable>(_ body: (inout FolderWatch) -> Value) -> Value? {
    watch.withLockIfAvailable { body(&$0) }
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
