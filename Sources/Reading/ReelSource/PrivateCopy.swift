import CReel
import Glibc
import ReelCore
import ReelCrypto

/// A copy of a source where nobody else writes, with its digest.
public struct PrivateCopy: SourceHandle, ByteSource {
  /// The SHA-256 of the copy's bytes.
  public let digest: ContentDigest
  /// The checksums of the same bytes; nil if the copy becomes an object where it is, instead of being sent.
  private let sums: BlockSums?
  private let original: SourceFile
  private let file: any StagedFile
  /// The disk space that was reserved for it, held as long as the copy is.
  private let room: CopyRoom.Place?
  /// The copy's size in bytes if it was mended, as that may differ from the original's; otherwise nil.
  private let mendedSize: Int64?
  /// The size in bytes from which space is reserved before copying; for smaller copies that is not worth a system call.
  package static let leastReserved: Int64 = 16 << 20

  private init(
    _ hashed: HashedBytes, original: SourceFile, file: any StagedFile, room: CopyRoom.Place? = nil,
    mendedSize: Int64? = nil
  ) {
    self.room = room
    (digest, sums) = (hashed.digest, hashed.sums)
    self.original = original
    self.file = file
    self.mendedSize = mendedSize
  }

  /// The copy as a source. Its path and its state are the original's, except for the size of a mended copy.
  public var source: SourceFile {
    SourceFile(path: original.path, identity: resized(original.identity), handle: self)
  }

  private func resized(_ identity: FileIdentity) -> FileIdentity {
    guard let mendedSize, identity == original.identity else { return identity }
    return FileIdentity(
      device: identity.device, inode: identity.inode, size: mendedSize, modifiedAt: identity.modifiedAt,
      changedAt: identity.changedAt)
  }

  /// The copy's descriptor.
  public var descriptor: Int32? { file.descriptor }
  /// Always true.
  public var isPrivate: Bool { true }
  /// The copy's file.
  public var stagedFile: (any StagedFile)? { file }

  /// Reads the copy. Blocks.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    try rethrowing(as: SourceError.init) { () throws(SystemError) in
      try readFully(file.descriptor, into: buffer, at: offset)
    }
  }

  /// Returns the original's state, except for the size of a mended copy. Blocks.
  public func currentIdentity() throws(SourceError) -> FileIdentity {
    resized(try original.handle.currentIdentity())
  }

  /// Throws `sourceChanged` if the original has changed since it was opened: a program that writes to it may not have
  /// been done when it was copied. Blocks.
  public func checkUnchanged() throws(SourceError) {
    guard try original.handle.currentIdentity() == original.identity else { throw .changed }
  }
}

extension PrivateCopy {
  /// Why a copy could not be made.
  public enum Failure: Error {
    /// The original could not be read.
    case source(SourceError)
    /// The copy could not be written.
    case staging(UploadError)
  }

  /// Large enough that system calls cost nothing compared with hashing, and small enough to stay in a core's cache.
  private static let chunk = 256 * 1024
  /// The number of bytes between two hints to the disk.
  private static let hintEvery: Int64 = 1 << 20

  /// Copies all of `original` into a new file of `staging`, and hashes the bytes that it writes. If the file system can
  /// share blocks, it clones the file and hashes the clone. Blocks, for as long as the disk takes.
  ///
  /// - Parameter isCancelled: called before each chunk.
  /// - Returns: nil if it was cancelled.
  /// - Throws: ``Failure``: for the source, `sourceChanged` if its length or its times are not what they were when it
  ///   was opened, `unreadable`, `readLimit` (it is nearly all holes); for the copy, what ``StagingArea/makeFile()``
  ///   throws, and `storeFull` and the like when writing.
  public static func make(
    of original: SourceFile, in staging: any StagingArea, isCancelled: () -> Bool = { false }
  ) throws(Failure) -> PrivateCopy? {
    try rethrowing(as: Failure.source) { () throws(SourceError) in try Holes.check(original) }
    let file = try rethrowing(as: Failure.staging) { () throws(UploadError) in
      try staging.makeFile(upTo: original.size)
    }
    (original.handle as? OpenedFile)?.willBeReadInOrder()
    guard let (hashed, room) = try CopyPass(original: original, file: file).run(isCancelled) else {
      return nil
    }
    let copy = PrivateCopy(hashed, original: original, file: file, room: room)
    try rethrowing(as: Failure.source) { () throws(SourceError) in try copy.checkUnchanged() }
    return copy
  }

