/// The envelope of every message between the parent and its worker: 4 bytes of magic, the version of the format,
/// the kind, the length of the payload (32 bits, little-endian), and the payload.
///
/// Neither side trusts the other's bytes: decoding checks every length, number, code and text, throws ``WireError``
/// for anything invalid, and never traps.
package enum WireFrame {
  /// The maximum size of a frame in bytes, including the envelope.
  package static let largest = 256 << 10

  /// The version of the format.
  static let version: UInt8 = 12

  /// The bytes that every frame begins with.
  static let magic: [UInt8] = Array("REEL".utf8)

  /// The type of message in a frame.
  enum Kind: UInt8 {
    case start = 1
    case hello = 2
    case request = 3
    case reply = 4
    case fork = 5
    case forked = 6
    case receipt = 7
    case pictureRequest = 8
    case pictureReply = 9
    case pictureBytes = 10
    case rangedRequest = 11
    case rangeRequest = 12
    case rangeReply = 13
    case mendRequest = 20
    case mendOutput = 21
    case mendReply = 22
  }

  /// Encodes a frame with the payload that `body` writes.
  static func encode(
    _ kind: Kind, _ body: (inout WireWriter) throws(WireError) -> Void
  ) throws(WireError) -> [UInt8] {
    var payload = WireWriter()
    try body(&payload)
    var frame = WireWriter()
    frame.bytes.append(contentsOf: magic)
    frame.number(version)
    frame.number(kind.rawValue)
    frame.number(UInt32(truncatingIfNeeded: payload.bytes.count))
    frame.bytes.append(contentsOf: payload.bytes)
    guard frame.bytes.count <= largest else { throw .length }
    return frame.bytes
  }

  /// Decodes a frame of `kind`, which must contain nothing else.
  static func decode<Value>(
    _ frame: [UInt8], _ kind: Kind, _ body: (inout WireReader) throws(WireError) -> Value
  ) throws(WireError) -> Value {
    guard frame.count <= largest else { throw .length }
    var reader = WireReader(frame)
    guard try reader.take(magic.count).elementsEqual(magic) else { throw .notAFrame }
    let version = try reader.number(UInt8.self)
    guard version == Self.version else { throw .version(version) }
    let found = try reader.number(UInt8.self)
    guard found == kind.rawValue else { throw .kind(found) }
    guard try Int(reader.number(UInt32.self)) == reader.left else { throw .length }
    let value = try body(&reader)
    guard reader.left == 0 else { throw .trailingBytes }
    return value
  }
}
