import CUploads
import Crypto
import Glibc
import NIOCore
import Reel
import Synchronization

/// Takes the bytes of one request into an upload, and hashes them. For who holds the upload.
final class UploadWriter: Sendable {
  private struct Position {
    /// Nil once it is finished: nothing in this process can write to the upload then.
    var file: OpenFile?
    var offset: Int64
    /// Of the upload up to `offset`.
    var content: ContentHash
    /// Of the part, where it has a checksum.
    var hash: (any HashFunction)?
    /// How far the disk was told to begin.
    var hinted: Int64
    /// How far it has come.
    var written: Int64
    var isLookedAt: Bool
    /// Whether it is told that it will soon be whole.
    var isEnding = false
    /// Whether the disk would not take something: the kernel does not try again, and does not say so again.
    var isLost = false
  }
  /// What waits to be written.
  private struct Queue {
    private static let small = 64 << 10
    var pieces: [ByteBuffer] = []
    /// Bytes of them.
    var waiting = 0
    /// Of the upload, with them.
    var end: Int64
    /// Whether a thread of the disk's has some, or will.
    var isWriting = false
    var failure: (any Error)?
    var waiter: (isReached: @Sendable (Queue) -> Bool, continuation: CheckedContinuation<Void, Never>)?

    /// Small pieces are copied together: each of them would keep all the room that it was read into.
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
  /// Bytes that may wait to be written, for more to be read: of this upload, and of all.
  private static let mostWaiting = 1 << 20
  private static let mostWaitingOfAll = 64 << 20
  /// From so many bytes before its end on an upload will soon be whole.
  private static let end: Int64 = 32 << 20
  /// How many bytes tell what a file is: what the sniffer looks at.
  private static let head: Int64 = 65_536 + 16
  private static let hintEvery: Int64 = 2 << 20
  /// Bytes that the disk may be behind: whoever sends more at once waits for it now, and not at the end.
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

  /// Goes on where `upload` stands. What a dead process wrote of a part that it could not compare goes.
  /// - Parameters:
  ///   - checksum: of the bytes that come.
  ///   - nearEnd: called once when the upload will soon be whole, or when nobody knows.
  ///   - firstLook: throws for what is no video by its first bytes.
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

  /// Bytes of the upload so far, with those that are not written yet.
  var offset: Int64 { queue.withLock { $0.end } }

  /// Has what has come written, while more comes. Waits for room, and of the upload's first bytes until they are looked at.
  /// - Throws: ``Problem`` of the disk, ``ProbeError`` of the sniffer, as soon as it can tell. Of what is written later it is
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

  /// Until it is so, or something failed. For one at a time.
  private func wait(until isReached: @escaping @Sendable (Queue) -> Bool) async {
    await withCheckedContinuation { continuation in note { $0.waiter = (isReached, continuation) } }
  }

  /// Writes what has come meanwhile on a thread of the disk's; then it is another upload's turn.
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

  /// Changes the queue, and tells who waits for what it is then.
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
      // Of bytes that have a checksum it counts once they are proved to have it.
      return checksum == nil ? look(at: file, &position) : nil
    }
  }

  /// Has the disk begin with what was written, so that little is left to wait for at the end.
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

  /// Makes durable what has come; of a part with a checksum only what has it, and nothing where the disk fails. Nothing can be
  /// written any more then.
  /// - Parameter isWhole: whether the request came to its end.
  /// - Returns: bytes of the upload.
  /// - Throws: a 460 for bytes that do not have their checksum, which are gone.
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

  /// To where the part began.
  private func goBack(_ file: OpenFile, _ position: inout Position) throws(Problem) {
    try Disk.call("ftruncate") { ftruncate(file.number, off_t(start.count)) }
    (position.offset, position.content) = (start.count, start)
  }

  /// Looks at the first bytes once they are there.
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

/// The beginning of a file that is still coming, as the sniffer reads it.
private struct ReceivedHead: SourceHandle {
  let file: OpenFile
  /// Bytes that it is to have.
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
