import CFFmpeg
import ReelCore

/// The sequence header of MPEG-1 and MPEG-2, and its extensions (ISO/IEC 13818-2, 6.2.2).
struct MPEGSequenceHeader: Hashable {
  /// In pixels.
  let width: Int
  /// In pixels.
  let height: Int
  /// The pixel shape, for MPEG-2 only.
  let pixel: SampleAspectRatio?

  /// Nil if the packet has none.
  init?(_ packet: [UInt8]) {
    var units = StartCodeUnits(packet)
    var head: [UInt8] = []
    while head.isEmpty, let unit = units.next() {
      if unit.first == 0xB3, unit.count >= 5 { head = Array(unit.prefix(5)) }
    }
    guard !head.isEmpty else { return nil }
    (width, height) = (Int(head[1]) << 4 | Int(head[2]) >> 4, Int(head[2] & 15) << 8 | Int(head[3]))
    var (isExtended, display): (Bool, (width: Int, height: Int)?) = (false, nil)
    // Extensions (0xB5) and user data (0xB2).
    while let unit = units.next(), unit.first == 0xB5 || unit.first == 0xB2 {
      guard unit.first == 0xB5 else { continue }
      // `StartCodeUnits` cuts off zeros at the end of a unit.
      var reader = BitReader(unit.dropFirst() + [0, 0, 0])
      switch reader.bits(4) {
      case 1: isExtended = true
      case 2: display = Self.display(&reader)
      default: break
      }
    }
    pixel = isExtended ? Self.pixel(head[4] >> 4, width, height, display) : nil
  }

  /// Reads the size of the part of the pictures that is to be shown (6.2.2.4).
  private static func display(_ reader: inout BitReader) -> (width: Int, height: Int)? {
    guard reader.skipBits(3), let hasColours = reader.flag(), reader.skipBits(hasColours ? 24 : 0),
      let width = reader.bits(14), reader.skipBits(1), let height = reader.bits(14), width > 0, height > 0
    else { return nil }
    return (Int(width), Int(height))
  }

  /// Returns the pixel shape. The stated aspect ratio is that of the displayed part (6.3.3), but FFmpeg and players
  /// take it for that of the whole picture, unless the standard's reading gives the whole a ratio of 4:3 or 16:9.
  private static func pixel(
    _ code: UInt8, _ width: Int, _ height: Int, _ display: (width: Int, height: Int)?
  ) -> SampleAspectRatio? {
    if code == 1 { return Rational(1, 1).map(SampleAspectRatio.init) }
    guard let (across, down) = [2: (4, 3), 3: (16, 9), 4: (221, 100)][code] else { return nil }
    var part = (width: width, height: height)
    if let display {
      let whole = (across * display.height * width, down * display.width * height)
      if 3 * whole.0 == 4 * whole.1 || 9 * whole.0 == 16 * whole.1 { part = display }
    }
    var reduced = AVRational()
    av_reduce(
      &reduced.num, &reduced.den, Int64(across * part.height), Int64(down * part.width), Int64(Int32.max))
    return Rational(Int(reduced.num), Int(reduced.den)).map(SampleAspectRatio.init)
  }
}
