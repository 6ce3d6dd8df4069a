/// The header partition of an MXF file (SMPTE ST 377-1, 7).
enum MXFFile {
  /// Whether its footer, whose place a closed file states in its header, is beyond the end of the file. Nil if none
  /// is stated.
  static func isTruncated(_ file: some ByteReading) -> Bool? {
    guard let start = headerPartition(of: file), let length = lengthWidth(file, at: start + 16),
      // The pack: versions, alignment, this partition, the previous one, the footer.
      let footer = file.bigEndian(at: start + 16 + length + 24, width: 8), footer > 0,
      footer < 1 << 62
    else { return nil }
    return start + Int64(footer) + 16 >= file.size
  }

  private static let partitionKey: [UInt8] = [
    0x06, 0x0E, 0x2B, 0x34, 0x02, 0x05, 0x01, 0x01, 0x0D, 0x01, 0x02, 0x01, 0x01, 0x02,
  ]
  /// The most bytes of a run-in, which may precede the first key (6.5).
  private static let longestRunIn = 65_536

  private static func headerPartition(of file: some ByteReading) -> Int64? {
    if file.bytes(at: 0, count: partitionKey.count) == partitionKey { return 0 }
    let head = file.bytes(at: 0, count: longestRunIn + partitionKey.count)
    guard head.count > partitionKey.count else { return nil }
    return (0..<(head.count - partitionKey.count))
      .first { head[$0] == partitionKey[0] && head[$0...].starts(with: partitionKey) }
      .map { Int64($0) }
  }

  /// Returns the number of bytes that the length of a pack takes (BER, SMPTE ST 336).
  private static func lengthWidth(_ file: some ByteReading, at offset: Int64) -> Int64? {
    guard let first = file.bigEndian(at: offset, width: 1) else { return nil }
    return first < 0x80 ? 1 : 1 + Int64(first & 0x7f)
  }
}
