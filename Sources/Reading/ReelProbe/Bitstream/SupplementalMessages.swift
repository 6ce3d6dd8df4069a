import CFFmpeg

/// The supplemental enhancement information (SEI) messages in one NAL unit of H.264 (7.3.2.3) or HEVC (7.3.2.4), as far
/// as they matter here.
struct SupplementalMessages {
  /// The transfer function, as numbered in ITU-T H.273, in a message that overrides that of the parameter sets
  /// (alternative transfer characteristics, type 147; H.264, D.1.32; HEVC, D.2.38); nil without one.
  private(set) var preferredTransfer: UInt32?

  /// - Parameter unit: the NAL unit from the last byte of its header on.
  init(_ unit: some Sequence<UInt8>) {
    var reader = BitReader(escaped: unit.dropFirst())
    for _ in 0..<Self.mostMessages {
      guard let type = Self.number(&reader), let length = Self.number(&reader) else { break }
      guard type == Self.alternativeTransfer, length > 0 else {
        guard reader.skipBytes(length) else { break }
        continue
      }
      preferredTransfer = reader.bits(8)
      break
    }
  }

  /// Whether a message names another transfer function.
  var overruleTransfer: Bool { preferredTransfer != nil }

  private static let mostMessages = 64
  private static let alternativeTransfer = 147

  private static func number(_ reader: inout BitReader) -> Int? {
    var sum = 0
    while let byte = reader.bits(8) {
      sum += Int(byte)
      if byte != 255 { return sum }
    }
    return nil
  }
}

/// The transfer function that messages beside the pictures name in preference to that of the parameter sets.
enum PreferredTransfer {
  /// Returns the preferred transfer function of H.264 or HEVC; nil if no message names one. The packet takes precedence
  /// over the record.
  static func number(_ codec: AVCodecID, packet: [UInt8], record: [UInt8]) -> UInt32? {
    switch codec {
    case AV_CODEC_ID_H264:
      return units(packet, lengthSize: AVCConfiguration(record)?.lengthSize).lazy
        .filter { ($0.first ?? 0) & 0x1f == 6 }.compactMap { SupplementalMessages($0).preferredTransfer }
        .first
    case AV_CODEC_ID_HEVC:
      let configuration = HEVCConfiguration(record)
      return units(packet, lengthSize: configuration?.lengthSize).lazy
        .filter { ($0.first ?? 0) >> 1 & 0x3f == 39 }
        .compactMap { SupplementalMessages($0.dropFirst()).preferredTransfer }.first
        ?? configuration?.preferredTransfer
    default: return nil
    }
  }

  private static func units(_ packet: [UInt8], lengthSize: Int?) -> [ArraySlice<UInt8>] {
    lengthSize.map { Array(LengthPrefixedUnits(packet, lengthSize: $0)) } ?? Array(StartCodeUnits(packet))
  }
}
