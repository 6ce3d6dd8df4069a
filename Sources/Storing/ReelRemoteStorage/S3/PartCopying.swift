import HTTPTypes
import ReelCore
import Synchronization

/// Copies parts from an object that the store has already and whose bytes are to be stored, so that they need not be
/// sent (AWS, UploadPartCopy).
///
/// A copied part counts only if the store reports its SHA-256, and that is the part's: whoever wrote the object may
/// have written others with the same CRC, or the same MD5. If the store can't copy, has no permission to, or has
/// another object there by now, the remaining parts are sent instead.
final class PartCopying: Sendable {
  private let fields: HTTPFields
  private let isGivenUp = Atomic(false)

  /// - Parameter source: the object, as `x-amz-copy-source` names it.
  init(_ source: String, tag: String) {
    fields = [.copySource: source, .copySourceIfMatch: tag]
  }

  /// Whether it is worth asking for the next part.
  var isWorthATry: Bool { !isGivenUp.load(ordering: .relaxed) }

  /// Copies `part` into the upload `id`.
  /// - Returns: Nil if the part has to be sent.
  /// - Throws: an error that ends the upload, or may be temporary.
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
    // Nobody told the store the digest that it reports, so it has read the bytes.
    return part.sent(etag: copied.etag, isChecked: true)
  }
}

extension PartCopying {
  /// Nil if `origin` belongs to another service than `store`.
  convenience init?(_ origin: ObjectOrigin?, to store: S3Store) {
    guard let origin, origin.service == store.service else { return nil }
    self.init(PercentEncoding.path("\(origin.bucket)/\(origin.name)"), tag: origin.tag)
  }
}

extension S3Store {
  /// Identifies the service: stores of one service know each other's buckets.
  var service: String { endpoint.map { "s3+\($0.origin)" } ?? "s3" }
}

extension S3Documents {
  /// Parses the reply to UploadPartCopy. The size is the requested one: the store does not report it.
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
