import FoundationEssentials
import Glibc
import HTTPTypes
import Reel
import Synchronization

/// The uploads of a server, in a folder of its own. The disk is authoritative. Memory holds only who is working on
/// which upload, which ends with the process, and content hashes, which can be computed again.
final class UploadStore: Sendable {
  let folder: String
  let disk: DiskThreads
  /// Seconds for which an upload is kept after its last byte.
  let lifetime: Int64
  private let clock: any WallClock
  private let openedAt: Date
  private let room: @Sendable (String) throws(Problem) -> Int64
  /// The uploads that are being worked on.
  private let held = Mutex<[UploadID: Hold]>([:])
  /// The content hashes of uploads that have no verdict yet.
  private let hashes = Mutex<[UploadID: ContentHash]>([:])
  /// Locked as long as this object lives: two servers must not write to the same upload.
  private let lock: OpenFile

  /// Who holds an upload, and who waits for it.
  private struct Hold {
    /// Stops a holder that receives bytes; nil for a holder that must not be interrupted.
    var stop: StopSignal?
    var waiting: [(stop: StopSignal?, turn: CheckedContinuation<Bool, Never>)] = []
  }
  /// Bytes that every upload needs besides its content: for its state and its post.
  private static let leastRoom: Int64 = 1 << 20

