import ReelModel
import ReelSystem
import Synchronization

/// Makes copies durable and gives them their names, as many together as there are.
///
/// While one group is on its way to the disk, what comes in waits for the next; an idle one begins at once. The
/// order is what counts: every copy is synced before it gets its name, and each caller goes on only after the
/// sync of the folder that came after its name. A sync serves whoever was in its group when it began, and nobody
/// who came later.
final class GroupPlacing: Sendable {
  /// Copies in a group; as many as are worth waiting for.
  private static let largestGroup = 128
  /// How many files are synced at once: enough that a disk has something to order, and its flushes are shared.
  private static let width = 8

  private struct State {
    var waiting: [PlacedMember] = []
    var isRunning = false
  }

  private let root: Descriptor
  private let path: String
  private let flush: @Sendable (Descriptor) throws(SystemError) -> Void
  private let state = Mutex(State())
  private let pace = GroupPace()
  private let syncing = BlockingQueue(label: "reel.object-sync", width: GroupPlacing.width)
  private let naming = BlockingQueue(label: "reel.folder-sync", width: 1)

  /// - Parameters:
  ///   - root: where the names go.
  ///   - path: where `root` must still be once the names are there.
  ///   - flush: makes the names in the folder of that descriptor durable; a test counts.
  init(
    root: Descriptor, path: String,
    flush: @escaping @Sendable (Descriptor) throws(SystemError) -> Void = DurableFolder.fsyncOnce
  ) {
    self.root = root
    self.path = path
    self.flush = flush
  }

  /// How many copies wait for the next group.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// On return `copy` has its name, and both are durable; on throw it has none.
  func place(_ copy: CopiedObject, _ failure: FolderFailure) async throws(UploadError) {
    let cancellation = CancellationFlag()
    let result: Result<Void, UploadError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        begin(with: PlacedMember(copy, failure, cancellation) { continuation.resume(returning: $0) })
      }
    } onCancel: {
      cancellation.set()
    }
    try result.get()
  }

  private func begin(with member: PlacedMember) {
    let isFirst = state.withLock { state in
      state.waiting.append(member)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { Task { await runGroups() } }
  }

  private func runGroups() async {
    while let group = await nextGroup() {
      let synced = await sync(group)
      let results = await naming.run { [root, path, flush] () throws(Never) in
        PlacedGroup(members: synced, root: root, path: path, flush: flush).finish()
      }
      for (member, result) in results { member.answer(result) }
    }
  }

  private func nextGroup() async -> [PlacedMember]? {
    let wait = pace.wait()
    // Nobody cancels this task; each member has a flag of its own.
    if wait > .zero { try? await Task.sleep(for: wait) }
    let group = state.withLock { state in
      let group = Array(state.waiting.prefix(Self.largestGroup))
      state.waiting.removeFirst(group.count)
      if group.isEmpty { state.isRunning = false }
      return group
    }
    pace.begins(with: group.count)
    return group.isEmpty ? nil : group
  }

  /// Each of the group with what its sync said. Of `threads`, each syncs every so manieth; a thread for a few files
  /// would cost more than it spares.
  private func sync(_ group: [PlacedMember]) async -> PlacedGroup.Answers {
    let threads = min(Self.width, (group.count + 3) / 4)
    return await withTaskGroup(of: PlacedGroup.Answers.self) { [syncing] tasks in
      for first in 0..<threads {
        tasks.addTask {
          await syncing.run { () throws(Never) in
            stride(from: first, to: group.count, by: threads).map { (group[$0], group[$0].sync()) }
          }
        }
      }
      return await tasks.reduce(into: []) { $0 += $1 }
    }
  }
}

/// A copy that waits for its group, and whoever waits for it.
struct PlacedMember: Sendable {
  let copy: CopiedObject
  let failure: FolderFailure
  let cancellation: CancellationFlag
  let answer: @Sendable (Result<Void, UploadError>) -> Void

  init(
    _ copy: CopiedObject, _ failure: FolderFailure, _ cancellation: CancellationFlag,
    answer: @escaping @Sendable (Result<Void, UploadError>) -> Void
  ) {
    self.copy = copy
    self.failure = failure
    self.cancellation = cancellation
    self.answer = answer
  }

  func sync() -> Result<Void, UploadError> {
    Result { () throws(UploadError) -> Void in
      try cancellation.check()
      try copy.sync(failure)
    }
  }

  func name(in root: Descriptor) -> Result<Void, UploadError> {
    Result { () throws(UploadError) -> Void in
      try cancellation.check()
      try copy.name(in: root, failure)
    }
  }
}

/// What is left to do for a group whose copies are synced: their names, and the sync of the folder.
private struct PlacedGroup {
  typealias Answer = (PlacedMember, Result<Void, UploadError>)
  typealias Answers = [Answer]

  let members: Answers
  let root: Descriptor
  let path: String
  let flush: (Descriptor) throws(SystemError) -> Void

  /// Blocks.
  func finish() -> Answers {
    let named = members.map { member, synced in
      (member, synced.flatMap { _ in member.name(in: root) })
    }
    guard named.contains(where: { (try? $1.get()) != nil }) else { return named }
    do throws(SystemError) {
      try flush(root)
      try Failpoint.folderSynced.reach()
      if try StoreFolder.isFolder(root, at: path) { return named }
    } catch {
      // A name that is not durable is none. The sync is not asked again.
      return takeBack(named) { $0(error, "sync the folder") }
    }
    return takeBack(named) { $0.moved }
  }

  private func takeBack(_ named: Answers, _ reason: (FolderFailure) -> UploadError) -> Answers {
    named.map { member, result in
      let taken = result.flatMap { _ -> Result<Void, UploadError> in
        try? StoredFile.remove(member.copy.key, from: root, member.failure)
        return .failure(reason(member.failure))
      }
      return (member, taken)
    }
  }
}
