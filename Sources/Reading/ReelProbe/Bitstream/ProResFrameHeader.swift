/// The header of a ProRes frame (SMPTE RDD 36, 5.1).
struct ProResFrameHeader: Hashable {
  /// In pixels.
  let width: Int
  /// In pixels.
  let height: Int
  /// Whether the chroma is 4:4:4 and not 4:2:2.
  let isFullChroma: Bool
  /// Whether there is an alpha channel.
  let hasAlpha: Bool
  /// Primaries, transfer function and matrix; 0 or 2 if not stated.
  let colour: VideoUsability.Colour

  /// - Parameter frame: the beginning of a sample: the frame's size, `icpf`, the header.
  ///
  /// Nil for what a decoder would refuse before it knows the pixel format.
  init?(_ frame: some Collection<UInt8>) {
    let head = Array(frame.prefix(8 + 20 + 2 * 64))
    guard head.count >= 28, head[4..<8].elementsEqual("icpf".utf8) else { return nil }
    let header = head[8...]
    let size = Self.number(header, at: 0)
    let (chroma, alpha) = (header[8 + 12] >> 6, header[8 + 17] & 15)
    // The quantization matrices must be there, one for each flag.
    let tables = Int(header[8 + 19] & 1) + Int(header[8 + 19] >> 1 & 1)
    guard size >= 20 + 64 * tables, size <= frame.count - 8, Self.number(header, at: 2) <= 1,
      chroma == 2 || chroma == 3, alpha <= 2
    else { return nil }
    width = Self.number(header, at: 8)
    height = Self.number(header, at: 10)
    isFullChroma = chroma == 3
    hasAlpha = alpha > 0
    colour = VideoUsability.Colour(
      primaries: UInt32(header[8 + 14]), transfer: UInt32(header[8 + 15]), matrix: UInt32(header[8 + 16]))
    guard width > 0, height > 0 else { return nil }
  }

  private static func number(_ header: ArraySlice<UInt8>, at place: Int) -> Int {
    Int(header[8 + place]) << 8 | Int(header[8 + place + 1])
  }
}
