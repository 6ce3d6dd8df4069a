import ReelCore
import ReelCrypto

/// The checksums of a source that Cloud Storage keeps of an object, too.
struct SourceSums: Sendable {
  private(set) var crc32c = CRC32C()
  private var md5 = Insecure.MD5()

  mutating func update(_ bytes: [UInt8]) {
    crc32c.update(bytes)
    md5.update(data: bytes)
  }

  /// Returns how `object` differs from `source`, whose bytes these sums cover; nil if it does not.
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
    // It would be taken for the object's digest later.
    if let theirs = object.metadata?[StorageObject.Custom.digest], theirs != source.digest.hex {
      return "the SHA-256 \(HTTPReply.oneLine(theirs)) instead of \(source.digest.hex)"
    }
    return object.crc32c == nil && object.md5Hash == nil ? "no checksum" : nil
  }

  /// Returns the CRC-32C of a whole source, which the store wants to know before the first byte. Whether these bytes
  /// are the right ones is checked when they are sent.
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

/// CRC-32C, with the Castagnoli polynomial, reflected (RFC 3720, 12.1), as Cloud Storage keeps it of every object.
///
/// It protects against damage in transit. That the bytes are the right ones is checked by their SHA-256.
package struct CRC32C: Hashable, Sendable {
  private var state = UInt32.max

  /// The checksum of no bytes.
  package init() {}

  /// The checksum of all bytes so far.
  package var value: UInt32 { ~state }

  /// The checksum as Cloud Storage writes it: the four bytes in Base64, the most significant first.
  package var text: String { Base64.text(withUnsafeBytes(of: value.bigEndian) { Array($0) }) }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// Adds eight bytes at a time ("slicing by 8": one table for each position in the eight).
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    var crc = state
    Self.tables.withUnsafeBufferPointer { tables in
      var offset = 0
      while offset + 8 <= bytes.count {
        let low = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) ^ crc
        let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
        crc = Self.folded(low, tables, 7) ^ Self.folded(high, tables, 3)
        offset += 8
      }
      while offset < bytes.count {
        crc = tables[Int((crc ^ UInt32(bytes[offset])) & 0xFF)] ^ (crc >> 8)
        offset += 1
      }
    }
    state = crc
  }

  /// Returns what the four bytes of `word` contribute; `first` is the table of the first byte.
  private static func folded(_ word: UInt32, _ tables: UnsafeBufferPointer<UInt32>, _ first: Int) -> UInt32 {
    let start = first * 256
    let low = tables[start + Int(word & 0xFF)] ^ tables[start - 256 + Int((word >> 8) & 0xFF)]
    let high = tables[start - 512 + Int((word >> 16) & 0xFF)] ^ tables[start - 768 + Int(word >> 24)]
    return low ^ high
  }

  /// Eight tables of 256 entries: the remainder of a byte followed by 0 ... 7 zero bytes.
  private static let tables: [UInt32] = {
    var tables = (0..<256).map { remainder(of: UInt32($0)) }
    for index in 256..<2048 {
      let before = tables[index - 256]
      tables.append(tables[Int(before & 0xFF)] ^ (before >> 8))
    }
    return tables
  }()

  private static func remainder(of byte: UInt32) -> UInt32 {
    var crc = byte
    for _ in 0..<8 {
      let isOdd = crc & 1 == 1
      crc >>= 1
      if isOdd { crc ^= 0x82F6_3B78 }
    }
    return crc
  }
}
