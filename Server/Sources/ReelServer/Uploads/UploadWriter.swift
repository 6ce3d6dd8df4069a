import CUploads
import Crypto
import Glibc
import NIOCore
import Reel
import Synchronization

/// Writes the bytes of one request to an upload, and hashes them. The caller must hold the upload.
final class UploadWriter: Sendable {
  private struct Position {
    /// Nil once writing is finished: from then on nothing in this process can write to the upload.
    var file: OpenFile?
    var offset: Int64
    /// The hash of the upload up to `offset`.
    var content: ContentHash
    /// The hash of the part, if it has a checksum.
    var hash: (any HashFunction)?
    /// The offset up to which the disk was told to begin writing.
    var hinted: Int64
    /// The offset up to which the disk has written.
    var written: Int64
    var isLookedAt: Bool
    /// Whether `nearEnd` has been called.
    var isEnding = false
    /// Whether the disk failed to write something: the kernel does not try again, and does not report it again.
    var isLost = false
  }
  /// The bytes that wait to be written.
  private struct Queue {
    private static let small = 64 << 10
    var pieces: [ByteBuffer] = []
    /// The number of bytes in `pieces`.
    var waiting = 0
    /// The offset of the upload, with `pieces`.
    var end: Int64
    /// Whether a disk thread is writing, or is going to.
    var isWriting = false
    var failure: (any Error)?
    var waiter: (isReached: @Sendable (Queue) -> Bool, continuation: CheckedContinuation<Void, Never>)?

    /// Adds a piece. Small ones are copied together: each would otherwise keep the whole buffer that it was read into.
    mutating func add(_ bytes: ByteBuffer) {
      waiting += bytes.readableBytes
      guard bytes.readableBytes < Self.small else { return pieces.append(bytes) }
      if let last = pieces.indices.last, pieces[last].readableBytes < Self.small {
        pieces[last].writeImmutableBuffer(bytes)
      } else {
        var copy = ByteBuffer()
        copy.writeImmutableBuffer(bytes)
        pieces.append(copy)
      }
    }
  }
  /// The number of bytes that may wait to be written while more is read: those of this upload, and those of all.
  private static let mostWaiting = 1 << 20
  private static let mostWaitingOfAll = 64 << 20
  /// The number of missing bytes from which on an upload will soon be complete.
  private static let end: Int64 = 32 << 20
  /// The number of bytes that identify a file: those that the sniffer looks at.
  private static let head: Int64 = 65_536 + 16
  private static let hintEvery: Int64 = 2 << 20
  /// The number of bytes that the disk may lag behind. A faster sender waits for it now rather than at the end.
  private static let mostUnwritten: Int64 = 4 * hintEvery

  private let files: UploadFiles
  private let store: UploadStore
  private let start: ContentHash
  private let length: Int64?
  private let checksum: PartChecksum?
  private let firstLook: @Sendable (SourceFile) throws(ProbeError) -> Void
  private let nearEnd: @Sendable () -> Void
  private let position: Mutex<Position>
  private let queue: Mutex<Queue>

  private init(
    _ files: UploadFiles, _ file: OpenFile, in store: UploadStore, from start: ContentHash, of length: Int64?,
    _ checksum: PartChecksum?, _ nearEnd: @escaping @Sendable () -> Void,
    _ firstLook: @escaping @Sendable (SourceFile) throws(ProbeError) -> Void
  ) {
    (self.files, self.store, self.start, self.length) = (files, store, start, length)
    (self.checksum, self.nearEnd, self.firstLook) = (checksum, nearEnd, firstLook)
    position = Mutex(
      Position(
        file: file, offset: start.count, content: start, hash: checksum?.algorithm.hasher(),
        hinted: start.count, written: start.count, isLookedAt: start.count >= Self.head))
    queue = Mutex(Queue(end: start.count))
  }

