import ReelCore

/// The beginning of the video usability information (VUI), which H.264 (E.1.1) and HEVC (E.2.1) share: the pixel shape
/// and the meaning of the colours.
struct VideoUsability: Hashable {
  /// Nil if not stated.
  private(set) var pixel: SampleAspectRatio?
  /// Whether the sample values use the full range; nil if not stated.
  private(set) var fullRange: Bool?
  /// Colour primaries, transfer function and matrix as numbered in ITU-T H.273; nil if not stated.
  private(set) var colour: Colour?

  struct Colour: Hashable {
    let primaries: UInt32
    let transfer: UInt32
    let matrix: UInt32

    /// Whether a number of H.273 has a meaning: 0 and 3 are reserved, 2 is "unspecified".
    static func isSaid(_ number: UInt32) -> Bool { number != 0 && number != 2 && number != 3 }
  }

  /// Creates usability information in which an omitted value counts as not stated.
  init(pixel: SampleAspectRatio? = nil, colour: Colour? = nil) {
    self.pixel = pixel
    self.colour = colour
  }

  init?(_ reader: inout BitReader) {
    guard let hasPixel = reader.flag() else { return nil }
    if hasPixel, !readPixel(&reader) { return nil }
    guard let hasOverscan = reader.flag() else { return nil }
    if hasOverscan, reader.flag() == nil { return nil }
    guard let hasSignal = reader.flag() else { return nil }
    if hasSignal, !readSignal(&reader) { return nil }
  }

  private mutating func readPixel(_ reader: inout BitReader) -> Bool {
    guard let kind = reader.bits(8) else { return false }
    if kind == 255 {
      guard let width = reader.bits(16), let height = reader.bits(16) else { return false }
      pixel = Rational(Int(width), Int(height)).map(SampleAspectRatio.init)
    } else if kind < Self.pixels.count {
      let (width, height) = Self.pixels[Int(kind)]
      pixel = Rational(width, height).map(SampleAspectRatio.init)
    }
    return true
  }

  private mutating func readSignal(_ reader: inout BitReader) -> Bool {
    guard reader.bits(3) != nil, let full = reader.flag(), let hasColour = reader.flag() else { return false }
    fullRange = full
    guard hasColour else { return true }
    guard let primaries = reader.bits(8), let transfer = reader.bits(8), let matrix = reader.bits(8) else {
      return false
    }
    colour = Colour(primaries: primaries, transfer: transfer, matrix: matrix)
    return true
  }

  /// The pixel shapes of table E-1.
  private static let pixels = [
    (0, 0), (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33), (18, 11),
    (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
  ]
}
