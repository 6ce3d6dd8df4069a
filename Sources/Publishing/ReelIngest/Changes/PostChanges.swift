import FoundationEssentials
import ReelCore
import ReelSource
import Synchronization

/// Removes, restores, edits and moves posts (docs/remove.md), and resumes changes that other processes have left
/// unfinished.
///
/// The order of the steps is what guarantees the promises. A post leaves the feed before its objects are removed, and
/// enters it only after they are in place. An event is sent once it is true, and the change is struck out once its
/// event has been sent. If a process dies in between, the next one continues from there.
public struct PostChanges: Sendable {
  /// A store, with its recorder if it keeps posts beside its objects.
  package struct Store: Sendable {
    let uploader: any Uploader
    let recorder: (any PostRecorder)?
    /// Downloads its objects; nil for a folder, and for a store that cannot be read.
    let reader: (any ReadableStore)?
    /// The folder that it stores in; nil if it is not a folder.
    let folder: String?

    /// A store that is open but not prepared yet.
    package init(
      uploader: any Uploader, recorder: (any PostRecorder)?, reader: (any ReadableStore)? = nil,
      folder: String? = nil
    ) {
      (self.uploader, self.recorder, self.reader, self.folder) = (uploader, recorder, reader, folder)
    }
  }

  /// Looks for the bytes of an object, passes them to `take`, and returns messages about what could not be searched.
  package typealias Supply =
    @Sendable (
      ExaminedObject, _ take: @escaping @Sendable (UploadSource) async -> Void
    ) async -> [ErrorMessage]

  /// The purpose for which a store is opened.
  enum Use: Hashable {
    case records, objects
    /// For new objects: a missing folder is created.
    case new
  }

  /// The outcome of a change for one post.
  public enum Outcome: Sendable {
    /// The post has been changed.
    case changed(Post)
    /// The post already was as requested.
    case nothing(Post)
    /// The post had been removed before.
    case removed(RemovedPost)
    /// There is no such post.
    case unknown
    /// The video is another post of the same author in the store that the post was to move to, or was removed from.
    case taken(Post)
    /// The change could not be begun, and the post is unchanged.
    case notBegun(FileFailure)
    /// The change was begun, but could not be carried out in full.
    case failed(FileFailure)
  }

  let catalog: any PostChanging
  let keepsPosts: @Sendable (Destination) -> Bool
  let open: @Sendable (Destination) async throws(UploadError) -> Store
  let tell: @Sendable ([IngestEvent.Body]) async throws -> Void
  let notice: @Sendable (PostID, ObjectRemoval) -> Void
  let supply: Supply?
  let staging: any StagingArea
  let threads = BlockingQueue(label: "reel.changes", width: 8)
  let twoStores = TwoStores()
  private let stores = OpenStores()

  /// The number of posts that are changed in one transaction.
  static let batch = 256
  /// The number of objects of one store that are removed or copied at once, if the store takes no batches.
  static let width = 8

  /// - Parameters:
  ///   - supply: finds the video of a post to be restored if the store no longer has it.
  ///   - staging: where copies are kept while posts are moved.
  ///   - keepsPosts: whether a store may keep posts beside its objects; an edit contacts no other store.
  ///   - open: opens a store.
  ///   - notice: called with what a store still keeps of an object that was removed.
  ///   - tell: called with events once they are true; if it throws, the next process tells them.
  package init(
    catalog: any PostChanging, supply: Supply? = nil,
    staging: any StagingArea = TemporaryStaging(),
    keepsPosts: @escaping @Sendable (Destination) -> Bool = { _ in true },
    open: @escaping @Sendable (Destination) async throws(UploadError) -> Store,
    notice: @escaping @Sendable (PostID, ObjectRemoval) -> Void = { _, _ in },
    tell: @escaping @Sendable ([IngestEvent.Body]) async throws -> Void
  ) {
    (self.catalog, self.open, self.tell, self.notice) = (catalog, open, tell, notice)
    (self.supply, self.staging, self.keepsPosts) = (supply, staging, keepsPosts)
  }

  // MARK: Requesting changes

  /// Applies `kind` to each of `posts`, batch by batch, and reports the outcomes in order.
  /// - Throws: ``CatalogError``, and what `tell` throws. Any process may then resume the changes already begun.
  package func change(
    _ posts: [PostID], _ kind: PostChange.Kind, report: @Sendable (PostID, Outcome) throws -> Void
  ) async throws {
    for start in stride(from: 0, to: posts.count, by: Self.batch) {
      if Task.isCancelled {
        for post in posts[start...] { try report(post, .notBegun(.changeCancelled)) }
        return
      }
      let batch = Array(posts[start..<min(start + Self.batch, posts.count)])
      let outcomes = try await change(batch, kind)
      for post in batch { try report(post, outcomes[post] ?? .unknown) }
    }
  }

