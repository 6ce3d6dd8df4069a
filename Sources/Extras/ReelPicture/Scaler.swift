import CFFmpeg

/// Scales a frame and converts it to red, green and blue, with libswscale.
struct Scaler {
  let width: Int
  let height: Int
  let colours: FrameColours
  let hasAlpha: Bool

  /// The number of channels of a pixel: red, green, blue, and opacity if there is any.
  var channels: Int { hasAlpha ? 4 : 3 }

  /// Returns one byte for each channel; nil if libswscale does not take the frame.
  func plain(_ frame: UnsafeMutablePointer<AVFrame>) -> [UInt8]? {
    scaled(frame, to: hasAlpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24)
  }

  /// Returns 16 bits for each channel, for colours that are not those of an ordinary screen; nil if libswscale does not
  /// take the frame.
  func deep(_ frame: UnsafeMutablePointer<AVFrame>) -> [UInt16]? {
    scaled(frame, to: hasAlpha ? reel_rgba64 : reel_rgb48)
  }

  /// libswscale may write a few bytes beyond the last pixel of a row.
  private static let margin = 64

  private func scaled<Number: FixedWidthInteger>(
    _ frame: UnsafeMutablePointer<AVFrame>, to format: AVPixelFormat
  ) -> [Number]? {
    // If two fields were taken at different times, use one of them: together they show combing.
    let isOneField = reel_is_interlaced(frame) && frame.pointee.height >= 4
    var scaling = ReelScaling(
      width: Int32(width), height: Int32(height), format: format, matrix: colours.matrix,
      full_range: colours.isFullRange, rows_apart: isOneField ? 2 : 1)
    let row = width * channels
    var pixels = [Number](repeating: 0, count: row * height + Self.margin)
    let isScaled = pixels.withUnsafeMutableBytes {
      reel_scale(
        frame, &scaling, $0.baseAddress?.assumingMemoryBound(to: UInt8.self),
        Int32(row * MemoryLayout<Number>.size))
    }
    guard isScaled else { return nil }
    pixels.removeLast(Self.margin)
    return pixels
  }

  /// Returns a picture made from a frame in the format that most decoders produce.
  static func example(side: Int) -> [UInt8]? {
    var frame = av_frame_alloc()
    defer { av_frame_free(&frame) }
    guard let frame else { return nil }
    frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    (frame.pointee.width, frame.pointee.height) = (Int32(2 * side), Int32(2 * side))
    guard av_frame_get_buffer(frame, 0) >= 0 else { return nil }
    let colours = FrameColours(matrix: SWS_CS_ITU601, transfer: .standard, isWide: false)
    return Scaler(width: side, height: side, colours: colours, hasAlpha: false).plain(frame)
  }
}
