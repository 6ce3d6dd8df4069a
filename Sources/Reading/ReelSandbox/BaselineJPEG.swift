/// The header of a JPEG that Reel's own encoder may have written: baseline, three components, 4:2:0, one scan, its
/// segments in that encoder's order, tables that decoders handle safely, no metadata, and nothing after its end
/// (ITU-T T.81, T.871).
struct BaselineJPEG: Hashable {
  /// The width in pixels.
  let width: Int
  /// The height in pixels.
  let height: Int

  private enum Marker {
    static let end: UInt8 = 0xD9
    static let quantisation: UInt8 = 0xDB
    static let huffman: UInt8 = 0xC4
    static let baselineFrame: UInt8 = 0xC0
    static let scan: UInt8 = 0xDA
  }

  /// The start marker and the JFIF header: version 1.2, square pixels, no thumbnail.
  private static let beginning: [UInt8] = [
    0xFF, 0xD8, 0xFF, 0xE0, 0, 16, 0x4A, 0x46, 0x49, 0x46, 0, 1, 2, 0, 0, 1, 0, 1, 0, 0,
  ]

  /// Parses a JPEG; nil for anything else.
  init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: Self.beginning) else { return nil }
    var place = Self.beginning.count
    guard let quantisers = Self.segment(Marker.quantisation, bytes, &place).flatMap(Self.quantisers),
      let codes = Self.segment(Marker.huffman, bytes, &place).flatMap(Self.codes),
      let frame = Self.segment(Marker.baselineFrame, bytes, &place), let size = Self.size(frame),
      let scan = Self.segment(Marker.scan, bytes, &place), Self.isScan(scan, codes),
      [8, 11, 14].allSatisfy({ quantisers.contains(frame[$0]) }), Self.endsWithScan(bytes, from: place)
    else { return nil }
    (width, height) = size
  }

  /// Returns the content of the segment at `place`, and advances `place` past it; nil if another segment is there.
  private static func segment(_ marker: UInt8, _ bytes: [UInt8], _ place: inout Int) -> [UInt8]? {
    guard place + 4 <= bytes.count, bytes[place] == 0xFF, bytes[place + 1] == marker else { return nil }
    let length = Int(bytes[place + 2]) << 8 | Int(bytes[place + 3])
    guard length >= 2, place + 2 + length <= bytes.count else { return nil }
    defer { place += 2 + length }
    return Array(bytes[(place + 4)..<(place + 2 + length)])
  }

  /// The numbers of the quantization tables: with factors of eight bits, without duplicates, and without a factor
  /// of zero.
  private static func quantisers(_ segment: [UInt8]) -> Set<UInt8>? {
    var numbers: Set<UInt8> = []
    guard !segment.isEmpty, segment.count % 65 == 0 else { return nil }
    for start in stride(from: 0, to: segment.count, by: 65) {
      guard segment[start] <= 3, numbers.insert(segment[start]).inserted,
        !segment[(start + 1)..<(start + 65)].contains(0)
      else { return nil }
    }
    return numbers
  }

  /// The classes and numbers of the Huffman tables, without duplicates. Their codes must fit their lengths, and
  /// their symbols must be allowed in a baseline picture of eight bits.
  private static func codes(_ segment: [UInt8]) -> Set<UInt8>? {
    var tables: Set<UInt8> = []
    var rest = segment[...]
    while let table = rest.first {
      guard [0x00, 0x01, 0x10, 0x11].contains(table), tables.insert(table).inserted, rest.count >= 17 else {
        return nil
      }
      let lengths = rest.dropFirst().prefix(16)
      let count = lengths.reduce(0) { $0 + Int($1) }
      let space = zip(1..., lengths).reduce(0) { $0 + Int($1.1) << (16 - $1.0) }
      let symbols = rest.dropFirst(17).prefix(count)
      let isDC = table < 0x10
      guard space <= 1 << 16, symbols.count == count, Set(symbols).count == count,
        symbols.allSatisfy({ isDC ? $0 <= 11 : $0 & 0x0F <= 10 })
      else { return nil }
      rest = rest.dropFirst(17 + count)
    }
    return tables
  }

  /// The width and height of a frame with eight bits and three components, luma at twice the resolution of chroma.
  private static func size(_ frame: [UInt8]) -> (Int, Int)? {
    guard frame.count == 15, frame[0] == 8, frame[5] == 3, frame[6] == 1, frame[7] == 0x22, frame[9] == 2,
      frame[10] == 0x11, frame[12] == 3, frame[13] == 0x11
    else { return nil }
    let (height, width) = (Int(frame[1]) << 8 | Int(frame[2]), Int(frame[3]) << 8 | Int(frame[4]))
    return width > 0 && height > 0 ? (width, height) : nil
  }

  /// Whether the scan covers all components completely, with tables that exist.
  private static func isScan(_ scan: [UInt8], _ codes: Set<UInt8>) -> Bool {
    guard scan.count == 10, scan[0] == 3, scan[1] == 1, scan[3] == 2, scan[5] == 3, scan[7...] == [0, 63, 0]
    else { return false }
    return [2, 4, 6].allSatisfy { codes.contains(scan[$0] >> 4) && codes.contains(0x10 | scan[$0] & 0x0F) }
  }

  /// Whether what follows is a single scan and the end marker.
  private static func endsWithScan(_ bytes: [UInt8], from start: Int) -> Bool {
    bytes.withUnsafeBufferPointer { bytes in
      var place = start
      while place + 1 < bytes.count {
        guard bytes[place] == 0xFF else {
          place += 1
          continue
        }
        if bytes[place + 1] == Marker.end { return place > start && place + 2 == bytes.count }
        guard bytes[place + 1] == 0 else { return false }
        place += 2
      }
      return false
    }
  }
}