  private func change(_ posts: [PostID], _ kind: PostChange.Kind) async throws -> [PostID: Outcome] {
    var outcomes: [PostID: Outcome] = [:]
    // Each post only once: a second change would wait for the first.
    var left = posts.filter { outcomes.updateValue(.unknown, forKey: $0) == nil }
    if case .move(let destination) = kind {
      // Create and record nothing if the catalog knows none of the posts.
      guard try await isAnyKnown(left) else { return outcomes }
      do throws(UploadError) {
        // Create a new store before anything is recorded.
        _ = try await store(destination, for: .new)
      } catch {
        return outcomes.mapValues { _ in .notBegun(FileFailure(error)) }
      }
    }
    var pause = Duration.milliseconds(5)
    while !left.isEmpty {
      let asked = left.map { PostChange($0, kind) }
      let answers = try await blocking { catalog throws(CatalogError) in try catalog.begin(asked) }
      var (begun, unfinished, busy) = ([OpenChange](), [OpenChange](), [PostID]())
      for (post, answer) in zip(left, answers) {
        switch answer {
        case .begun(let open): begun.append(open)
        case .unfinished(let open): unfinished.append(open)
        case .busy: busy.append(post)
        case .nothing(let post): outcomes[post.id] = .nothing(post)
        case .removed(let removed): outcomes[post] = .removed(removed)
        case .unknown: outcomes[post] = .unknown
        case .taken(let other): outcomes[post] = .taken(other)
        }
      }
      let (begunNow, taken) = (begun, unfinished)
      let (done, others) = try await holding(begunNow + taken) {
        (try await carryOut(begunNow), try await resume(taken))
      }
      outcomes.merge(done) { _, new in new }
      left = busy
      for open in unfinished {
        if case .failed(let failure)? = others[open.post.id] {
          outcomes[open.post.id] = .notBegun(failure)
        } else {
          left.append(open.post.id)
        }
      }
      guard !busy.isEmpty else { continue }
      do {
        try await Task.sleep(for: pause)
      } catch {
        for post in left { outcomes[post] = .notBegun(.changeCancelled) }
        break
      }
      pause = min(pause * 2, .milliseconds(250))
    }
    return outcomes
  }

  /// Whether one of `posts` exists, or existed before it was removed.
  private func isAnyKnown(_ posts: [PostID]) async throws(CatalogError) -> Bool {
    for post in posts {
      if try await catalog.post(post) != nil { return true }
      if try await blocking({ catalog throws(CatalogError) in try catalog.removedPost(post) }) != nil {
        return true
      }
      // It may have been restored between the two queries.
      if try await catalog.post(post) != nil { return true }
    }
    return false
  }

  // MARK: Unfinished and expired changes

  /// Resumes every change that no live process holds, and reports each.
  package func resumeAll(report: @Sendable (PostID, Outcome) throws -> Void) async throws {
    var last: Int64 = 0
    while !Task.isCancelled {
      let after = last
      let found = try await blocking { catalog throws(CatalogError) in
        try catalog.unfinishedChanges(after: after, limit: Self.batch)
      }
      guard let end = found.last else { return }
      last = end.number
      let outcomes = try await holding(found) { try await resume(found) }
      for open in found { try report(open.post.id, outcomes[open.post.id] ?? .unknown) }
    }
  }

  /// Removes the objects of removed posts whose retention has expired, and reports each.
  package func purgeExpired(
    at moment: Date, report: @Sendable (PostID, Outcome) throws -> Void
  ) async throws {
    var last = 0
    while !Task.isCancelled {
      let after = last
      let expired = try await blocking { catalog throws(CatalogError) in
        try catalog.expiredPosts(at: moment, after: after, limit: Self.batch)
      }
      guard let end = expired.last?.post.pageNumber else { return }
      last = end
      try await change(expired.map(\.post.id), .purge, report: report)
    }
  }

  private func resume(_ changes: [OpenChange]) async throws -> [PostID: Outcome] {
    var outcomes: [PostID: Outcome] = [:]
    var others: [OpenChange] = []
    for open in changes {
      switch open.kind {
      case .move(let there, moved: false):
        outcomes.merge(try await undoMove(of: open, to: there)) { _, new in new }
      default: others.append(open)
      }
    }
    outcomes.merge(try await carryOut(others)) { _, new in new }
    return outcomes
  }

  // MARK: Carrying out

  /// Runs `body`. If it throws, the unfinished ones among `changes` are released, so that any process may take them.
  private func holding<Value>(_ changes: [OpenChange], _ body: () async throws -> Value) async throws -> Value
  {
    do {
      return try await body()
    } catch {
      try? await blocking { catalog throws(CatalogError) in try catalog.release(changes) }
      throw error
    }
  }

