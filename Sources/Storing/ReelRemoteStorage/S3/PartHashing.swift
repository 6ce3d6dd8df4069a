import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage

/// A part's place, and what it is.
struct HashedPart: Sendable, Hashable {
  let number: Int
  let range: Range<Int64>
  /// Only where somebody needs it, as the next.
  let sha256: [UInt8]?
  let md5: [UInt8]?
  /// Where the source's sums are known.
  let crc64: UInt64?
  /// Whether the store is told ``crc64``, rather than ``sha256``.
  let tellsSum: Bool
  /// Tells whether the same bytes are read when they are sent.
  let proof: BytesProof

  /// As `x-amz-checksum-sha256` has it.
  var checksum: String? { sha256.map { Base64.text($0) } }

  /// Whether `stored` is this part: by its SHA-256 where the store tells one, or by its CRC-64/NVME, else by its MD5, which
  /// is the ETag of a part that the store did not encrypt with keys of its own.
  func isStored(as stored: StoredPart) -> Bool {
    guard stored.size == Int64(range.count) else { return false }
    if let told = stored.checksum { return told == checksum }
    if stored.crc64 != nil, crc64 != nil { return hasSum(of: stored) }
    return md5.map { Hexadecimal.text($0) == stored.etag.trimmingQuotes() } ?? false
  }

  /// Whether the store tells of a part, which is this one, what identifies it, and what it has been seen to check. (A CRC
  /// that it keeps does not identify anything.)
  func isChecked(as stored: StoredPart) -> Bool {
    stored.checksum != nil && (!tellsSum || hasSum(of: stored))
  }

  private func hasSum(of stored: StoredPart) -> Bool {
    stored.crc64 != nil && stored.crc64 == crc64.map { CRC64.text(of: $0) }
  }

  func sent(etag: String, isChecked: Bool) -> SentPart {
    SentPart(
      number: number, etag: etag, sha256: sha256, crc64: tellsSum ? crc64 : nil, isChecked: isChecked)
  }
}

/// How the parts of an object are proved, and what has to be known of them.
struct PartProving: Sendable, Hashable {
  /// Of the whole source, taken with its digest from bytes that no other user can write: nothing of it is hashed again to
  /// find out whether it is still the same.
  let sums: BlockSums?
  /// Whether the store is told the CRC-64/NVME of each part, and refuses other bytes.
  let tellsSums: Bool
  /// Whether each part's SHA-256 is signed.
  let signs: Bool
  /// Whether the store has refused what a part must not be.
  let isChecked: Bool
  /// Whether it tells the CRC-64/NVME of each part that it has held against it.
  private let repliesWithSums: Bool

  /// By what `checks` the store makes of its own.
  init(_ source: UploadSource, _ plan: PartPlan, _ checks: S3Checks) {
    sums = Self.sums(source, plan)
    tellsSums = sums != nil && checks.sums
    signs = sums == nil || !checks.unsigned || !tellsSums && checks.signatures
    isChecked = tellsSums || signs && checks.signatures
    repliesWithSums = tellsSums && checks.repliesWithSums
  }

  /// Whether a part that was taken with `reply` was checked.
  func isChecked(by reply: HTTPReply) -> Bool {
    isChecked && (!repliesWithSums || reply.fields[.checksumCRC64] != nil)
  }

  /// Those that say something of each part.
  static func sums(_ source: UploadSource, _ plan: PartPlan) -> BlockSums? {
    plan.partSize.isMultiple(of: BlockSums.blockSize) ? source.sums : nil
  }

  /// What begins the upload.
  var fields: HTTPFields {
    if tellsSums { return .sums }
    return signs ? [.checksumAlgorithm: "SHA256", .checksumType: "COMPOSITE"] : [:]
  }
}

/// Gives the parts of a source one after the other, with what proves them. What has to be hashed for it is read off the
/// cooperative pool, each part before it is sent.
///
/// Of a source without sums, that is everything, and the same bytes as a whole on the way: a part goes out only as what was
/// hashed here (``SourceBody``, which reads it again and holds it against a tag of these bytes), and one that the store has
/// already counts only by its digest, so that what all parts together are is what was hashed here. Where there are sums,
/// they say what the parts of the bytes are whose digest is the source's.
struct PartHashing: Sendable {
  private let source: UploadSource
  private let plan: PartPlan
  private let proving: PartProving
  private let queue = BlockingQueue(label: "reel.s3-hash", width: 1)
  private var whole = SHA256()
  private let key = GMAC.Key()

  private static let chunk: Int64 = 1 << 20

  init(_ source: UploadSource, _ plan: PartPlan, _ proving: PartProving) {
    self.source = source
    self.plan = plan
    self.proving = proving
  }

  /// What is wanted of a part beside what is needed anyhow.
  struct Wishes: OptionSet {
    let rawValue: Int
    static let sha256 = Wishes(rawValue: 1)
    static let md5 = Wishes(rawValue: 2)
  }

