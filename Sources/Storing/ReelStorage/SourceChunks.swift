import ReelCore
import ReelCrypto

/// A source's bytes, or those of a range, in chunks that are read off the cooperative pool and proved. Meant for
/// uploaders that send what they read.
///
/// The last chunk is delivered only if all bytes together have the digest that they should have, whatever the source
/// says about changes. So a store that makes an object visible after the last chunk never shows one that changed,
/// shrank, grew or could not be read.
public struct SourceChunks: AsyncSequence, Sendable {
  /// A chunk of bytes.
  public typealias Element = [UInt8]
  /// `sourceChanged`, `sourceUnreadable` or `cancelled`.
  public typealias Failure = UploadError

  private let range: ProvedRange
  private let size: Int

  /// Reads all of `source`.
  /// - Parameter size: the size in bytes of each chunk but the last, which may be shorter; at least 1. An empty source
  ///   yields no chunk.
  public init(of source: UploadSource, size: Int = 1 << 20) {
    self.init(0..<source.size, of: source, proof: .sha256(source.digest.bytes), size: size)
  }

  /// Reads the bytes of `range`, for which `proof` was made.
  package init(_ range: Range<Int64>, of source: UploadSource, proof: BytesProof, size: Int) {
    self.range = ProvedRange(source: source, range: range, proof: proof)
    self.size = Swift.max(1, size)
  }

  /// Returns an iterator that begins at the first byte.
  public func makeAsyncIterator() -> Iterator { Iterator(range, size) }

  /// Yields one chunk after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let range: ProvedRange
    private let size: Int
    private let queue = BlockingQueue(label: "reel.source", width: 1)
    private var hash: any RunningHash
    private var offset: Int64
    private var isOver = false

    fileprivate init(_ range: ProvedRange, _ size: Int) {
      self.range = range
      self.size = size
      hash = range.proof.makeHash()
      offset = range.range.lowerBound
    }

    /// Returns the next chunk, or nil after the last.
    /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(UploadError) -> [UInt8]? {
      if isOver { return nil }
      let (range, start, size, before) = (self.range, offset, size, hash)
      let done = try await queue.runCancellable { flag throws(UploadError) in
        try flag.check()
        return try range.chunk(at: start, size, before, flag)
      }
      hash = done.hash
      offset += Int64(done.chunk.count)
      isOver = offset == range.range.upperBound
      return done.chunk.isEmpty ? nil : done.chunk
    }
  }
}

/// What bytes are expected to be.
package enum BytesProof: Hashable, Sendable {
  /// Their SHA-256.
  case sha256([UInt8])
  /// The GMAC tag that an earlier reader computed under `key`.
  case tag([UInt8], key: GMAC.Key)
  /// Their CRC-64/NVME. For bytes that no other user can write, it detects what a disk or memory may do to them.
  case crc64(UInt64)

  fileprivate func makeHash() -> any RunningHash {
    switch self {
    case .sha256: SHA256()
    case .tag(_, let key): GMAC(key)
    case .crc64: CRC64()
    }
  }

  fileprivate var expected: [UInt8] {
    switch self {
    case .sha256(let digest), .tag(let digest, _): digest
    case .crc64(let sum): CRC64.bytes(of: sum)
    }
  }
}

extension UploadSource {
  /// The cheapest available proof of all of its bytes.
  package var proof: BytesProof { sums.map { .crc64($0.whole) } ?? .sha256(digest.bytes) }
}

/// A range of a source, and what its bytes are expected to be.
private struct ProvedRange: Sendable {
  let source: UploadSource
  let range: Range<Int64>
  let proof: BytesProof

  /// Reads and hashes one chunk. The last one is returned only if all bytes are what they are expected to be.
  /// - Parameter hash: the hash of the bytes before it.
  func chunk(
    at offset: Int64, _ size: Int, _ hash: any RunningHash, _ cancellation: CancellationFlag
  ) throws(UploadError) -> (chunk: [UInt8], hash: any RunningHash) {
    let chunk = try read(Int(min(Int64(size), range.upperBound - offset)), at: offset, cancellation)
    var hash = hash
    hash.update(data: chunk)
    if offset + Int64(chunk.count) == range.upperBound { try prove(hash, cancellation) }
    return (chunk, hash)
  }

  private func read(
    _ count: Int, at offset: Int64, _ cancellation: CancellationFlag
  ) throws(UploadError) -> [UInt8] {
    var failure: UploadError?
    // The buffer is not zeroed first, as every byte of it is read.
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(UploadError) {
        while filled < count {
          try cancellation.check()
          let rest = UnsafeMutableRawBufferPointer(
            rebasing: UnsafeMutableRawBufferPointer(buffer)[filled..<count])
          let more = try source.read(into: rest, at: offset + Int64(filled))
          if more == 0 { throw UploadError.changed(source, "it shrank") }
          filled += more
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  private func prove(_ hash: any RunningHash, _ cancellation: CancellationFlag) throws(UploadError) {
    if range.upperBound == source.size { try source.checkEnd() }
    if hash.finalize() != proof.expected { throw UploadError.changed(source, "its bytes differ") }
    try source.checkUnchanged()
    try cancellation.check()
  }
}

/// Calls to a source, with its errors turned into those of its upload. All of them block.
extension UploadSource {
  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(UploadError) -> Int {
    try rethrowing(as: UploadError.init) { () throws(SourceError) in
      try bytes.read(into: buffer, at: offset)
    }
  }

  package func checkUnchanged() throws(UploadError) {
    try rethrowing(as: UploadError.init) { () throws(SourceError) in try bytes.checkUnchanged() }
  }

  /// Throws if there are bytes beyond the end.
  package func checkEnd() throws(UploadError) {
    let beyond = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { byte throws(UploadError) in
      try read(into: byte, at: size)
    }
    if beyond > 0 { throw UploadError.changed(self, "it grew") }
  }
}

extension ContentDigest {
  /// The SHA-256 of these bytes.
  public init(of bytes: some Sequence<UInt8>) {
    self.init(digest: SHA256.hash(data: bytes))
  }
}

extension UploadError {
  /// Turns a failure of the source during an upload into an error of the upload.
  public init(_ error: SourceError) {
    self.init(error.code == .sourceChanged ? .sourceChanged : .sourceUnreadable, error.text)
  }

  /// The error for bytes that are no longer those of the digest.
  /// - Parameter how: what was seen, such as "it grew".
  public static func changed(_ source: UploadSource, _ how: String) -> UploadError {
    UploadError(
      .sourceChanged,
      "the file changed while it was stored (\(how), from \(source.size) bytes): let whatever writes it "
        + "finish, then try again")
  }
}

extension CancellationFlag {
  /// - Throws: `cancelled` once it is set.
  func check() throws(UploadError) {
    if isSet {
      throw UploadError(.cancelled, "cancelled before it was stored; try again to resume")
    }
  }
}
