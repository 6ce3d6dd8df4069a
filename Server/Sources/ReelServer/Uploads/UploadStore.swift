import FoundationEssentials
import Glibc
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
  /// Those that are worked on, and who waits for each.
  private let held = Mutex<[UploadID: [CheckedContinuation<Void, Never>]]>([:])
  /// Of uploads that are not at their end.
  private let hashes = Mutex<[UploadID: ContentHash]>([:])
  /// Held as long as this lives: two servers would write to one upload.
  private let lock: OpenFile

  /// Makes the folder (0700) where it is missing. Blocks.
  /// - Throws: a 503 when another server has it.
  init(folder: String, disk: DiskThreads, lifetime: Int64, clock: any WallClock = SystemWallClock())
    throws(Problem)
  {
    (self.folder, self.disk, self.lifetime, self.clock) = (folder, disk, lifetime, clock)
    openedAt = clock.now()
    if mkdir(folder, 0o700) != 0, errno != EEXIST { throw Problem(errno: errno, in: "mkdir") }
    try Disk.syncFolder(of: folder)
    lock = try Disk.open(folder + "/.lock", O_RDWR | O_CREAT)
    if flock(lock.number, LOCK_EX | LOCK_NB) != 0 {
      throw Problem(.serviceUnavailable, "locked", "another server has the uploads in \(folder)")
    }
  }

  var now: Date { clock.now() }

  func files(_ id: UploadID) -> UploadFiles { UploadFiles(id, in: folder) }

  /// Makes an upload, unless there is one of that name, which it returns then.
  /// - Throws: a 507 when there is no room for it.
  func make(_ id: UploadID, _ state: UploadState) async throws(Problem) -> Upload? {
    let (files, folder) = (files(id), folder)
    return try await disk.run { () throws(Problem) in
      // One that is there takes no more room.
      if let known = try files.find() { return known }
      if let length = state.length, try Disk.room(at: folder) < length { throw .diskFull }
      return try files.make(state) ? nil : try files.find()
    }
  }

  /// Makes an upload, also in place of one of that name that never came whole. One that did may be a post: it is returned, to
  /// be judged and told. For who holds it.
  func begin(_ id: UploadID, _ state: UploadState) async throws(Problem) -> Upload? {
    guard let known = try await make(id, state) else { return nil }
    if known.isComplete { return known }
    try await remove(id)
    return try await make(id, state)
  }

  /// - Throws: a 404 when there is none, a 410 when its time is over.
  func find(_ id: UploadID) async throws(Problem) -> Upload {
    let files = files(id)
    guard let upload = try await disk.run({ () throws(Problem) in try files.find() }) else {
      throw .noSuchUpload
    }
    guard upload.expires(after: lifetime) > now else {
      throw Problem(.gone, "expired", "this upload was not finished in time")
    }
    return upload
  }

  /// Works on an upload that nobody else works on meanwhile.
  /// - Parameter waits: whether to wait for who does.
  /// - Throws: a 423 when somebody does.
  func holding<Value>(
    _ id: UploadID, waits: Bool = false, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    if !take(id) {
      guard waits else { throw .busy }
      await withCheckedContinuation { continuation in
        if take(id, or: continuation) { continuation.resume() }
      }
    }
    defer { giveBack(id) }
    return try await body()
  }

  /// - Parameter waiting: resumed when it is its turn, unless that is now.
  private func take(_ id: UploadID, or waiting: CheckedContinuation<Void, Never>? = nil) -> Bool {
    held.withLock { held in
      guard held[id] != nil else {
        held[id] = []
        return true
      }
      if let waiting { held[id]?.append(waiting) }
      return false
    }
  }

  private func giveBack(_ id: UploadID) {
    let next: CheckedContinuation<Void, Never>? = held.withLock { held in
      guard let waiting = held[id], !waiting.isEmpty else {
        held[id] = nil
        return nil
      }
      return held[id]?.removeFirst()
    }
    next?.resume()
  }

  /// Whether somebody waits for who works on it.
  func isAwaited(_ id: UploadID) -> Bool { held.withLock { $0[id]?.isEmpty == false } }

  /// How many are worked on.
  var busyCount: Int { held.withLock { $0.count } }

  /// Writes down what is known of an upload. For who holds it.
  func save(_ upload: Upload) async throws(Problem) {
    let files = files(upload.id)
    try await disk.run { () throws(Problem) in try files.save(upload.state) }
  }

  /// Writes down what became of an upload, durably; its bytes go.
  func settle(_ id: UploadID, _ verdict: Verdict) async throws(Problem) {
    let files = files(id)
    try await disk.run { () throws(Problem) in
      guard var upload = try files.find() else { throw .noSuchUpload }
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
    try await disk.run { () throws(Problem) in files.remove() }
  }

  /// What the bytes of an upload hash to. What this process has not written itself it reads, so much at a time that others get
  /// to the disk. For who holds the upload.
  func hash(of upload: Upload) async throws(Problem) -> ContentHash {
    let files = files(upload.id)
    var hash = hashes.withLock { $0[upload.id] } ?? ContentHash()
    if hash.count > upload.offset { hash = ContentHash() }
    while hash.count < upload.offset {
      let known = hash
      hash = try await disk.run { () throws(Problem) in try files.hash(going: known, to: upload.offset) }
      remember(hash, of: upload.id)
    }
    return hash
  }

  /// - Parameter hash: of the bytes that are on disk; nil for what nobody asks for any more.
  func remember(_ hash: ContentHash?, of id: UploadID) { hashes.withLock { $0[id] = hash } }

  /// Takes an upload that is whole out of the reach of whoever sends bytes. For who holds it.
  func seal(_ upload: Upload) async throws(Problem) -> OwnedFile {
    let (files, hash) = (files(upload.id), try await hash(of: upload))
    try await disk.run { () throws(Problem) in try files.seal() }
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
  /// - Returns: those that are complete, and have no verdict yet.
  func sweep() async throws(Problem) -> [UploadID] {
    let folder = folder
    let names = try await disk.run { () throws(Problem) in try Disk.names(in: folder) }
    var complete: [UploadID] = []
    for id in names.compactMap({ UploadID($0) }) {
      let files = files(id)
      // One that can't be read says nothing of the others.
      let found = try? await disk.run { () throws(Problem) in
        (try files.find(), files.hasBytes, files.isSealed)
      }
      guard case let (upload?, hasBytes, isSealed)? = found, isAlive(upload, isSealed: isSealed),
        upload.state.verdict == nil || !hasBytes
      else {
        try? await tidy(files)
        continue
      }
      if upload.isComplete, upload.state.verdict == nil { complete.append(id) }
    }
    return complete
  }

  /// Removes the upload, or, where there is a verdict, its bytes: somebody died right after it. Only for that it is held, as
  /// who comes meanwhile is told that somebody works on it; and who is at work on it shows that it is not over.
  private func tidy(_ files: UploadFiles) async throws(Problem) {
    try await holding(files.id) { () throws(Problem) in
      try await disk.run { [self] () throws(Problem) in
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
    upload.expires(after: lifetime) > now
      && (upload.state.isResumable || upload.state.verdict != nil || upload.state.createdAt >= openedAt
        || upload.isComplete && (upload.state.rememberedUntil != nil || isSealed))
  }
}