  /// Part `number`; they are asked for in their order.
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
  mutating func part(_ number: Int, _ wishes: Wishes) async throws(UploadError) -> HashedPart {
    let range = plan.range(of: number)
    let sum = proving.sums?.sum(of: range)
    let tag = sum == nil ? GMAC(key) : nil
    var state = State(
      sha256: proving.signs || wishes.contains(.sha256) ? SHA256() : nil,
      md5: wishes.contains(.md5) ? Insecure.MD5() : nil, whole: sum == nil ? whole : nil, tag: tag)
    var offset = state.isIdle ? range.upperBound : range.lowerBound
    while offset < range.upperBound {
      try Self.checkCancellation()
      let before = state
      let chunk = offset..<min(offset + Self.chunk, range.upperBound)
      state = try await queue.run { [source] () throws(UploadError) in
        try before.updated(with: source, chunk)
      }
      offset = chunk.upperBound
    }
    whole = state.whole ?? whole
    let proof: BytesProof? = sum.map { .crc64($0) } ?? tag.map { .tag($0.finalize(), key: key) }
    guard let proof else { preconditionFailure("a part has a sum or a tag") }
    return HashedPart(
      number: number, range: range, sha256: state.sha256?.finalize(), md5: state.md5?.finalize(),
      crc64: sum, tellsSum: proving.tellsSums, proof: proof)
  }

  /// There were all parts: are they those of the source's digest, and is there nothing behind them?
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
  func proveEnd() async throws(UploadError) {
    try Self.checkCancellation()
    let digest = proving.sums == nil ? whole.finalize() : source.digest.bytes
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
    var sha256: SHA256?
    var md5: Insecure.MD5?
    var whole: SHA256?
    let tag: GMAC?

    var isIdle: Bool { sha256 == nil && md5 == nil && whole == nil }

    /// Blocks.
    func updated(with source: UploadSource, _ range: Range<Int64>) throws(UploadError) -> State {
      var next = self
      try source.forEachPiece(of: range) { piece in
        next.sha256?.update(bufferPointer: piece)
        next.md5?.updateWithOthers(bufferPointer: piece)
        next.whole?.update(bufferPointer: piece)
        tag?.update(bufferPointer: piece)
      }
      return next
    }
  }
}

extension String {
  /// An entity tag without its quotation marks, and without what says that it is weak: what compresses a reply on its way
  /// makes it so (nginx), and what stands in it stays the same.
  func trimmingQuotes() -> String {
    let tag = trimmingPrefix("W/")
    return tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count >= 2
      ? String(tag.dropFirst().dropLast()) : String(tag)
  }

  /// Whether an entity tag has the form of an MD5.
  var isMD5: Bool {
    Hexadecimal.bytes(trimmingQuotes().lowercased())?.count == 16
  }
}

/// How a large object is cut into parts. The same size is always cut the same way, so that the parts of an upload that
/// broke fit the one that goes on with it.
///
/// Amazon's limits ("Amazon S3 multipart upload limits"): parts of 5 MiB to 5 GiB, the last one may be shorter; at most
/// 10,000 of them. Ceph takes a completion of 1 MiB (`COMPLETE_MULTIPART_MAX_LEN`), which names each with its tag and its
/// checksum: some 6,000. Scaleway takes 1,000 ("Multipart uploads").
struct PartPlan: Sendable, Hashable {
  /// Bytes of the whole.
  let size: Int64
  /// Bytes of each part but the last.
  let partSize: Int64

  static let smallestPart: Int64 = 5 << 20
  static let largestPart: Int64 = 5 << 30
  static let mostParts: Int64 = 10_000
  /// As many as every store takes.
  static let wantedParts: Int64 = 1_000

  /// - Parameter wanted: bytes of a part, where the limits allow it.
  init(size: Int64, wanted: Int64) {
    self.size = size
    partSize = max(
      Self.smallestPart, wanted, min(Self.size(of: size, in: Self.wantedParts), Self.largestPart),
      Self.size(of: size, in: Self.mostParts))
  }

  /// Whole mebibytes.
  private static func size(of whole: Int64, in parts: Int64) -> Int64 {
    let mebibyte: Int64 = 1 << 20
    return ((whole + parts - 1) / parts + mebibyte - 1) / mebibyte * mebibyte
  }

  var count: Int { Int((size + partSize - 1) / partSize) }

  /// Whether a part is one of these, by its place and its length.
  func has(_ part: StoredPart) -> Bool {
    (1...count).contains(part.number) && part.size == Int64(range(of: part.number).count)
  }

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

  /// Of an object that is put in one request.
  init(whole source: UploadSource) { self.init(source, PartPlan(size: source.size, wanted: source.size)) }

  /// Whether `tag` is theirs. All of them are read where it has the form of one, for MD5 only this store asks.
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
  func matches(_ tag: String) async throws(UploadError) -> Bool {
    let digits = tag.prefix { $0.isHexDigit }
    let isOfParts = tag.dropFirst(32) == "-\(plan.count)"
    guard digits.count == 32, tag.count == 32 || isOfParts else { return false }
    var whole = Insecure.MD5()
    for number in stride(from: 1, through: plan.count, by: 1) {
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
        try source.forEachPiece(of: piece) { md5.updateWithOthers(bufferPointer: $0) }
        return md5
      }
      offset = piece.upperBound
    }
    return md5
  }
}
