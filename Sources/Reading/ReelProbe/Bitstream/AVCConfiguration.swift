/// The decoder configuration record of H.264 in MP4 and Matroska (ISO/IEC 14496-15, 5.3.3.1).
struct AVCConfiguration: Hashable {
  /// The number of bytes of the length before each NAL unit: 1, 2 or 4. The standard reserves 3, but players accept it.
  let lengthSize: Int
  /// The sequence parameter sets, each with its header byte.
  let sequenceParameterSets: [[UInt8]]

  /// Nil for anything else, such as NAL units behind start codes.
  init?(_ record: [UInt8]) {
    guard record.count > 6, record[0] == 1 else { return nil }
    lengthSize = Int(record[4] & 3) + 1
    var sets: [[UInt8]] = []
    var next = 6
    for _ in 0..<(record[5] & 31) {
      guard next + 2 <= record.count else { return nil }
      let length = Int(record[next]) << 8 | Int(record[next + 1])
      guard next + 2 + length <= record.count else { return nil }
      sets.append(Array(record[(next + 2)..<(next + 2 + length)]))
      next += 2 + length
    }
    sequenceParameterSets = sets
  }
}

/// The NAL units of one sample, each preceded by its length (ISO/IEC 14496-15, 5.3.4.2). The sequence ends at the first
/// unit that is longer than the remaining bytes.
struct LengthPrefixedUnits: Sequence, IteratorProtocol {
  private var rest: ArraySlice<UInt8>
  private let lengthSize: Int

  init(_ sample: [UInt8], lengthSize: Int) {
    rest = sample[...]
    self.lengthSize = lengthSize
  }

  mutating func next() -> ArraySlice<UInt8>? {
    guard rest.count > lengthSize else { return nil }
    let length = rest.prefix(lengthSize).reduce(0) { $0 << 8 | Int($1) }
    let unit = rest.dropFirst(lengthSize)
    guard length > 0, length <= unit.count else { return nil }
    rest = unit.dropFirst(length)
    return unit.prefix(length)
  }
}
