import CFFmpeg

/// What the values of a frame mean as colours.
struct FrameColours: Hashable {
  /// How much light a value stands for.
  enum Transfer: Hashable {
    /// That of any screen.
    case standard
    /// SMPTE ST 2084.
    case pq
    /// ARIB STD-B67.
    case hlg
  }
  /// The matrix by which red, green and blue were converted: libswscale's constant (`SWS_CS_…`).
  let matrix: Int32
  let isFullRange: Bool
  let transfer: Transfer
  /// Whether its primaries are those of BT.2020.
  let isWide: Bool

  /// Creates colours of limited range.
  init(matrix: Int32 = SWS_CS_BT2020, transfer: Transfer, isWide: Bool) {
    (self.matrix, isFullRange, self.transfer, self.isWide) = (matrix, false, transfer, isWide)
  }

  /// Takes what the frame states, otherwise what the stream states, otherwise what is usual for a picture of its size.
  init(_ frame: AVFrame, _ parameters: AVCodecParameters) {
    let space =
      frame.colorspace == AVCOL_SPC_UNSPECIFIED ? parameters.color_space : frame.colorspace
    // Use the stored size: the frame may be half of that, or what is left after cropping.
    let isKnown = parameters.width > 0 && parameters.height > 0
    let (width, height) =
      isKnown ? (parameters.width, parameters.height) : (frame.width, frame.height)
    let isLarge = height >= 720 || width >= 1280
    switch space {
    case AVCOL_SPC_BT709: matrix = SWS_CS_ITU709
    case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M: matrix = SWS_CS_ITU601
    case AVCOL_SPC_SMPTE240M: matrix = SWS_CS_SMPTE240M
    case AVCOL_SPC_FCC: matrix = SWS_CS_FCC
    case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: matrix = SWS_CS_BT2020
    default: matrix = isLarge ? SWS_CS_ITU709 : SWS_CS_ITU601
    }
    let range = frame.color_range == AVCOL_RANGE_UNSPECIFIED ? parameters.color_range : frame.color_range
    isFullRange = range == AVCOL_RANGE_JPEG || Self.fullFormats.contains(frame.format)
    let transfer = frame.color_trc == AVCOL_TRC_UNSPECIFIED ? parameters.color_trc : frame.color_trc
    switch transfer {
    case AVCOL_TRC_SMPTE2084: self.transfer = .pq
    case AVCOL_TRC_ARIB_STD_B67: self.transfer = .hlg
    default: self.transfer = .standard
    }
    let primaries =
      frame.color_primaries == AVCOL_PRI_UNSPECIFIED ? parameters.color_primaries : frame.color_primaries
    isWide =
      primaries == AVCOL_PRI_BT2020 || primaries == AVCOL_PRI_UNSPECIFIED && self.transfer != .standard
  }

  /// Whether more than a matrix is needed to show it on an ordinary screen.
  var needsMapping: Bool { transfer != .standard || isWide }

  /// The formats of libavutil that are full range by their name.
  private static let fullFormats: Set<Int32> = [
    AV_PIX_FMT_YUVJ420P.rawValue, AV_PIX_FMT_YUVJ422P.rawValue, AV_PIX_FMT_YUVJ444P.rawValue,
    AV_PIX_FMT_YUVJ440P.rawValue, AV_PIX_FMT_YUVJ411P.rawValue,
  ]
}