  /// Opens an upload to continue at its offset. Bytes of a part that a dead process wrote but could not compare are
  /// discarded.
  /// - Parameters:
  ///   - checksum: of the bytes to come.
  ///   - nearEnd: called once, when the upload will soon be complete, or soon after the start if its length is not
  ///     known.
  ///   - firstLook: throws if the first bytes are not those of a video.
  static func open(
    _ upload: Upload, in store: UploadStore, checksum: PartChecksum? = nil,
    nearEnd: @escaping @Sendable () -> Void = {},
    firstLook: @escaping @Sendable (SourceFile) throws(ProbeError) -> Void
  ) async throws(Problem) -> UploadWriter {
    let files = store.files(upload.id)
    let start = try await store.hash(of: upload)
    return try await store.onDisk { () throws(Problem) in
      let file = try Disk.open(files.path, O_RDWR)
      try Disk.call("ftruncate") { ftruncate(file.number, off_t(upload.offset)) }
      var state = upload.state
      let uncheckedFrom = checksum == nil ? nil : upload.offset
      if state.uncheckedFrom != uncheckedFrom {
        state.uncheckedFrom = uncheckedFrom
        try files.save(state)
      }
      return UploadWriter(files, file, in: store, from: start, of: state.length, checksum, nearEnd, firstLook)
    }
  }

  /// The offset of the upload, with the bytes that are not written yet.
  var offset: Int64 { queue.withLock { $0.end } }

  /// Queues bytes to be written while more come. Waits for room, and at the beginning of an upload until its first
  /// bytes have been looked at.
  /// - Throws: ``Problem`` of the disk, ``ProbeError`` of the sniffer, as soon as it can tell. A later failure is
  ///   thrown by the next call, or by ``finish(isWhole:)``.
  func append(_ bytes: ByteBuffer) async throws {
    store.disk.waiting.add(bytes.readableBytes, ordering: .relaxed)
    let isIdle = queue.withLock { queue in
      queue.end += Int64(bytes.readableBytes)
      queue.add(bytes)
      defer { queue.isWriting = true }
      return !queue.isWriting
    }
    if isIdle { writeNext() }
    let (end, head) = (offset, min(Self.head, length ?? .max))
    let isWaitedFor =
      checksum == nil && end >= head && end - Int64(bytes.readableBytes) < head
      || store.disk.waiting.load(ordering: .relaxed) > Self.mostWaitingOfAll
    await wait { isWaitedFor ? !$0.isWriting : $0.waiting < Self.mostWaiting }
    if let failure = queue.withLock({ $0.failure }) { throw failure }
  }

  /// Waits until the condition holds, or something failed. Only one caller at a time may wait.
  private func wait(until isReached: @escaping @Sendable (Queue) -> Bool) async {
    await withCheckedContinuation { continuation in note { $0.waiter = (isReached, continuation) } }
  }

  /// Writes on a disk thread what has come meanwhile, then lets other uploads have their turn.
  private func writeNext() {
    store.disk.start { [self] isActive in
      let (pieces, size) = note { queue in
        defer { (queue.pieces, queue.waiting) = ([], 0) }
        return (queue.pieces, queue.waiting)
      }
      defer { store.disk.waiting.subtract(size, ordering: .relaxed) }
      let result = Result {
        guard isActive else { throw Problem.shuttingDown }
        if let failure = queue.withLock({ $0.failure }) { throw failure }
        for piece in pieces {
          if let refusal = try write(piece) { throw refusal }
        }
      }
      let goesOn = note { queue in
        if case .failure(let failure) = result { queue.failure = failure }
        queue.isWriting = !queue.pieces.isEmpty
        return queue.isWriting
      }
      if goesOn { writeNext() }
    }
  }

  /// Changes the queue, and resumes the waiting call if its condition holds now.
  private func note<Value>(_ change: (inout Queue) -> Value) -> Value {
    let (value, continuation) = queue.withLock { queue in
      let value = change(&queue)
      guard let waiter = queue.waiter, queue.failure != nil || waiter.isReached(queue) else {
        return (value, CheckedContinuation<Void, Never>?.none)
      }
      queue.waiter = nil
      return (value, waiter.continuation)
    }
    continuation?.resume()
    return value
  }

