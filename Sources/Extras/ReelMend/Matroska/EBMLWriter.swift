import ReelProbe

/// Writes elements as bytes (RFC 8794, 4 to 7).
enum EBMLWriter {
  /// - Parameter sizeWidth: the number of bytes of the size field, from 1 to 8; nil for as few as suffice.
  static func header(_ id: UInt32, size: Int64, sizeWidth: Int? = nil) -> [UInt8] {
    Self.id(id) + Self.size(size, width: sizeWidth ?? Self.width(ofSize: size))
  }

  static func element(_ id: UInt32, _ contents: [UInt8]) -> [UInt8] {
    header(id, size: Int64(contents.count)) + contents
  }

  /// - Parameter width: the number of bytes of the number; nil for as few as suffice.
  static func element(_ id: UInt32, number: UInt64, width: Int? = nil) -> [UInt8] {
    element(id, bytes(number, width ?? Self.width(of: number)))
  }

  static func element(_ id: UInt32, real: Double) -> [UInt8] {
    element(id, bytes(real.bitPattern, 8))
  }

  static func id(_ id: UInt32) -> [UInt8] { bytes(UInt64(id), width(of: UInt64(id))) }

  /// Returns the number of bytes that a number needs, at least one.
  static func width(of number: UInt64) -> Int { max(1, (64 - number.leadingZeroBitCount + 7) / 8) }

  /// Returns whether a size field of `width` bytes can hold a size. All ones mean that the size is unknown.
  static func fits(_ size: Int64, width: Int) -> Bool { size < Int64(1) << Int64(7 * width) - 1 }

  /// Returns a Void element of `count` bytes, at least 2, to replace what was there.
  static func void(_ count: Int64) -> [MendedFile.Part] {
    let width = count <= 128 ? 1 : 8
    let left = count - 1 - Int64(width)
    return [.bytes(header(MatroskaID.void, size: left, sizeWidth: width)), .zeros(left)]
  }

  /// Returns a CRC-32 element for what follows it in the same element (RFC 8794, 11.3.1).
  static func checksum(of contents: [UInt8]) -> [UInt8] {
    var sum = UInt32.max
    for byte in contents {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : sum >> 1 ^ 0xEDB8_8320 }
    }
    return element(MatroskaID.checksum, bytes(UInt64((~sum).byteSwapped), 4))
  }

  private static func width(ofSize size: Int64) -> Int { (1...7).first { fits(size, width: $0) } ?? 8 }

  private static func size(_ size: Int64, width: Int) -> [UInt8] {
    bytes(UInt64(size) | UInt64(1) << UInt64(7 * width), width)
  }

  private static func bytes(_ number: UInt64, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (width - 1 - $0))) }
  }
}
