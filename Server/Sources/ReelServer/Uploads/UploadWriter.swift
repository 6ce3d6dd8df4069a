import CUploads
import Crypto
import Glibc
import NIOCore
import Reel
import Synchronization

/// Takes the bytes of one request into an upload. For who holds the upload.
final class UploadWriter: Sendable {
  private struct Position {
    var offset: Int64
    var hash: (any HashFunction)?
    /// How far the disk was told to begin.
    var hinted: Int64
    var isLookedAt: Bool
  }
  /// How many bytes tell what a file is: what the sniffer looks at.
  private static let head: Int64 = 65_536 + 16
  private static let hintEvery: Int64 = 4 << 20

  private let files: UploadFiles
  private let file: OpenFile
  private let disk: DiskThreads
  private let start: Int64
  private let length: Int64?
  private let checksum: PartChecksum?
  private let firstLook: @Sendable (SourceFile) throws(ProbeError) -> Void
  private let position: Mutex<Position>

  private init(
    _ files: UploadFiles, _ file: OpenFile, _ disk: DiskThreads, from start: Int64, of length: Int64?,
    _ checksum: PartChecksum?, _ firstLook: @escaping @Sendable (SourceFile) throws(ProbeError) -> Void
  ) {
    (self.files, self.file, self.disk, self.start, self.length) = (files, file, disk, start, length)
    (self.checksum, self.firstLook) = (checksum, firstLook)
    position = Mutex(
      Position(
        offset: start, hash: checksum?.algorithm.hasher(), hinted: start, isLookedAt: start >= Self.head))
  }

  /// Goes on where `upload` stands. What a dead process wrote of a part that it could not compare goes.
  /// - Parameters:
  ///   - checksum: of the bytes that come.
  ///   - firstLook: throws for what is no video by its first bytes.
  static func open(
    _ upload: Upload, in store: UploadStore, checksum: PartChecksum? = nil,
    firstLook: @escaping @Sendable (SourceFile) throws(ProbeError) -> Void
  ) async throws(Problem) -> UploadWriter {
    let (files, disk) = (store.files(upload.id), store.disk)
    return try await disk.run { () throws(Problem) in
      let file = try Disk.open(files.path, O_RDWR)
      try Disk.call("ftruncate") { ftruncate(file.number, off_t(upload.offset)) }
      var state = upload.state
      let uncheckedFrom = checksum == nil ? nil : upload.offset
      if state.uncheckedFrom != uncheckedFrom {
        state.uncheckedFrom = uncheckedFrom
        try files.save(state)
      }
      return UploadWriter(files, file, disk, from: upload.offset, of: state.length, checksum, firstLook)
    }
  }

  /// Bytes of the upload so far.
  var offset: Int64 { position.withLock { $0.offset } }

  /// Writes what has come, and waits until it is written.
  /// - Throws: ``Problem`` of the disk, ``ProbeError`` of the sniffer, as soon as it can tell.
  func append(_ bytes: ByteBuffer) async throws {
    let refusal: ProbeError? = try await disk.run { [self] () throws(Problem) in
      try position.withLock { position throws(Problem) in
        try bytes.withUnsafeReadableBytes { bytes in
          position.hash?.update(bufferPointer: bytes)
          return Result { () throws(Problem) in try Disk.write(bytes, to: file, at: position.offset) }
        }.get()
        position.offset += Int64(bytes.readableBytes)
        if position.offset - position.hinted >= Self.hintEvery {
          // Little is left to wait for at the end then.
          uploads_start_writing(file.number, off_t(position.hinted), off_t(position.offset - position.hinted))
          position.hinted = position.offset
        }
        // Of bytes that have a checksum it counts once they are proved to have it.
        return checksum == nil ? look(at: &position) : nil
      }
    }
    if let refusal { throw refusal }
  }

  /// Makes durable what has come; of a part with a checksum only what has it.
  /// - Parameter isWhole: whether the request came to its end.
  /// - Returns: bytes of the upload.
  /// - Throws: a 460 for bytes that do not have their checksum, which are gone.
  func finish(isWhole: Bool) async throws -> Int64 {
    let (refusal, offset) = try await disk.run { [self] () throws(Problem) -> (ProbeError?, Int64) in
      try position.withLock { position throws(Problem) in
        let isRight = position.hash.map { isWhole && $0.digestBytes() == checksum?.digest } ?? true
        if !isRight {
          try Disk.call("ftruncate") { ftruncate(file.number, off_t(start)) }
          position.offset = start
        }
        try Disk.call("fdatasync") { fdatasync(file.number) }
        if checksum != nil, var state = try files.find()?.state {
          state.uncheckedFrom = nil
          try files.save(state)
        }
        if !isRight, isWhole {
          throw Problem(
            .checksumMismatch, "checksum", "the bytes do not have the checksum that was sent with them")
        }
        return (isRight ? look(at: &position) : nil, position.offset)
      }
    }
    if let refusal { throw refusal }
    return offset
  }

  /// Looks at the first bytes once they are there.
  private func look(at position: inout Position) -> ProbeError? {
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
