import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage

/// The position of a part, and what identifies its bytes.
struct HashedPart: Sendable, Hashable {
  let number: Int
  let range: Range<Int64>
  /// Nil unless needed, like ``md5``.
  let sha256: [UInt8]?
  let md5: [UInt8]?
  /// Nil unless the source's sums are known.
  let crc64: UInt64?
  /// Whether the store is told ``crc64`` rather than ``sha256``.
  let tellsSum: Bool
  /// Verifies that the same bytes are read when they are sent.
  let proof: BytesProof

  /// The value of `x-amz-checksum-sha256`.
  var checksum: String? { sha256.map { Base64.text($0) } }

  /// Whether `stored` is this part: by its SHA-256 if the store reports one, or by its CRC-64/NVME, otherwise by its
  /// MD5, which is the ETag of a part that the store did not encrypt with keys of its own.
  func isStored(as stored: StoredPart) -> Bool {
    guard stored.size == Int64(range.count) else { return false }
    if let told = stored.checksum { return told == checksum }
    if stored.crc64 != nil, crc64 != nil { return hasSum(of: stored) }
    return md5.map { Hexadecimal.text($0) == stored.etag.trimmingQuotes() } ?? false
  }

  /// Whether the store reports, for a part that is this one, both what identifies it and what the store has been seen
  /// to check. (A stored CRC identifies nothing.)
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

/// How the parts of an object are proved, and what has to be known about them.
struct PartProving: Sendable, Hashable {
  /// The sums of the whole source, computed together with its digest from bytes that no other user can write: nothing
  /// is hashed again to find out whether it has changed.
  let sums: BlockSums?
  /// Whether the store is told the CRC-64/NVME of each part, and refuses other bytes.
  let tellsSums: Bool
  /// Whether each part's SHA-256 is signed.
  let signs: Bool
  /// Whether the store has been seen to refuse parts with wrong bytes.
  let isChecked: Bool
  /// Whether it reports the CRC-64/NVME of each part that it has checked.
  private let repliesWithSums: Bool

  /// Chooses by the `checks` that the store makes.
  init(_ source: UploadSource, _ plan: PartPlan, _ checks: S3Checks) {
    sums = Self.sums(source, plan)
    tellsSums = sums != nil && checks.sums
    signs = sums == nil || !checks.unsigned || !tellsSums && checks.signatures
    isChecked = tellsSums || signs && checks.signatures
    repliesWithSums = tellsSums && checks.repliesWithSums
  }

  /// Whether a part accepted with `reply` was checked.
  func isChecked(by reply: HTTPReply) -> Bool {
    isChecked && (!repliesWithSums || reply.fields[.checksumCRC64] != nil)
  }

  /// Returns the source's sums, if they can be computed for each part.
  static func sums(_ source: UploadSource, _ plan: PartPlan) -> BlockSums? {
    plan.partSize.isMultiple(of: BlockSums.blockSize) ? source.sums : nil
  }

  /// The fields of the request that begins the upload.
  var fields: HTTPFields {
    if tellsSums { return .sums }
    return signs ? [.checksumAlgorithm: "SHA256", .checksumType: "COMPOSITE"] : [:]
  }
}

/// Hashes the parts of a source one after another, as far as that is needed to prove them. The source is read off the
/// cooperative pool, each part before it is sent.
///
/// For a source without sums, everything is hashed, both by part and as a whole. A part is sent only as it was hashed
/// here (``SourceBody`` reads it again and compares it with a tag of these bytes), and a part that the store has
/// already counts only by its digest. So all parts together are what was hashed here. If there are sums, they describe
/// the parts of the bytes that have the source's digest.
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

  /// Digests that are wanted of a part in addition to those needed anyway.
  struct Wishes: OptionSet {
    let rawValue: Int
    static let sha256 = Wishes(rawValue: 1)
    static let md5 = Wishes(rawValue: 2)
  }

  /// Returns part `number`. Parts must be requested in order.
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

  /// Checks, after the last part, that all parts together have the source's digest, and that nothing follows them.
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
      throw UploadError(.cancelled, "cancelled before it was stored; try again to resume")
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
  /// Returns an ETag without its quotation marks, and without the mark of a weak one. A proxy that compresses a reply
  /// makes its ETag weak (nginx), but leaves the value as it is.
  func trimmingQuotes() -> String {
    let tag = trimmingPrefix("W/")
    return tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count >= 2
      ? String(tag.dropFirst().dropLast()) : String(tag)
  }

  /// Whether an ETag has the form of an MD5.
  var isMD5: Bool {
    Hexadecimal.bytes(trimmingQuotes().lowercased())?.count == 16
  }
}

/// How a large object is cut into parts. The same size is always cut in the same way, so that the parts of an
/// interrupted upload fit the one that resumes it.
///
/// Amazon's limits ("Amazon S3 multipart upload limits"): parts of 5 MiB to 5 GiB, of which the last may be shorter; at
/// most 10,000 of them. Ceph accepts a completion of 1 MiB (`COMPLETE_MULTIPART_MAX_LEN`), which lists each part with
/// its ETag and its checksum: some 6,000. Scaleway accepts 1,000 ("Multipart uploads").
struct PartPlan: Sendable, Hashable {
  /// The size of the whole in bytes.
  let size: Int64
  /// The size in bytes of each part but the last.
  let partSize: Int64

  static let smallestPart: Int64 = 5 << 20
  static let largestPart: Int64 = 5 << 30
  static let mostParts: Int64 = 10_000
  /// The number of parts that every store accepts.
  static let wantedParts: Int64 = 1_000

  /// - Parameter wanted: the preferred size of a part in bytes, if the limits allow it.
  init(size: Int64, wanted: Int64) {
    self.size = size
    partSize = max(
      Self.smallestPart, wanted, min(Self.size(of: size, in: Self.wantedParts), Self.largestPart),
      Self.size(of: size, in: Self.mostParts))
  }

  /// Returns the size of a part, rounded up to whole mebibytes.
  private static func size(of whole: Int64, in parts: Int64) -> Int64 {
    let mebibyte: Int64 = 1 << 20
    return ((whole + parts - 1) / parts + mebibyte - 1) / mebibyte * mebibyte
  }

  var count: Int { Int((size + partSize - 1) / partSize) }

  /// Whether a part fits this plan, by its number and its size.
  func has(_ part: StoredPart) -> Bool {
    (1...count).contains(part.number) && part.size == Int64(range(of: part.number).count)
  }

  /// Returns the range of part `number`, counted from 1.
  func range(of number: Int) -> Range<Int64> {
    let start = Int64(number - 1) * partSize
    return start..<min(size, start + partSize)
  }
}

/// The ETag that a store which keeps MD5s, and does not encrypt with keys of its own, gives to an object of these
/// bytes. (Amazon's ETag for an object in parts is the MD5 of their MD5s and their number; some stores report the MD5
/// of the whole.)
struct SourceTag {
  private let source: UploadSource
  private let plan: PartPlan

  init(_ source: UploadSource, _ plan: PartPlan) { (self.source, self.plan) = (source, plan) }

  /// For an object that is put in one request.
  init(whole source: UploadSource) { self.init(source, PartPlan(size: source.size, wanted: source.size)) }

  /// Whether `tag` is the ETag of these bytes. If it has the form of one, all of them are read; only such a store needs
  /// the MD5.
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

  /// Returns the MD5 of a range of `source`.
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
