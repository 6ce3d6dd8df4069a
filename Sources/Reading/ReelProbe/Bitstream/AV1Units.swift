/// The open bitstream units (OBUs) of one AV1 sample (AV1 bitstream specification, 5.3), as type and payload. The
/// sequence ends at the first unit that is longer than the remaining bytes.
struct AV1Units: Sequence, IteratorProtocol {
  /// The types that are used here.
  enum Kind {
    static let sequenceHeader: UInt8 = 1
    static let frameHeader: UInt8 = 3
    static let frame: UInt8 = 6
  }
  private var rest: ArraySlice<UInt8>

  init(_ sample: ArraySlice<UInt8>) {
    rest = sample
  }

  mutating func next() -> (type: UInt8, payload: ArraySlice<UInt8>)? {
    guard let header = rest.popFirst(), header & 0x80 == 0 else { return nil }
    if header & 4 != 0, rest.popFirst() == nil { return nil }
    guard let size = header & 2 == 0 ? rest.count : readSize(), size <= rest.count else { return nil }
    defer { rest = rest.dropFirst(size) }
    return (header >> 3 & 15, rest.prefix(size))
  }

  /// Reads a number in leb128 (4.10.5), below 2^28.
  private mutating func readSize() -> Int? {
    var size = 0
    for place in 0..<4 {
      guard let byte = rest.popFirst() else { return nil }
      size |= Int(byte & 0x7f) << (7 * place)
      if byte & 0x80 == 0 { return size }
    }
    return nil
  }
}
