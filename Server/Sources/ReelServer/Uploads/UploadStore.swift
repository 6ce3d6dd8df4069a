import FoundationEssentials
import Glibc
import HTTPTypes
import Reel
import Synchronization

/// The uploads of a server, in a folder of its own. The disk is what counts: in memory is who is at work on which, which ends
/// with the process, and what bytes hash to, which can be read again.
final class UploadStore: Sendable {
  let folder: String
  let disk: DiskThreads
  /// Seconds that an upload is kept after its last byte.
  let lifetime: Int64
  private let clock: any WallClock
  private let openedAt: Date
  private let room: @Sendable (String) throws(Problem) -> Int64
  /// Those that are worked on.
  private let held = Mutex<[UploadID: Hold]>([:])
  /// Of uploads that are not at their end.
  private let hashes = Mutex<[UploadID: ContentHash]>([:])
  /// Held as long as this lives: two servers would write to one upload.
  private let lock: OpenFile

  /// Who works on an upload, and who waits for that to end.
  private struct Hold {
    /// Of who takes bytes into it; nil for who is not to be disturbed.
    var stop: StopSignal?
    var waiting: [(stop: StopSignal?, turn: CheckedContinuation<Bool, Never>)] = []
  }
  /// How long a lock is waited for: the child of a server that was killed has it, too, between its fork and its exec.
  private static let lockPatience = Duration.seconds(5)
  /// Bytes that every upload needs besides its own: for what is known of it, and for its post.
  private static let leastRoom: Int64 = 1 << 20

