import ReelCore
import ReelCrypto

/// The checksums that Cloud Storage keeps, of the same bytes.
struct SourceSums: Sendable {
  private(set) var crc32c = CRC32C()
  private var md5 = Insecure.MD5()

  mutating func update(_ bytes: [UInt8]) {
    crc32c.update(bytes)
    md5.update(data: bytes)
  }

  /// In what `object` differs from `source`, whose bytes these sums are of; nil when in nothing.
  func difference(of object: StorageObject, from source: UploadSource) -> String? {
    if object.length != source.size {
      return "\(object.length.map { "\($0)" } ?? "unknown") bytes instead of \(source.size)"
    }
    if let theirs = object.crc32c, theirs != crc32c.text {
      return "the CRC-32C \(HTTPReply.oneLine(theirs)) instead of \(crc32c.text)"
    }
    let ours = Base64.text(md5.finalize())
    if let theirs = object.md5Hash, theirs != ours {
      return "the MD5 \(HTTPReply.oneLine(theirs)) instead of \(ours)"
    }
    // What would be taken for its digest later.
    if let theirs = object.metadata?[StorageObject.Custom.digest], theirs != source.digest.hex {
      return "the SHA-256 \(HTTPReply.oneLine(theirs)) instead of \(source.digest.hex)"
    }
    return object.crc32c == nil && object.md5Hash == nil ? "no checksum" : nil
  }

  /// The CRC-32C of all of a source, which the store wants to know before the first byte. Whether these bytes are the
  /// right ones is found out when they are sent.
  static func crc32c(of source: UploadSource) async throws(UploadError) -> CRC32C {
    let queue = BlockingQueue(label: "reel.firebase-checksum", width: 1)
    var crc = CRC32C()
    var offset: Int64 = 0
    while offset < source.size {
      if Task.isCancelled { throw UploadError(.cancelled, "cancelled before it was stored") }
      let (start, before) = (offset, crc)
      crc = try await queue.run { () throws(UploadError) in
        var crc = before
        try source.forEachPiece(of: start..<min(start + (1 << 20), source.size)) { crc.update($0) }
        return crc
      }
      offset += min(1 << 20, source.size - offset)
    }
    return crc
  }
}
