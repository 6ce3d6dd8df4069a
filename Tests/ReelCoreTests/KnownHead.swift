import ReelCore

/// The beginning of a file of known type.
struct KnownHead: CustomStringConvertible, Sendable {
  let description: String
  let bytes: [UInt8]
  var container: MediaContainer?
  var code: ProbeError.Code?
  var found: String?

  init(_ description: String, _ bytes: [UInt8]) {
    self.description = description
    self.bytes = bytes
  }

  static func container(_ container: MediaContainer, _ description: String, _ bytes: [UInt8]) -> KnownHead {
    var known = KnownHead("\(container): \(description)", bytes)
    known.container = container
    return known
  }

  static func refused(_ code: ProbeError.Code, _ found: String, _ bytes: [UInt8]) -> KnownHead {
    var known = KnownHead(found, bytes)
    known.code = code
    known.found = found
    return known
  }

  static func refused(_ code: ProbeError.Code, _ found: String, _ text: String) -> KnownHead {
    refused(code, found, Array(text.utf8))
  }

  var verdict: SniffVerdict {
    Sniffer.verdict(head: Array(bytes.prefix(Sniffer.headLength)), size: Int64(bytes.count))
  }
}

/// Building blocks of files.
enum Bytes {
  /// A box of an ISO base media file.
  static func box(_ type: String, _ content: [UInt8] = []) -> [UInt8] {
    number(UInt32(content.count + 8)) + Array(type.utf8) + content
  }

  static func ftyp(_ brand: String) -> [UInt8] {
    box("ftyp", Array(brand.utf8) + [0, 0, 0, 0] + Array("isom".utf8))
  }

  static func number(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
  }

  static func ebml(_ docType: String) -> [UInt8] {
    let element: [UInt8] =
      [0x42, 0x86, 0x81, 1, 0x42, 0x82, 0x80 | UInt8(docType.utf8.count)] + Array(docType.utf8)
    return [0x1A, 0x45, 0xDF, 0xA3, 0x80 | UInt8(element.count)] + element + [0x18, 0x53, 0x80, 0x67]
  }

  /// Packets of one stream, with consecutive continuity counters.
  static func transportPackets(_ size: Int, prefix: Int = 0, count: Int) -> [UInt8] {
    (0..<count).flatMap { number in
      let head: [UInt8] = [0x47, 0x40, 0x00, 0x10 | UInt8(number & 0x0F)]
      let bytes = [UInt8](repeating: 0x11, count: prefix) + head
      return bytes + [UInt8](repeating: 0xFF, count: size - bytes.count)
    }
  }

  static func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    (0..<count).flatMap { _ in bytes }
  }

  /// An MPEG-1 layer III frame: 128 kbit/s, 44.1 kHz, 417 bytes.
  static let mp3Frame: [UInt8] = [0xFF, 0xFB, 0x90, 0x00] + [UInt8](repeating: 0, count: 413)
  /// An ADTS frame of 20 bytes.
  static let adtsFrame: [UInt8] =
    [0xFF, 0xF1, 0x50, 0x80, 0x02, 0x9F, 0xFC] + [UInt8](repeating: 1, count: 13)

  static let mxfKey: [UInt8] = [
    0x06, 0x0E, 0x2B, 0x34, 0x02, 0x05, 0x01, 0x01, 0x0D, 0x01, 0x02, 0x01, 0x01, 0x02, 0x04, 0x00,
  ]

  /// An MPEG-2 pack header, three packets, and the beginning of another.
  static let programStream: [UInt8] =
    [0, 0, 1, 0xBA, 0x44, 0, 4, 0, 4, 1, 0, 0, 3, 0xF8, 0, 0, 1, 0xBB, 0, 2, 1, 2]
    + [0, 0, 1, 0xE0, 0, 3, 1, 2, 3, 0, 0, 1, 0xC0, 0, 1, 9, 0, 0, 1, 0xE0]

  /// An ID3v2 tag with `length` bytes of content.
  static func id3(_ length: Int) -> [UInt8] {
    let size = (0..<4).map { UInt8(length >> (21 - 7 * $0) & 0x7F) }
    return Array("ID3".utf8) + [4, 0, 0] + size + [UInt8](repeating: 0x20, count: length)
  }
}
