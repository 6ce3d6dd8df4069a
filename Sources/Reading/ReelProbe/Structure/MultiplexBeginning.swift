/// What the first packets of one of MPEG's multiplexes say themselves (ISO/IEC 13818-1, 2.4.3.6): of what kind they
/// are, and how large pictures of MPEG-1 and MPEG-2 are.
struct MultiplexBeginning: Hashable {
  /// The kinds of streams, by packet identifier; only for a transport stream.
  private var kinds: [Int: UInt8] = [:]
  /// The sizes in the first sequence header and in the next.
  private(set) var sizes: [PixelSize] = []

  private static let looked = 512 << 10

  init(_ file: some ByteReading, stride: Int?) {
    let bytes = file.bytes(at: 0, count: file.isFar ? Self.looked / 8 : Self.looked)
    bytes.withUnsafeBufferPointer { bytes in
      guard let stride else { return takeSizes(bytes, in: bytes.indices) }
      takeKinds(bytes, stride)
      // A header that continues in the next packet does not count: that packet's own header would be read as a part
      // of it.
      for place in TransportPackets.Places(bytes, stride: stride) {
        takeSizes(bytes, in: (place + 4)..<min(bytes.count, place + TransportPackets.length))
      }
    }
  }

  /// Whether packets of a stream say that they are of pictures, rather than of sound; nil for other kinds, and if
  /// none was found.
  func isOfPictures(_ id: Int) -> Bool? {
    switch kinds[id] {
    case .some(0xE0...0xEF): true
    case .some(0xC0...0xDF): false
    default: nil
    }
  }

  private mutating func takeKinds(_ bytes: UnsafeBufferPointer<UInt8>, _ stride: Int) {
    for place in TransportPackets.Places(bytes, stride: stride) {
      // Only a packet in which one of the stream begins, and which is not scrambled.
      guard bytes[place + 1] & 0x40 != 0, bytes[place + 3] & 0xD0 == 0x10 else { continue }
      let contents = place + 4 + (bytes[place + 3] & 0x20 != 0 ? 1 + Int(bytes[place + 4]) : 0)
      guard contents + 4 <= place + TransportPackets.length,
        bytes[contents] == 0, bytes[contents + 1] == 0, bytes[contents + 2] == 1
      else { continue }
      let id = Int(bytes[place + 1] & 0x1f) << 8 | Int(bytes[place + 2])
      if kinds[id] == nil { kinds[id] = bytes[contents + 3] }
    }
  }

  private mutating func takeSizes(_ bytes: UnsafeBufferPointer<UInt8>, in range: Range<Int>) {
    var place = range.lowerBound
    while place + 12 <= range.upperBound, sizes.count < 2 {
      if bytes[place + 2] > 1 {
        place += 3
        continue
      }
      let unit = bytes[place...].prefix(12)
      if unit.starts(with: [0, 0, 1, 0xB3]), CodecSign.isMPEGSequence(ArraySlice(unit.dropFirst(3))) {
        let (high, low) = (Int(bytes[place + 5]), Int(bytes[place + 6]))
        sizes.append(
          PixelSize(width: Int(bytes[place + 4]) << 4 | high >> 4, height: (high & 15) << 8 | low))
      }
      place += 1
    }
  }
}