  /// Carries out the changes and returns their outcomes. A change that could not be carried out is released.
  private func carryOut(_ changes: [OpenChange]) async throws -> [PostID: Outcome] {
    var outcomes: [PostID: Outcome] = [:]
    for batch in Dictionary(grouping: changes, by: { Sort($0) }).values {
      guard let first = batch.first else { continue }
      let done: [OpenChange]
      do {
        let held = try await held(batch)
        for open in batch { outcomes[open.post.id] = .failed(.takenOver) }
        for open in held { outcomes[open.post.id] = nil }
        if first.sort == .edit, !keepsPosts(first.destination) {
          done = held
        } else {
          let store = try await store(first.destination, for: first.sort == .edit ? .records : .objects)
          done = try await carryOut(held, in: store, &outcomes)
        }
      } catch let error as UploadError {
        let failure = FileFailure(error)
        for open in batch where outcomes[open.post.id] == nil { outcomes[open.post.id] = .failed(failure) }
        done = []
      }
      let left = batch.filter { open in !done.contains { $0.number == open.number } }
      try await blocking { catalog throws(CatalogError) in try catalog.release(left) }
      try await finish(done, &outcomes)
    }
    return outcomes
  }

  private struct Sort: Hashable {
    let kind: ChangeKind
    let destination: Destination

    init(_ open: OpenChange) { (kind, destination) = (open.sort, open.destination) }
  }

  /// Carries out the batch as far as the store is concerned, and returns the changes that succeeded.
  private func carryOut(
    _ batch: [OpenChange], in store: Store, _ outcomes: inout [PostID: Outcome]
  ) async throws(UploadError) -> [OpenChange] {
    let results: [Step]
    /// Posts whose video could not be found anywhere.
    let missing = Mutex<Set<PostID>>([])
    switch batch.first?.kind {
    case nil: return []
    case .removal, .purge: results = await remove(batch, from: store)
    case .edit: results = await each(batch) { open throws(FileFailure) in try await record(open, in: store) }
    case .restoration:
      results = await each(batch) { open throws(FileFailure) in
        try await restore(open, in: store) { missing.withLock { _ = $0.insert(open.post.id) } }
      }
    case .move: results = await each(batch) { open throws(FileFailure) in try await move(open, from: store) }
    }
    var done: [OpenChange] = []
    for (open, result) in results {
      switch result {
      case .success(let open):
        done.append(open)
        Failpoint.changeCarriedOut.pass()
      case .failure(let failure):
        let isMissing = missing.withLock { $0.contains(open.post.id) }
        // Use the code of `reel verify`: the object is missing, and no other object has its name.
        outcomes[open.post.id] = .failed(
          isMissing
            ? FileFailure(code: .other("missing"), message: failure.text, cause: failure.cause) : failure)
      }
    }
    return done
  }

  /// Marks the changes as true in the catalog, removes what moved posts have left, emits the events, and strikes the
  /// changes out.
  private func finish(_ changes: [OpenChange], _ outcomes: inout [PostID: Outcome]) async throws {
    guard !changes.isEmpty else { return }
    let posts = try await blocking { catalog throws(CatalogError) in try catalog.finish(changes) }
    var cleared: [(open: OpenChange, post: Post)] = []
    for (open, post) in zip(changes, posts) {
      guard let post else {
        outcomes[open.post.id] = .failed(.takenOver)
        continue
      }
      do throws(FileFailure) {
        try await clear(open, post)
        Failpoint.changeCleared.pass()
        cleared.append((open, post))
      } catch {
        outcomes[open.post.id] = .failed(error)
        try await blocking { catalog throws(CatalogError) in try catalog.release([open]) }
      }
    }
    // Check after the slow steps, so that the events are still true when they are sent.
    let held = Set(try await held(cleared.map(\.open)).map(\.number))
    let finished = cleared.filter { held.contains($0.open.number) }
    for (open, post) in cleared {
      outcomes[open.post.id] = held.contains(open.number) ? .changed(post) : .failed(.takenOver)
    }
    let told = finished.compactMap { $0.open.event($0.post) }
    if !told.isEmpty { try await tell(told) }
    Failpoint.changeTold.pass()
    let struckOut = finished.map(\.open)
    try await blocking { catalog throws(CatalogError) in try catalog.strikeOut(struckOut) }
  }

  /// The changes that this process still holds. A process that was suspended for longer than its lease must check
  /// before each request that changes a store, and before it emits events: another process may have resumed the
  /// changes, and restored what this one is about to remove.
  func held(_ changes: [OpenChange]) async throws(CatalogError) -> [OpenChange] {
    let areHeld = try await blocking { catalog throws(CatalogError) in try catalog.areHeld(changes) }
    return zip(changes, areHeld).compactMap { $1 ? $0 : nil }
  }

  // MARK: Access

  func blocking<Value: Sendable>(
    _ body: @escaping @Sendable (any PostChanging) throws(CatalogError) -> Value
  ) async throws(CatalogError) -> Value {
    try await threads.run { [catalog] () throws(CatalogError) in try body(catalog) }
  }

  func store(_ destination: Destination, for use: Use = .objects) async throws(UploadError) -> Store {
    try await stores.store(destination, for: use, open)
  }
}