  /// Hashes `file`, a mended copy of `original` to which nobody writes from here on. Blocks, for as long as the disk
  /// takes.
  /// - Parameters:
  ///   - size: the size of the file in bytes.
  ///   - isCancelled: called before each chunk.
  /// - Returns: nil if it was cancelled.
  /// - Throws: ``Failure``.
  package static func mended(
    _ file: any StagedFile, size: Int64, of original: SourceFile, isCancelled: () -> Bool = { false }
  ) throws(Failure) -> PrivateCopy? {
    let pass = CopyPass(original: original, file: file)
    try pass.seal()
    guard let hashed = try pass.hash(staged: size, isCancelled) else { return nil }
    return PrivateCopy(hashed, original: original, file: file, mendedSize: size)
  }

  /// The result of one pass over the bytes.
  fileprivate struct HashedBytes {
    let digest: ContentDigest
    let sums: BlockSums?
  }

  private struct Hashing {
    private var digest = SHA256()
    private var sums: BlockSumming?

    init(sums wanted: Bool) { sums = wanted ? BlockSumming() : nil }

    mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
      digest.update(bufferPointer: bytes)
      sums?.update(bufferPointer: bytes)
    }

    func finalize() -> HashedBytes? {
      ContentDigest(sha256: digest.finalize()).map { HashedBytes(digest: $0, sums: sums?.finalize()) }
    }
  }

  /// One pass over the bytes.
  private struct CopyPass {
    let original: SourceFile
    let file: any StagedFile

    func run(_ isCancelled: () -> Bool) throws(Failure) -> (HashedBytes, CopyRoom.Place?)? {
      let isClone = original.handle.descriptor.map { reel_clone_file(file.descriptor, $0) == 0 } ?? false
      let leavesHoles = !isClone && Holes.areIn(original)
      // For a file with holes, space would have to be reserved only where its data is.
      let room = isClone || leavesHoles ? nil : try room(isCancelled)
      if isClone { try seal() }
      guard let hashed = try hash(isClone: isClone, leavesHoles: leavesHoles, isCancelled) else { return nil }
      if !isClone { try seal() }
      return (hashed, room)
    }

    private func room(_ isCancelled: () -> Bool) throws(Failure) -> CopyRoom.Place? {
      try doing("make a private copy") { () throws(SystemError) in
        try CopyRoom.shared.take(original.size, for: file.descriptor, isCancelled: isCancelled)
      }
    }

    private func hash(
      isClone: Bool, leavesHoles: Bool, _ isCancelled: () -> Bool
    ) throws(Failure) -> HashedBytes? {
      let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: Int(min(Int64(chunk), max(1, original.size.addingClamped(1)))), alignment: 4096)
      defer { buffer.deallocate() }
      var hash = Hashing(sums: !file.mayBecomeObject)
      var offset: Int64 = 0
      var hinted: Int64 = 0
      while !isCancelled() {
        let count = try isClone ? readClone(into: buffer, at: offset) : read(into: buffer, at: offset)
        if count == 0 { break }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        guard offset + Int64(count) <= original.size else { throw .source(.changed) }
        hash.update(bufferPointer: bytes)
        offset += Int64(count)
        if isClone { continue }
        if !leavesHoles || !Holes.isZero(bytes) { try write(bytes, at: offset - Int64(count)) }
        if offset - hinted >= hintEvery || offset == original.size {
          hint(from: hinted, to: offset)
          hinted = offset
        }
      }
      if isCancelled() { return nil }
      guard offset == original.size, let hashed = hash.finalize() else { throw .source(.changed) }
      if leavesHoles { try lengthen() }
      return hashed
    }

    /// Extends the copy over a hole at its end, for which nothing was written.
    private func lengthen() throws(Failure) {
      try doing("write a private copy") { () throws(SystemError) in
        _ = try retryingInterrupts("ftruncate") { ftruncate(file.descriptor, off_t(original.size)) }
      }
    }

    /// Hashes the file as it is, `size` bytes long.
    func hash(staged size: Int64, _ isCancelled: () -> Bool) throws(Failure) -> HashedBytes? {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 4096)
      defer { buffer.deallocate() }
      var (hash, offset) = (Hashing(sums: !file.mayBecomeObject), Int64(0))
      while !isCancelled() {
        let count = try readClone(into: buffer, at: offset)
        if count == 0 { break }
        hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        offset += Int64(count)
      }
      if isCancelled() { return nil }
      guard offset == size, let hashed = hash.finalize() else {
        throw .staging(file.failure(EIO, "read the mended file"))
      }
      return hashed
    }

    func seal() throws(Failure) {
      try rethrowing(as: Failure.staging) { () throws(UploadError) in try file.seal() }
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Failure) -> Int {
      try rethrowing(as: Failure.source) { () throws(SourceError) in
        try original.handle.read(into: buffer, at: offset)
      }
    }

    private func readClone(
      into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(Failure) -> Int {
      try doing("read a private copy") { () throws(SystemError) in
        try readFully(file.descriptor, into: buffer, at: offset)
      }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
      try doing("write a private copy") { () throws(SystemError) in
        var done = 0
        while done < bytes.count {
          done += try retryingInterrupts("pwrite") {
            pwrite(
              file.descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done,
              off_t(offset) + off_t(done))
          }
          try Failpoint.bytesWritten.reach()
        }
      }
    }

    private func doing<Value>(
      _ task: String, _ body: () throws(SystemError) -> Value
    ) throws(Failure) -> Value {
      try rethrowing(as: { Failure.staging(file.failure($0.code, task)) }, body)
    }

    /// Starts writing to disk what was copied, so that the later sync has little left to wait for. The kernel's answer
    /// is ignored.
    private func hint(from start: Int64, to end: Int64) {
      guard file.mayBecomeObject, end > start else { return }
      _ = reel_start_writing(file.descriptor, off_t(start), off_t(end - start))
    }
  }
}

