import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelStorage

/// A part's place and digests.
struct HashedPart: Sendable, Hashable {
  let number: Int
  let range: Range<Int64>
  let sha256: [UInt8]
  /// Only where somebody asked for it.
  let md5: [UInt8]?
  /// Tells whether the same bytes are read when they are sent.
  let proof: BytesProof

  /// As `x-amz-checksum-sha256` has it.
  var checksum: String { Base64.text(sha256) }

  /// Whether `stored` is this part: by its SHA-256 where the store tells it, else by its MD5, which is the ETag of a
  /// part that the store did not encrypt with keys of its own.
  func isStored(as stored: StoredPart) -> Bool {
    guard stored.size == Int64(range.count) else { return false }
    if let checksum = stored.checksum { return checksum == self.checksum }
    return md5.map { Hexadecimal.text($0) == stored.etag.trimmingQuotes() } ?? false
  }
}

/// Reads a source from its beginning to its end, part by part, off the cooperative pool, and hashes each part before it
/// is sent, and the same bytes as a whole on the way.
///
/// A part goes out only as what was hashed here (``SourceBody``, which reads it again and holds it against a tag of these
/// bytes), and one that the store has already counts only by its digest. So what all parts together are is what was hashed here.
struct PartHashing: Sendable {
  private let source: UploadSource
  private let plan: PartPlan
  private let queue = BlockingQueue(label: "reel.s3-hash", width: 1)
  private var whole = SHA256()
  private let key = GMAC.Key()

  private static let chunk: Int64 = 1 << 20

  init(_ source: UploadSource, _ plan: PartPlan) {
    self.source = source
    self.plan = plan
  }

  /// Hashes part `number`; they are asked for in their order.
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
  mutating func part(_ number: Int, withMD5: Bool) async throws(UploadError) -> HashedPart {
    let range = plan.range(of: number)
    let tag = GMAC(key)
    var state = State(sha256: SHA256(), md5: withMD5 ? Insecure.MD5() : nil, whole: whole, tag: tag)
    var offset = range.lowerBound
    while offset < range.upperBound {
      try Self.checkCancellation()
      let before = state
      let chunk = offset..<min(offset + Self.chunk, range.upperBound)
      state = try await queue.run { [source] () throws(UploadError) in
        try before.updated(with: source, chunk)
      }
      offset = chunk.upperBound
    }
    whole = state.whole
    return HashedPart(
      number: number, range: range, sha256: state.sha256.finalize(),
      md5: state.md5.map { $0.finalize() }, proof: .tag(tag.finalize(), key: key))
  }

  /// All parts were hashed: are they those of the source's digest, and is there nothing behind them?
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
  func proveEnd() async throws(UploadError) {
    try Self.checkCancellation()
    let digest = whole.finalize()
    try await queue.run { [source] () throws(UploadError) in
      if digest != source.digest.bytes { throw UploadError.changed(source, "its bytes differ") }
      try source.proveEnd()
    }
  }

  static func checkCancellation() throws(UploadError) {
    if Task.isCancelled {
      throw UploadError(.cancelled, "cancelled before it was stored; try again to go on")
    }
  }

  private struct State: Sendable {
    var sha256: SHA256
    var md5: Insecure.MD5?
    var whole: SHA256
    let tag: GMAC

    /// Blocks.
    func updated(with source: UploadSource, _ range: Range<Int64>) throws(UploadError) -> State {
      var next = self
      try source.forEachPiece(of: range) { piece in
        next.sha256.update(bufferPointer: piece)
        next.md5?.update(bufferPointer: piece)
        next.whole.update(bufferPointer: piece)
        tag.update(bufferPointer: piece)
      }
      return next
    }
  }
}

extension String {
  /// An entity tag without its quotation marks.
  func trimmingQuotes() -> String {
    hasPrefix("\"") && hasSuffix("\"") && count >= 2 ? String(dropFirst().dropLast()) : self
  }
}

/// How a large object is cut into parts. The same size is always cut the same way, so that the parts of an upload that
/// broke fit the one that goes on with it.
///
/// Amazon's limits ("Amazon S3 multipart upload limits"): parts of 5 MiB to 5 GiB, the last one may be shorter; at most
/// 10,000 of them.
struct PartPlan: Sendable, Hashable {
  /// Bytes of the whole.
  let size: Int64
  /// Bytes of each part but the last.
  let partSize: Int64

  static let smallestPart: Int64 = 5 << 20
  static let mostParts: Int64 = 10_000

  /// - Parameter wanted: bytes of a part, where the limits allow it.
  init(size: Int64, wanted: Int64) {
    self.size = size
    let needed = (size + Self.mostParts - 1) / Self.mostParts
    let mebibyte: Int64 = 1 << 20
    partSize = max(Self.smallestPart, wanted, (needed + mebibyte - 1) / mebibyte * mebibyte)
  }

  var count: Int { Int((size + partSize - 1) / partSize) }

  /// The bytes of part `number`, counted from 1.
  func range(of number: Int) -> Range<Int64> {
    let start = Int64(number - 1) * partSize
    return start..<min(size, start + partSize)
  }
}

/// What a store that keeps MD5s, and does not encrypt with keys of its own, calls an object of these bytes. (Amazon's tag
/// of an object in parts is the MD5 of their MD5s and how many they are; some stores tell the MD5 of the whole.)
struct SourceTag {
  private let source: UploadSource
  private let plan: PartPlan

  init(_ source: UploadSource, _ plan: PartPlan) { (self.source, self.plan) = (source, plan) }

  /// Whether `tag` is theirs. All of them are read where it has the form of one, for MD5 only this store asks.
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
  func matches(_ tag: String) async throws(UploadError) -> Bool {
    let digits = tag.prefix { $0.isHexDigit }
    let isOfParts = tag.dropFirst(32) == "-\(plan.count)"
    guard digits.count == 32, tag.count == 32 || isOfParts else { return false }
    var whole = Insecure.MD5()
    for number in 1...plan.count {
      let md5 = try await Self.hashed(
        plan.range(of: number), of: source, after: isOfParts ? Insecure.MD5() : whole)
      if isOfParts { whole.update(data: md5.finalize()) } else { whole = md5 }
    }
    return Hexadecimal.text(whole.finalize()) == digits.lowercased()
  }

  /// The MD5 of bytes of `source`.
  static func md5(of range: Range<Int64>, of source: UploadSource) async throws(UploadError) -> [UInt8] {
    Array(try await hashed(range, of: source, after: Insecure.MD5()).finalize())
  }

  private static func hashed(
    _ range: Range<Int64>, of source: UploadSource, after start: Insecure.MD5
  ) async throws(UploadError) -> Insecure.MD5 {
    let queue = BlockingQueue(label: "reel.s3-tag", width: 1)
    var md5 = start
    var offset = range.lowerBound
    while offset < range.upperBound {
      try PartHashing.checkCancellation()
      let (before, piece) = (md5, offset..<min(offset + (8 << 20), range.upperBound))
      md5 = try await queue.run { () throws(UploadError) in
        var md5 = before
        try source.forEachPiece(of: piece) { md5.update(bufferPointer: $0) }
        return md5
      }
      offset = piece.upperBound
    }
    return md5
  }
}