  private func write(_ bytes: ByteBuffer) throws(Problem) -> ProbeError? {
    try position.withLock { position throws(Problem) in
      guard let file = position.file else { throw .shuttingDown }
      try bytes.withUnsafeReadableBytes { bytes in
        position.hash?.update(bufferPointer: bytes)
        let result = Result { () throws(Problem) in try Disk.write(bytes, to: file, at: position.offset) }
        if case .success = result { position.content.update(bytes) }
        return result
      }.get()
      position.offset += Int64(bytes.readableBytes)
      try hurry(file, &position)
      if !position.isEnding, (length ?? 0) - position.offset <= Self.end {
        position.isEnding = true
        nearEnd()
      }
      // Bytes with a checksum count only once they have been proved to match it.
      return checksum == nil ? look(at: file, &position) : nil
    }
  }

  /// Tells the disk to begin writing, so that little is left to wait for at the end.
  private func hurry(_ file: OpenFile, _ position: inout Position) throws(Problem) {
    guard position.offset - position.hinted >= Self.hintEvery else { return }
    uploads_start_writing(file.number, off_t(position.hinted), off_t(position.offset - position.hinted))
    position.hinted = position.offset
    let due = position.offset - Self.mostUnwritten
    guard due > position.written else { return }
    position.isLost = true
    try Disk.call("sync_file_range") {
      uploads_wait_for_writing(file.number, off_t(position.written), off_t(due - position.written))
    }
    (position.isLost, position.written) = (false, due)
  }

  /// Makes durable what has come: of a part with a checksum only if it matches, and nothing if the disk fails. After
  /// this, nothing can be written any more.
  /// - Parameter isWhole: whether the request came to its end.
  /// - Returns: the offset of the upload.
  /// - Throws: a 460 for bytes that do not match their checksum, which are discarded.
  func finish(isWhole: Bool) async throws -> Int64 {
    await wait { !$0.isWriting }
    let failure = queue.withLock { $0.failure }
    let isWhole = isWhole && failure == nil
    let (refusal, offset) = try await store.onDisk { [self] () throws(Problem) -> (ProbeError?, Int64) in
      try position.withLock { position throws(Problem) in
        guard let file = position.file.take() else { throw .shuttingDown }
        defer { withExtendedLifetime(file) {} }
        let isRight = position.hash.map { isWhole && $0.digestBytes() == checksum?.digest } ?? true
        if !isRight || position.isLost { try goBack(file, &position) }
        do throws(Problem) {
          try Disk.call("fdatasync") { fdatasync(file.number) }
        } catch {
          try goBack(file, &position)
          throw error
        }
        store.remember(position.content, of: files.id)
        if checksum != nil, var state = try files.find()?.state {
          state.uncheckedFrom = nil
          try files.save(state)
        }
        if !isRight, isWhole {
          throw Problem(
            .checksumMismatch, "checksum", "the bytes do not have the checksum that was sent with them")
        }
        return (isRight ? look(at: file, &position) : nil, position.offset)
      }
    }
    if let failure = failure ?? refusal { throw failure }
    return offset
  }

  /// Goes back to where the part began.
  private func goBack(_ file: OpenFile, _ position: inout Position) throws(Problem) {
    try Disk.call("ftruncate") { ftruncate(file.number, off_t(start.count)) }
    (position.offset, position.content) = (start.count, start)
  }

  /// Has the sniffer look at the first bytes once they are there.
  private func look(at file: OpenFile, _ position: inout Position) -> ProbeError? {
    guard !position.isLookedAt, position.offset >= Self.head || position.offset == length else { return nil }
    position.isLookedAt = true
    let head = ReceivedHead(file: file, size: length ?? position.offset)
    do {
      try firstLook(SourceFile(path: SourcePath(files.path), identity: head.identity, handle: head))
      return nil
    } catch {
      return error.code.isAboutTheBytes ? error : nil
    }
  }
}

/// The beginning of a file that is still being received, as the sniffer reads it.
private struct ReceivedHead: SourceHandle {
  let file: OpenFile
  /// The number of bytes that the file will have.
  let size: Int64

  var identity: FileIdentity {
    FileIdentity(device: 0, inode: 0, size: size, modifiedAt: 0, changedAt: 0)
  }
  var descriptor: Int32? { file.number }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    while true {
      let count = pread(file.number, buffer.baseAddress, buffer.count, off_t(offset))
      if count >= 0 { return count }
      if errno != EINTR { throw SourceError(.unreadable, "its beginning can't be read") }
    }
  }

  func currentIdentity() throws(SourceError) -> FileIdentity { identity }
}