extension PrivateCopy: SummedBytes {
  package var summedDigest: SummedDigest? { sums.map { SummedDigest(digest: digest, sums: $0) } }
}

/// The SHA-256 of a file's bytes.
public enum SourceDigest {
  /// How many bytes are read at a time: enough that system calls cost nothing compared with hashing, and few enough to
  /// stay in a core's cache.
  private static let chunk = 256 * 1024

  /// Reads the whole file. Blocks, for as long as the disk takes.
  ///
  /// - Parameters:
  ///   - isCancelled: called before each chunk.
  ///   - progress: called after each chunk with the number of bytes read so far.
  /// - Returns: nil if it was cancelled.
  /// - Throws: `sourceChanged` if the file is not what it was when it was opened; `readLimit` if it is nearly all
  ///   holes; `unreadable`.
  public static func sha256(
    of file: SourceFile, isCancelled: () -> Bool = { false }, progress: (Int64) -> Void = { _ in }
  ) throws(SourceError) -> ContentDigest? {
    try Holes.check(file)
    if file.size > Int64(chunk) { (file.handle as? OpenedFile)?.willBeReadInOrder() }
    // Most files that are not videos are small, so allocate no more than the file's length.
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(min(Int64(chunk), max(1, file.size.addingClamped(1)))), alignment: 64)
    defer { buffer.deallocate() }
    var hasher = SHA256()
    var offset: Int64 = 0
    while !isCancelled() {
      let count = try file.handle.read(into: buffer, at: offset)
      guard count > 0 else { return try digest(hasher.finalize(), of: file, length: offset) }
      hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      guard offset <= file.size else { throw .changed }
      progress(offset)
    }
    return nil
  }

  private static func digest(
    _ hash: [UInt8], of file: SourceFile, length: Int64
  ) throws(SourceError) -> ContentDigest? {
    guard length == file.size, try file.handle.currentIdentity() == file.identity else { throw .changed }
    return ContentDigest(sha256: hash)
  }
}
