import CFFmpeg

/// Scales a frame and makes it red, green and blue, by libswscale.
struct Scaler {
  let width: Int
  let height: Int
  let colours: FrameColours
  let hasAlpha: Bool

  /// Of a pixel: red, green, blue, and how opaque it is.
  var channels: Int { hasAlpha ? 4 : 3 }

  /// One byte for each channel; nil when libswscale does not take the frame.
  func plain(_ frame: UnsafeMutablePointer<AVFrame>) -> [UInt8]? {
    scaled(frame, to: hasAlpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24)
  }

  /// 16 bits for each channel, for colours that are not an ordinary screen's; nil as above.
  func deep(_ frame: UnsafeMutablePointer<AVFrame>) -> [UInt16]? {
    scaled(frame, to: hasAlpha ? reel_rgba64 : reel_rgb48)
  }

  /// libswscale may write a few bytes beyond the last pixel of a row.
  private static let margin = 64

  private func scaled<Number: FixedWidthInteger>(
    _ frame: UnsafeMutablePointer<AVFrame>, to format: AVPixelFormat
  ) -> [Number]? {
    // Of two fields that were taken at different times, one: both together have combs.
    let field: Int32 = reel_is_interlaced(frame) && frame.pointee.height >= 4 ? 2 : 1
    let rows = frame.pointee.height / field
    guard let context = context(frame, rows: rows, to: format) else { return nil }
    defer { sws_freeContext(context) }
    let steps = Self.steps(frame.pointee.linesize, times: field)
    let row = width * channels
    var pixels = [Number](repeating: 0, count: row * height + Self.margin)
    let count = pixels.withUnsafeMutableBytes { bytes -> Int32 in
      let source = Self.planes(frame.pointee.data)
      let target: [UnsafeMutablePointer<UInt8>?] = [
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, nil, nil,
      ]
      return sws_scale(
        context, source, steps, 0, rows, target,
        [Int32(row * MemoryLayout<Number>.size), 0, 0, 0])
    }
    guard count == Int32(height) else { return nil }
    pixels.removeLast(Self.margin)
    return pixels
  }

  private func context(
    _ frame: UnsafeMutablePointer<AVFrame>, rows: Int32, to format: AVPixelFormat
  ) -> OpaquePointer? {
    let shrinks = Int(frame.pointee.width) >= width && Int(rows) >= height
    guard
      let context = sws_getContext(
        frame.pointee.width, rows, AVPixelFormat(rawValue: frame.pointee.format), Int32(width), Int32(height),
        format, shrinks ? reel_scale_by_area : reel_scale_smoothly, nil, nil, nil)
    else { return nil }
    // It refuses this where no colours are converted, and there is nothing to tell then.
    // The same matrix twice: what is red, green and blue already goes there and back.
    let matrix = sws_getCoefficients(colours.matrix)
    _ = sws_setColorspaceDetails(
      context, matrix, colours.isFullRange ? 1 : 0, matrix, 1, 0, 1 << 16, 1 << 16)
    return context
  }

  private typealias Steps = (Int32, Int32, Int32, Int32, Int32, Int32, Int32, Int32)
  private typealias Plane = UnsafeMutablePointer<UInt8>?
  private typealias Planes = (Plane, Plane, Plane, Plane, Plane, Plane, Plane, Plane)

  private static func steps(_ steps: Steps, times factor: Int32) -> [Int32] {
    [steps.0 * factor, steps.1 * factor, steps.2 * factor, steps.3 * factor]
  }

  /// A picture of one colour, made of a frame as most decoders give it.
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

  private static func planes(_ planes: Planes) -> [UnsafePointer<UInt8>?] {
    [planes.0, planes.1, planes.2, planes.3].map { $0.map { UnsafePointer($0) } }
  }
}
