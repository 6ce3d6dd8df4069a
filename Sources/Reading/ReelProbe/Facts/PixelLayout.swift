import CFFmpeg

/// What a pixel format implies: its name, its bit depth, its chroma subsampling.
struct PixelLayout: Hashable {
  let name: String
  /// Bits of one component; nil for a palette.
  let bitDepth: Int?
  /// Such as `4:2:0`; nil if there are no color planes to sample.
  let chroma: String?

  /// Returns nil for an unknown format.
  init?(_ format: Int32) {
    guard format >= 0, let descriptor = av_pix_fmt_desc_get(AVPixelFormat(rawValue: format)),
      let name = descriptor.pointee.name
    else { return nil }
    let layout = descriptor.pointee
    let isPalette = layout.flags & UInt64(AV_PIX_FMT_FLAG_PAL) != 0
    let isRGB = layout.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
    self.name = String(cString: name)
    bitDepth = isPalette || layout.comp.0.depth <= 0 ? nil : Int(layout.comp.0.depth)
    chroma =
      isPalette || isRGB
      ? nil
      : Self.chroma(
        components: layout.nb_components, across: layout.log2_chroma_w, down: layout.log2_chroma_h)
  }

  private static func chroma(components: UInt8, across: UInt8, down: UInt8) -> String? {
    guard components >= 3 else { return components == 0 ? nil : "4:0:0" }
    switch (across, down) {
    case (0, 0): return "4:4:4"
    case (0, 1): return "4:4:0"
    case (1, 0): return "4:2:2"
    case (1, 1): return "4:2:0"
    case (2, 0): return "4:1:1"
    case (2, 2): return "4:1:0"
    default: return nil
    }
  }
}
