/// What a JPEG says of itself, where it is one that Reel's own encoder may have written: baseline, three components,
/// 4:2:0, one scan, JFIF and no other metadata, and nothing behind its end (ITU-T T.81, T.871).
struct BaselineJPEG: Hashable {
  /// In pixels.
  let width: Int
  /// In pixels.
  let height: Int

  private enum Marker {
    static let start: UInt8 = 0xD8
    static let end: UInt8 = 0xD9
    static let jfif: UInt8 = 0xE0
    static let quantisation: UInt8 = 0xDB
    static let huffman: UInt8 = 0xC4
    static let baselineFrame: UInt8 = 0xC0
    static let scan: UInt8 = 0xDA
  }

  /// Nil for anything else.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] == Marker.start else { return nil }
    var size: (width: Int, height: Int)?
    var place = 2
    while true {
      guard place + 4 <= bytes.count, bytes[place] == 0xFF else { return nil }
      let length = Int(bytes[place + 2]) << 8 | Int(bytes[place + 3])
      guard length >= 2, place + 2 + length <= bytes.count else { return nil }
      let segment = bytes[(place + 4)..<(place + 2 + length)]
      switch bytes[place + 1] {
      // Without a thumbnail.
      case Marker.jfif where place == 2 && length == 16 && segment.starts(with: Array("JFIF\0".utf8)): break
      case Marker.quantisation, Marker.huffman: break
      case Marker.baselineFrame where size == nil: size = Self.size(segment)
      case Marker.scan where length == 12 && segment.first == 3:
        guard let size, Self.endsWithScan(bytes, from: place + 2 + length) else { return nil }
        (width, height) = size
        return
      default: return nil
      }
      place += 2 + length
    }
  }

  /// Eight bits, three components: brightness at twice the resolution of the colours.
  private static func size(_ frame: ArraySlice<UInt8>) -> (Int, Int)? {
    let frame = Array(frame)
    guard frame.count == 15, frame[0] == 8, frame[5] == 3, frame[7] == 0x22, frame[10] == 0x11,
      frame[13] == 0x11
    else { return nil }
    let (height, width) = (Int(frame[1]) << 8 | Int(frame[2]), Int(frame[3]) << 8 | Int(frame[4]))
    return width > 0 && height > 0 ? (width, height) : nil
  }

  /// Whether what follows is one scan, and the end.
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
