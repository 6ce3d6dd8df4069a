/// The supplemental enhancement messages of one NAL unit of H.264 (7.3.2.3) or HEVC (7.3.2.4), by type only.
struct SupplementalMessages {
  private let types: [Int]

  /// - Parameter unit: the NAL unit from the last byte of its header on.
  init(_ unit: some Sequence<UInt8>) {
    var reader = BitReader(escaped: unit.dropFirst())
    var types: [Int] = []
    while types.count < 64, let type = Self.number(&reader), let length = Self.number(&reader) {
      types.append(type)
      guard reader.skipBytes(length) else { break }
    }
    self.types = types
  }

  /// Whether a message names another transfer function (alternative transfer characteristics, type 147).
  var overruleTransfer: Bool { types.contains(147) }

  private static func number(_ reader: inout BitReader) -> Int? {
    var sum = 0
    while let byte = reader.bits(8) {
      sum += Int(byte)
      if byte != 255 { return sum }
    }
    return nil
  }
}
