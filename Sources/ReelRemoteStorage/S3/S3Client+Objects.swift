import HTTPTypes
import ReelCore
import ReelCrypto

/// What a store says of an object without giving its bytes.
struct S3Head: Sendable, Hashable {
  /// Bytes; nil when the store does not tell.
  let size: Int64?
  /// Without its quotation marks.
  let etag: String?
  /// `x-amz-checksum-sha256`, of whatever it may be: the whole, or the parts' digests.
  let sha256: String?
  /// `x-amz-checksum-type`.
  let checksumType: String?

  init(_ reply: HTTPReply) {
    size = reply.fields[.contentLength].flatMap { Int64($0) }
    etag = reply.fields[.eTag]?.trimmingQuotes()
    sha256 = reply.fields[.checksumSHA256]
    checksumType = reply.fields[.checksumType]
  }

  /// The SHA-256 of the object's bytes, where it is sure that the checksum is of those: one of an object in parts may be
  /// of the parts' digests, and some stores leave out the number of parts that says so.
  var digest: ContentDigest? {
    guard checksumType.map({ $0 == "FULL_OBJECT" }) ?? !(etag?.contains("-") ?? false) else { return nil }
    return sha256.flatMap { Base64.bytes($0) }.flatMap { ContentDigest(sha256: $0) }
  }

  /// Whether the checksum is that of the whole, or the composite one of `parts`, with their number behind it or without
  /// (AWS, "Checking object integrity").
  func tells(_ digest: ContentDigest, orParts parts: [SentPart]) -> Bool {
    guard let sha256 else { return false }
    let composite = Base64.text(Array(SHA256.hash(data: parts.flatMap(\.sha256))))
    return [Base64.text(digest.bytes), composite, "\(composite)-\(parts.count)"].contains(sha256)
  }
}

extension S3Client {
  /// What the store says of the object; nil when there is none.
  /// - Parameter size: bytes that it has, where that is known: `rclone serve s3` hashes them before it answers.
  func head(_ key: ObjectKey, size: Int64 = 0) async throws(UploadError) -> S3Head? {
    var request = S3Request(.head, key, task: "look for \(key)", permission: "s3:GetObject and s3:ListBucket")
    request.fields = [.checksumMode: "ENABLED"]
    // A slow disk, or a busy one.
    request.thinking = .seconds(size / (16 << 20))
    switch try await outcome(of: request) {
    case .reply(let reply):
      let head = S3Head(reply)
      // Every object has one: a reply without it is not the store's.
      guard head.etag != nil else {
        throw UploadError(
          .interrupted,
          "what answers for \(store.destination) does not say what \(key) is: run the same command again")
      }
      return head
    case .failure(let failure):
      if failure.isMissing { return nil }
      throw try await error(failure, request)
    }
  }

  /// The digest of the object's `size` bytes, read back; nil when there is none.
  func readBack(_ key: ObjectKey, size: Int64) async throws(UploadError) -> ContentDigest? {
    var request = S3Request(.get, key, task: "read \(key)", permission: "s3:GetObject")
    request.patience += .seconds(size / (16 << 10))
    let (outcome, read) = try await fetch(request, into: (hash: SHA256(), count: Int64(0))) { read, piece in
      read.hash.update(bufferPointer: piece)
      read.count += Int64(piece.count)
    }
    switch outcome {
    case .reply:
      guard read.count == size else {
        throw UploadError(
          .interrupted,
          "\(store.destination) gave \(read.count) of the \(size) bytes of \(key): run the same command again"
        )
      }
      return ContentDigest(sha256: read.hash.finalize())
    case .failure(let failure):
      if failure.isMissing { return nil }
      throw try await error(failure, request)
    }
  }
}