  /// Makes the folder (0700) where it is missing; it may be a link to one. Blocks.
  /// - Parameter room: bytes that may still be written to a folder.
  /// - Throws: a 503 when another server has it.
  init(
    folder: String, disk: DiskThreads, lifetime: Int64, clock: any WallClock = SystemWallClock(),
    room: @escaping @Sendable (String) throws(Problem) -> Int64 = { path throws(Problem) in
      try Disk.room(at: path)
    }
  ) throws(Problem) {
    (self.disk, self.lifetime, self.clock) = (disk, lifetime, clock)
    self.room = room
    openedAt = clock.now()
    self.folder = try Disk.makeFolder(folder)
    lock = try Disk.open(self.folder + "/.lock", O_RDWR | O_CREAT)
    let end = ContinuousClock.now + Self.lockPatience
    while flock(lock.number, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw Problem(errno: errno, in: "flock") }
      guard ContinuousClock.now < end else {
        throw Problem(.serviceUnavailable, "locked", "another server has the uploads in \(folder)")
      }
      usleep(50_000)
    }
  }

  var now: Date { clock.now() }

  func files(_ id: UploadID) -> UploadFiles { UploadFiles(id, in: folder) }

  /// Does something with the files of uploads. Where their folder is out of reach, nobody can say that there is no such upload.
  func onDisk<Value: Sendable>(
    _ body: @escaping @Sendable () throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    try await disk.run { [self] () throws(Problem) in
      do throws(Problem) {
        return try body()
      } catch {
        if error == .noSuchUpload { try checkFolder() }
        throw error
      }
    }
  }

  /// - Throws: a 503 where the folder is not there, or is another: that of a mount whose disk is gone, say.
  private func checkFolder() throws(Problem) {
    if let there = Disk.status(of: folder + "/.lock"), let own = lock.status, there.st_ino == own.st_ino,
      there.st_dev == own.st_dev
    {
      return
    }
    var problem = Problem(
      .serviceUnavailable, "storage", "the server can't keep uploads just now", retryAfter: 10)
    problem.detail = "\(folder)/.lock is gone, or another: the disk is not mounted, or somebody removed it"
    throw problem
  }

  /// Makes an upload, unless there is one of that name, which it returns then. One whose time is over makes place.
  /// - Parameter least: bytes that it will have at least, where its length is not known.
  /// - Throws: a 507 when there is no room for it.
  func make(
    _ id: UploadID, _ state: UploadState, atLeast least: Int64? = nil
  ) async throws(Problem) -> Upload? {
    let files = files(id)
    return try await onDisk { [self] () throws(Problem) in
      // One that is there takes no more room.
      if let known = try files.find() {
        guard isOver(known, isSealed: files.isSealed) else { return known }
        files.remove()
        remember(nil, of: id)
      }
      try checkRoom(for: state.length ?? least ?? 0)
      return try files.make(state) ? nil : try files.find()
    }
  }

  /// Blocks.
  /// - Throws: a 507 when there is no room for an upload of so many bytes, a 503 where there is no place.
  func checkRoom(for length: Int64) throws(Problem) {
    try checkFolder()
    guard try room(folder) - Self.leastRoom >= length else { throw .diskFull }
  }

  /// Makes an upload, also in place of one of that name that never came whole. One that did may be a post: it is returned, to
  /// be judged and told. For who holds it.
  func begin(
    _ id: UploadID, _ state: UploadState, atLeast least: Int64? = nil
  ) async throws(Problem) -> Upload? {
    guard let known = try await make(id, state, atLeast: least) else { return nil }
    if known.isComplete { return known }
    try await remove(id)
    return try await make(id, state, atLeast: least)
  }

  /// - Throws: a 404 when there is none, a 410 when its time is over.
  func find(_ id: UploadID) async throws(Problem) -> Upload {
    let files = files(id)
    let (upload, isSealed) = try await onDisk { () throws(Problem) in
      guard let upload = try files.find() else { throw .noSuchUpload }
      return (upload, files.isSealed)
    }
    guard !isOver(upload, isSealed: isSealed) else {
      throw Problem(.gone, "expired", "this upload was not finished in time")
    }
    return upload
  }

  /// `problem` with where the upload stands now, so that its sender need not ask. For who holds it.
  func placed(_ problem: Problem, _ id: UploadID, _ place: (Upload) -> HTTPFields) async -> Problem {
    guard let upload = try? await find(id) else { return problem }
    var problem = problem
    problem.headers = problem.headers.merging(place(upload))
    return problem
  }

  /// Works on an upload that nobody else works on meanwhile.
  /// - Parameter waits: whether to wait for who does.
  /// - Throws: a 423 when somebody does.
  func holding<Value>(
    _ id: UploadID, waits: Bool = false, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    guard await take(id, nil, waits: waits) else { throw .busy }
    defer { giveBack(id) }
    return try await body()
  }

  /// Works on an upload for a request of its sender. An earlier request that takes bytes into it is asked to stop, and waited
  /// for: its line may be dead, and only who comes later is certainly there
  /// (draft-ietf-httpbis-resumable-upload, "Concurrency").
  /// - Parameter body: gets the signal by which it is asked itself, which whoever reads a request has to heed.
  /// - Throws: a 423 while it is being judged.
  func takingOver<Value>(
    _ id: UploadID, isolation: isolated (any Actor)? = #isolation,
    _ body: (StopSignal) async throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    let stop = StopSignal()
    guard await take(id, stop, waits: false) else { throw .busy }
    defer { giveBack(id) }
    return try await body(stop)
  }

  /// As ``find(_:)``, once nobody takes bytes into it: else it would not stay where it is said to stand.
  func findAtRest(_ id: UploadID) async throws(Problem) -> Upload {
    guard held.withLock({ $0[id]?.stop != nil }) else { return try await find(id) }
    do throws(Problem) {
      return try await takingOver(id) { _ throws(Problem) in try await find(id) }
    } catch {
      // It came whole meanwhile, and is being judged.
      guard error == .busy else { throw error }
      return try await find(id)
    }
  }

  /// Waits for its turn, where whoever has it can be asked to stop or is to be waited for.
  private func take(_ id: UploadID, _ stop: StopSignal?, waits: Bool) async -> Bool {
    await withCheckedContinuation { turn in
      let isTaken: Bool? = held.withLock { held in
        guard let hold = held[id] else {
          held[id] = Hold(stop: stop)
          return true
        }
        guard waits || stop != nil && hold.stop != nil else { return false }
        held[id]?.waiting.append((stop, turn))
        if stop != nil { hold.stop?.ask() }
        return nil
      }
      if let isTaken { turn.resume(returning: isTaken) }
    }
  }

  private func giveBack(_ id: UploadID) {
    let next: CheckedContinuation<Bool, Never>? = held.withLock { held in
      guard var hold = held[id], !hold.waiting.isEmpty else {
        held[id] = nil
        return nil
      }
      let next = hold.waiting.removeFirst()
      hold.stop = next.stop
      // Somebody has come later still.
      if hold.waiting.contains(where: { $0.stop != nil }) { next.stop?.ask() }
      held[id] = hold
      return next.turn
    }
    next?.resume(returning: true)
  }

  /// Whether somebody waits for who works on it.
  func isAwaited(_ id: UploadID) -> Bool { held.withLock { $0[id]?.waiting.isEmpty == false } }

  /// How many are worked on.
  var busyCount: Int { held.withLock { $0.count } }

  /// Writes down what is known of an upload. For who holds it.
  func save(_ upload: Upload) async throws(Problem) {
    let files = files(upload.id)
    try await onDisk { () throws(Problem) in try files.save(upload.state) }
  }

  /// As ``save(_:)``, of one that nothing of was to be there after a power cut.
  func keep(_ upload: Upload) async throws(Problem) {
    let files = files(upload.id)
    try await onDisk { () throws(Problem) in try files.keep(upload.state) }
  }

  /// Writes down what became of an upload, durably; its bytes go. Of one that nobody can ask for all goes.
  func settle(_ id: UploadID, _ verdict: Verdict) async throws(Problem) {
    let files = files(id)
    try await onDisk { () throws(Problem) in
      guard var upload = try files.find() else { throw .noSuchUpload }
      guard upload.state.isDurable else { return files.remove() }
      // What was refused early is all that came of it.
      if upload.state.length == nil { upload.state.length = upload.offset }
      upload.state.verdict = verdict
      upload.state.uncheckedFrom = nil
      try files.save(upload.state)
      files.removeBytes()
    }
    remember(nil, of: id)
  }

  func remove(_ id: UploadID) async throws(Problem) {
    let files = files(id)
    remember(nil, of: id)
    try await onDisk { () throws(Problem) in files.remove() }
  }

  /// What the bytes of an upload hash to. What this process has not written itself it reads, so much at a time that others get
  /// to the disk. For who holds the upload.
  func hash(of upload: Upload) async throws(Problem) -> ContentHash {
    let files = files(upload.id)
    var hash = hashes.withLock { $0[upload.id] } ?? ContentHash()
    if hash.count > upload.offset { hash = ContentHash() }
    while hash.count < upload.offset {
      let known = hash
      hash = try await onDisk { () throws(Problem) in try files.hash(going: known, to: upload.offset) }
      remember(hash, of: upload.id)
    }
    return hash
  }

  /// - Parameter hash: of the bytes that are on disk; nil for what nobody asks for any more.
  func remember(_ hash: ContentHash?, of id: UploadID) { hashes.withLock { $0[id] = hash } }

  /// Takes an upload that is whole out of the reach of whoever sends bytes. For who holds it.
  func seal(_ upload: Upload) async throws(Problem) -> OwnedFile {
    let (files, hash) = (files(upload.id), try await hash(of: upload))
    try await onDisk { () throws(Problem) in try files.seal() }
    return OwnedFile(path: SourcePath(files.wholePath), digest: try hash.digest(), size: hash.count)
  }

  /// Removes the upload that was made then, unless it has a verdict. One of that name that was made later is another's.
  /// - Throws: a 423 when somebody works on it.
  func discard(_ id: UploadID, madeAt: Date) async throws(Problem) {
    try await holding(id) { () throws(Problem) in
      let state = try await find(id).state
      if state.verdict == nil, state.createdAt == madeAt { try await remove(id) }
    }
  }

  /// Removes what is over, and what a dead server has left that nobody can go on with.
  /// - Returns: those that are complete, and have no verdict yet; and those of which nothing can be said, which stay.
  func sweep() async throws(Problem) -> (complete: [UploadID], unreadable: [UploadID]) {
    let folder = folder
    let names = try await onDisk { () throws(Problem) in try Disk.names(in: folder) }
    var (complete, unreadable): ([UploadID], [UploadID]) = ([], [])
    for id in names.compactMap({ UploadID($0) }) {
      let files = files(id)
      let found: (Upload?, Bool, Bool)
      do throws(Problem) {
        found = try await onDisk { () throws(Problem) in
          (try files.find(), files.hasBytes, files.isSealed)
        }
      } catch {
        unreadable.append(id)
        continue
      }
      guard case let (upload?, hasBytes, isSealed) = found, isAlive(upload, isSealed: isSealed),
        upload.state.verdict == nil || !hasBytes
      else {
        try? await tidy(files)
        continue
      }
      if upload.isComplete, upload.state.verdict == nil { complete.append(id) }
    }
    return (complete, unreadable)
  }

  /// Removes the upload, or, where there is a verdict, its bytes: somebody died right after it. Only for that it is held, as
  /// who comes meanwhile is told that somebody works on it; and who is at work on it shows that it is not over.
  private func tidy(_ files: UploadFiles) async throws(Problem) {
    try await holding(files.id) { () throws(Problem) in
      try await onDisk { [self] () throws(Problem) in
        guard let upload = try files.find(), isAlive(upload, isSealed: files.isSealed) else {
          remember(nil, of: files.id)
          return files.remove()
        }
        if upload.state.verdict != nil { files.removeBytes() }
      }
    }
  }

  /// Whether it is to stay: its time is not over, and its sender can go on, or come back for its verdict, or is still there, or
  /// it may be a post, of which somebody has to be told.
  private func isAlive(_ upload: Upload, isSealed: Bool) -> Bool {
    !isOver(upload, isSealed: isSealed)
      && (upload.state.isResumable || upload.state.verdict != nil || upload.state.createdAt >= openedAt
        || upload.isComplete && (upload.state.rememberedUntil != nil || isSealed))
  }

  /// Whether its time is over. What came whole, and was taken for good, stays until it has its verdict, however long that
  /// takes: it may be a post, and its sender was told that it would be judged.
  private func isOver(_ upload: Upload, isSealed: Bool) -> Bool {
    upload.expires(after: lifetime) <= now
      && !(upload.isComplete && upload.state.verdict == nil
        && (upload.state.isResumable || upload.state.rememberedUntil != nil || isSealed))
  }
}
