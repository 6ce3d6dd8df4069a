/// The header partition of an MXF file (SMPTE ST 377-1, 7).
enum MXFFile {
  /// Whether its footer, whose place a closed file states in its header, is beyond the end of the file or was never
  /// written. Nil if no footer is stated, or if something else is there.
  static func isTruncated(_ file: some ByteReading) -> Bool? {
    guard let footer = footer(of: file) else { return nil }
    if footer + 16 >= file.size { return true }
    let found = file.bytes(at: footer, count: partitionKey.count)
    return found.allSatisfy { $0 == 0 } ? true : isPartition(found) ? false : nil
  }

  /// Whether something else is where its header says that its footer is.
  static func lacksFooter(_ file: some ByteReading) -> Bool {
    guard let footer = footer(of: file), footer + 16 < file.size else { return false }
    return !isPartition(file.bytes(at: footer, count: partitionKey.count))
  }

  private static func footer(of file: some ByteReading) -> Int64? {
    guard let start = headerPartition(of: file), let length = lengthWidth(file, at: start + 16),
      // The pack: versions, alignment, this partition, the previous one, the footer.
      let footer = file.bigEndian(at: start + 16 + length + 24, width: 8), footer > 0,
      footer < 1 << 62
    else { return nil }
    return start + Int64(footer)
  }

  /// Whether it is the key of a partition, of any version of the registry (byte 7) and of any kind (bytes 13 and 14).
  private static func isPartition(_ key: [UInt8]) -> Bool {
    key.count > 12 && key[..<7] == partitionKey[..<7] && key[8..<13] == partitionKey[8..<13]
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