  /// Creates the folder (0700) if it is missing; it may be a symbolic link to one. Blocks.
  /// - Parameters:
  ///   - lockPatience: how long to wait for the folder's lock: a child of a server that was killed has it, too, between
  ///     its fork and its exec.
  ///   - room: the number of bytes that may still be written to a folder.
  /// - Throws: a 503 when another server uses the folder.
  init(
    folder: String, disk: DiskThreads, lifetime: Int64, clock: any WallClock = SystemWallClock(),
    lockPatience: Duration = .seconds(5),
    room: @escaping @Sendable (String) throws(Problem) -> Int64 = { path throws(Problem) in
      try Disk.room(at: path)
    }
  ) throws(Problem) {
    (self.disk, self.lifetime, self.clock) = (disk, lifetime, clock)
    self.room = room
    openedAt = clock.now()
    self.folder = try Disk.makeFolder(folder)
    lock = try Disk.open(self.folder + "/.lock", O_RDWR | O_CREAT)
    let end = ContinuousClock.now + lockPatience
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

  /// Runs `body`, which works on the files of uploads, on a disk thread. If their folder is out of reach, an upload
  /// that is not found is not reported as missing.
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

  /// - Throws: a 503 where the folder is missing or is another one, for example because the disk of a mount is gone.
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

  /// Creates an upload. If one of that name exists, returns that one instead, unless its time is over.
  /// - Parameter least: the least number of bytes that it will have, if its length is not known.
  /// - Throws: a 507 when there is no room for it.
  func make(
    _ id: UploadID, _ state: UploadState, atLeast least: Int64? = nil
  ) async throws(Problem) -> Upload? {
    let files = files(id)
    return try await onDisk { [self] () throws(Problem) in
      // An existing upload takes no more room.
      if let known = try files.find() {
        guard isOver(known, isSealed: files.isSealed) else { return known }
        files.remove()
        remember(nil, of: id)
      }
      try checkRoom(for: state.length ?? least ?? 0)
      return try files.make(state) ? nil : try files.find()
    }
  }

  /// Checks that the folder is there and has room. Blocks.
  /// - Throws: a 507 when there is no room for an upload of that many bytes, a 503 when the folder is not there.
  func checkRoom(for length: Int64) throws(Problem) {
    try checkFolder()
    guard try room(folder) - Self.leastRoom >= length else { throw .diskFull }
  }

  /// Creates an upload, also in place of one of that name that was never completed. A completed one may be a post, so
  /// it is returned, to be judged and reported. The caller must hold the upload.
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

  /// `problem` with headers that say where the upload stands now, so that its sender need not ask. The caller must hold
  /// the upload.
  func placed(_ problem: Problem, _ id: UploadID, _ place: (Upload) -> HTTPFields) async -> Problem {
    guard let upload = try? await find(id) else { return problem }
    var problem = problem
    problem.headers = problem.headers.merging(place(upload))
    return problem
  }

  /// Runs `body` while nobody else works on the upload.
  /// - Parameter waits: whether to wait for the present holder.
  /// - Throws: a 423 when there is a holder and the call does not wait.
  func holding<Value>(
    _ id: UploadID, waits: Bool = false, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    guard await take(id, nil, waits: waits) else { throw .busy }
    defer { giveBack(id) }
    return try await body()
  }

  /// Runs `body` for a request of the upload's sender. An earlier request that is receiving bytes is asked to stop and
  /// waited for: its connection may be dead, and only the later request certainly has a client
  /// (draft-ietf-httpbis-resumable-upload, "Concurrency").
  /// - Parameter body: gets the signal that asks this request to stop; the reader of the request's body must heed it.
  /// - Throws: a 423 while the upload is being judged.
  func takingOver<Value>(
    _ id: UploadID, isolation: isolated (any Actor)? = #isolation,
    _ body: (StopSignal) async throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    let stop = StopSignal()
    guard await take(id, stop, waits: false) else { throw .busy }
    defer { giveBack(id) }
    return try await body(stop)
  }

  /// As ``find(_:)``, but first stops a request that is receiving bytes: otherwise the offset would move on after it is
  /// reported.
  func findAtRest(_ id: UploadID) async throws(Problem) -> Upload {
    guard held.withLock({ $0[id]?.stop != nil }) else { return try await find(id) }
    do throws(Problem) {
      return try await takingOver(id) { _ throws(Problem) in try await find(id) }
    } catch {
      // It was completed meanwhile, and is being judged.
      guard error == .busy else { throw error }
      return try await find(id)
    }
  }

  /// Takes the upload, and waits for it where `waits` says so or the holder can be asked to stop.
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
      // A still later request is waiting.
      if hold.waiting.contains(where: { $0.stop != nil }) { next.stop?.ask() }
      held[id] = hold
      return next.turn
    }
    next?.resume(returning: true)
  }

  /// Whether somebody waits for the holder of the upload.
  func isAwaited(_ id: UploadID) -> Bool { held.withLock { $0[id]?.waiting.isEmpty == false } }

  /// The number of uploads that are being worked on.
  var busyCount: Int { held.withLock { $0.count } }

  /// Saves the state of an upload. The caller must hold the upload.
  func save(_ upload: Upload) async throws(Problem) {
    let files = files(upload.id)
    try await onDisk { () throws(Problem) in try files.save(upload.state) }
  }

  /// As ``save(_:)``, for an upload that so far was not meant to survive a power cut.
  func keep(_ upload: Upload) async throws(Problem) {
    let files = files(upload.id)
    try await onDisk { () throws(Problem) in try files.keep(upload.state) }
  }

  /// Saves the verdict on an upload durably, and removes its bytes. An upload that nobody can ask for is removed
  /// entirely.
  func settle(_ id: UploadID, _ verdict: Verdict) async throws(Problem) {
    let files = files(id)
    try await onDisk { () throws(Problem) in
      guard var upload = try files.find() else { throw .noSuchUpload }
      guard upload.state.isDurable else { return files.remove() }
      // An upload that was refused early has no more than the bytes that came.
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

  /// The hash of the bytes of an upload. Bytes that this process has not written itself are read from disk, a portion
  /// at a time, so that other uploads get their turn. The caller must hold the upload.
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

  /// - Parameter hash: of the bytes that are on disk; nil once nobody needs it.
  func remember(_ hash: ContentHash?, of id: UploadID) { hashes.withLock { $0[id] = hash } }

  /// Puts a complete upload where no sender can write to it. The caller must hold the upload.
  func seal(_ upload: Upload) async throws(Problem) -> OwnedFile {
    let (files, hash) = (files(upload.id), try await hash(of: upload))
    try await onDisk { () throws(Problem) in try files.seal() }
    return OwnedFile(path: SourcePath(files.wholePath), digest: try hash.digest(), size: hash.count)
  }

  /// Removes the upload that was created at `madeAt`, unless it has a verdict. One of that name that was created later
  /// belongs to another request.
  /// - Throws: a 423 when somebody works on it.
  func discard(_ id: UploadID, madeAt: Date) async throws(Problem) {
    try await holding(id) { () throws(Problem) in
      let state = try await find(id).state
      if state.verdict == nil, state.createdAt == madeAt { try await remove(id) }
    }
  }

  /// Removes uploads whose time is over, and those that a dead server left and nobody can resume.
  /// - Returns: the complete uploads that have no verdict yet, and those whose state can't be read, which stay.
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

  /// Removes the upload or, where there is a verdict, only its bytes, which a process left that died right after saving
  /// the verdict. The upload is held just for this: a request meanwhile would be refused as locked, and a present
  /// holder proves that the upload is not over.
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

  /// Whether the upload is to stay: its time is not over, and its sender can resume it, can come back for its verdict
  /// or may still be connected, or it may be a post that must still be reported.
  private func isAlive(_ upload: Upload, isSealed: Bool) -> Bool {
    !isOver(upload, isSealed: isSealed)
      && (upload.state.isResumable || upload.state.verdict != nil || upload.state.createdAt >= openedAt
        || upload.isComplete && (upload.state.rememberedUntil != nil || isSealed))
  }

  /// Whether the time of the upload is over. A complete one that was accepted for good stays until it has its verdict,
  /// however long that takes: it may be a post, and its sender was told that it would be judged.
  private func isOver(_ upload: Upload, isSealed: Bool) -> Bool {
    upload.expires(after: lifetime) <= now
      && !(upload.isComplete && upload.state.verdict == nil
        && (upload.state.isResumable || upload.state.rememberedUntil != nil || isSealed))
  }
}
