import HTTPTypes
import ReelCore
import Synchronization

/// Parts that the store takes from an object of its own, which is what is stored, so that they need not be sent (AWS,
/// UploadPartCopy).
///
/// Each counts only when the store tells the SHA-256 of what it took, and that is the part's: whoever wrote the object may
/// have written others with the same CRC, or the same MD5. A store that can't do this, may not, or has another object there
/// meanwhile is not asked for the rest: that is sent.
final class PartCopying: Sendable {
  private let fields: HTTPFields
  private let isGivenUp = Atomic(false)

  /// - Parameter source: as `x-amz-copy-source` names it.
  init(_ source: String, tag: String) {
    fields = [.copySource: source, .copySourceIfMatch: tag]
  }

  /// Whether the next part is worth a request.
  var isWorthATry: Bool { !isGivenUp.load(ordering: .relaxed) }

  /// Asks for `part` of the upload `id`.
  /// - Returns: nil where the part has to be sent.
  /// - Throws: what ends the upload, or may pass.
  func copy(
    _ part: HashedPart, of key: ObjectKey, _ id: String, by client: S3Client
  ) async throws(UploadError) -> SentPart? {
    var request = S3Request(
      .put, key, query: [("partNumber", "\(part.number)"), ("uploadId", id)],
      task: "copy part \(part.number) of \(key)", permission: "s3:PutObject")
    request.fields = fields
    request.answer = .lateWord
    request.thinking = .seconds(30 + Int64(part.range.count) / (16 << 20))
    request.fields[.copySourceRange] = "bytes=\(part.range.lowerBound)-\(part.range.upperBound - 1)"
    guard case .reply(let reply) = try await client.outcome(of: request),
      let copied = S3Documents.copiedPart(reply.body, number: part.number, size: Int64(part.range.count)),
      copied.checksum != nil, part.isStored(as: copied)
    else {
      isGivenUp.store(true, ordering: .relaxed)
      return nil
    }
    // Nobody has told the store what it tells: it has looked at the bytes.
    return part.sent(etag: copied.etag, isChecked: true)
  }
}

extension PartCopying {
  /// Nil where `origin` is of another service than `store`.
  convenience init?(_ origin: ObjectOrigin?, to store: S3Store) {
    guard let origin, origin.service == store.service else { return nil }
    self.init(PercentEncoding.path("\(origin.bucket)/\(origin.name)"), tag: origin.tag)
  }
}

extension S3Store {
  /// What tells the stores apart that know each other's buckets.
  var service: String { endpoint.map { "s3+\($0.origin)" } ?? "s3" }
}

extension S3Documents {
  /// The answer to UploadPartCopy. The size is what was asked for: the store does not tell it.
  static func copiedPart(_ body: [UInt8], number: Int, size: Int64) -> StoredPart? {
    guard let result = XMLNode(parsing: body), result.name.hasPrefix("CopyPart"), let etag = result["ETag"]
    else { return nil }
    return StoredPart(number: number, etag: etag, size: size, checksum: result["ChecksumSHA256"])
  }
}

extension HTTPField.Name {
  fileprivate static let copySource = ours("x-amz-copy-source")
  fileprivate static let copySourceIfMatch = ours("x-amz-copy-source-if-match")
  fileprivate static let copySourceRange = ours("x-amz-copy-source-range")
}
