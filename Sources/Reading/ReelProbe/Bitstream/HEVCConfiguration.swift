/// The decoder configuration record of HEVC in MP4 and Matroska (ISO/IEC 14496-15, 8.3.3.1).
struct HEVCConfiguration: Hashable {
  /// The number of bytes of the length before each NAL unit: 1, 2 or 4. The standard reserves 3, but players accept it.
  let lengthSize: Int
  /// The sequence parameter sets, each with its header of two bytes.
  let sequenceParameterSets: [[UInt8]]
  /// The transfer function in a message that overrides that of the sets; nil without one.
  let preferredTransfer: UInt32?

  /// Nil for anything else, such as NAL units behind start codes.
  init?(_ record: [UInt8]) {
    guard record.count > 22, record[0] == 1 else { return nil }
    lengthSize = Int(record[21] & 3) + 1
    var rest = record[23...]
    var sets: [[UInt8]] = []
    var preferred: UInt32?
    for _ in 0..<record[22] {
      guard let kind = rest.popFirst(), let count = Self.number(&rest) else { return nil }
      for _ in 0..<count {
        guard let length = Self.number(&rest), length <= rest.count else { return nil }
        let unit = rest.prefix(length)
        switch kind & 0x3f {
        case 33: sets.append(Array(unit))
        case 39: preferred = preferred ?? SupplementalMessages(unit.dropFirst()).preferredTransfer
        default: break
        }
        rest = rest.dropFirst(length)
      }
    }
    sequenceParameterSets = sets
    preferredTransfer = preferred
  }

  private static func number(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
    return Int(high) << 8 | Int(low)
  }
}
