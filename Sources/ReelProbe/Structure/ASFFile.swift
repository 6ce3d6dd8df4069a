/// The header of an ASF file (Advanced Systems Format specification 1.20, 3).
enum ASFFile {
  /// Whether the file is shorter than its file properties object says; nil when it says nothing, as in a
  /// broadcast.
  static func isTruncated(_ file: some ByteReading) -> Bool? {
    guard let properties = object(fileProperties, of: file),
      let flags = file.littleEndian(at: properties + 88, width: 4), flags & 1 == 0,
      let claimed = file.littleEndian(at: properties + 40, width: 8), claimed > 0
    else { return nil }
    return claimed > UInt64(file.size)
  }

  /// Whether its content is encrypted (3.14, 3.15).
  static func isEncrypted(_ file: some ByteReading) -> Bool {
    object(contentEncryption, of: file) != nil || object(extendedContentEncryption, of: file) != nil
  }

  private static let fileProperties: [UInt8] = [
    0xA1, 0xDC, 0xAB, 0x8C, 0x47, 0xA9, 0xCF, 0x11, 0x8E, 0xE4, 0x00, 0xC0, 0x0C, 0x20, 0x53, 0x65,
  ]
  private static let contentEncryption: [UInt8] = [
    0xFB, 0xB3, 0x11, 0x22, 0x23, 0xBD, 0xD2, 0x11, 0xB4, 0xB7, 0x00, 0xA0, 0xC9, 0x55, 0xFC, 0x6E,
  ]
  private static let extendedContentEncryption: [UInt8] = [
    0x14, 0xE6, 0x8A, 0x29, 0x22, 0x26, 0x17, 0x4C, 0xB9, 0x35, 0xDA, 0xE0, 0x7E, 0xE9, 0x28, 0x9C,
  ]

  /// Where the first object of this kind within the header object begins.
  private static func object(_ kind: [UInt8], of file: some ByteReading) -> Int64? {
    var next: Int64 = 30
    for _ in 0..<256 {
      let id = file.bytes(at: next, count: 16)
      guard id.count == 16, let size = file.littleEndian(at: next + 16, width: 8), size >= 24, size < 1 << 32
      else { return nil }
      if id == kind { return next }
      next += Int64(size)
    }
    return nil
  }
}
