import CFFmpeg
import ReelCore
import ReelProbe

/// A frame of a video as it is shown.
struct ShownFrame {
  let picture: RawPicture
  /// Seconds from the beginning; nil when that is unknown.
  let time: Double?
}

/// Turns a decoded frame into a picture as it is shown: cropped, with square pixels, upright, in sRGB, on neutral grey
/// where it is transparent, and no larger than asked for.
struct FrameRenderer {
  /// The maximum length of the longer side, in pixels.
  let side: Int
  let orientation: DisplayOrientation
  let crop: PictureCrop?
  /// Whether pixels are square, whatever FFmpeg says.
  private let isSquare: Bool
  /// How often the decoder has halved width and height.
  let halvings: Int
  let context: UnsafeMutablePointer<AVFormatContext>
  let stream: UnsafeMutablePointer<AVStream>

  /// Creates a renderer of the video's own frames.
  init(_ video: OpenedVideo, _ decoder: PictureDecoder, side: Int) {
    self.side = side
    (orientation, crop, halvings) = (video.orientation, video.crop, decoder.halvings)
    isSquare = video.hasSquarePixels
    (context, stream) = (video.context, decoder.stream)
  }

  /// Creates a renderer of a cover, which is shown as it is stored.
  init(
    cover stream: UnsafeMutablePointer<AVStream>, of video: OpenedVideo, _ decoder: PictureDecoder, side: Int
  ) {
    self.side = side
    (orientation, crop, halvings) = (DisplayOrientation(), nil, decoder.halvings)
    isSquare = false
    (context, self.stream) = (video.context, stream)
  }

  /// The grey behind transparent pictures.
  private static let ground: Int32 = 128

  /// Returns the frame as a picture, with its time by the clock of `decoder`; nil in the same cases as ``picture(_:)``.
  func shown(_ frame: UnsafeMutablePointer<AVFrame>, by decoder: PictureDecoder) -> ShownFrame? {
    let time = decoder.seconds(frame.pointee.best_effort_timestamp)
    return picture(frame).map { ShownFrame(picture: $0, time: time) }
  }

  /// Returns the frame as a picture; nil if libswscale does not take its format, or if memory is short.
  func picture(_ frame: UnsafeMutablePointer<AVFrame>) -> RawPicture? {
    let shape = PixelShape(crop, isSquare: isSquare, context, stream, frame)
    cut(frame)
    guard let layout = av_pix_fmt_desc_get(AVPixelFormat(rawValue: frame.pointee.format)) else { return nil }
    let colours = FrameColours(frame.pointee, stream.pointee.codecpar.pointee)
    let isTransparent = layout.pointee.flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0 && !isWindowsBitmap
    let (width, height) = shape.size(
      Int(frame.pointee.width), Int(frame.pointee.height), side: side)
    let scaled = Scaler(width: width, height: height, colours: colours, hasAlpha: isTransparent)
    var bytes: [UInt8]
    if colours.needsMapping {
      guard let deep = scaled.deep(frame) else { return nil }
      bytes = ToneMapper(colours).mapped(deep, channels: scaled.channels)
    } else {
      guard let plain = scaled.plain(frame) else { return nil }
      bytes = plain
    }
    if isTransparent { bytes = Self.onGround(bytes) }
    return RawPicture(width: width, height: height, bytes: bytes).map(orientation.upright)
  }

  /// Whether the pictures are stored as in a Windows bitmap (`BI_RGB`), of whose 32 bits eight are not used.
  private var isWindowsBitmap: Bool {
    stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_RAWVIDEO
      && stream.pointee.codecpar.pointee.codec_tag == 0
  }

  /// Crops the frame to what the container shows of it.
  private func cut(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let crop else { return }
    let (width, height) = (Int(frame.pointee.width), Int(frame.pointee.height))
    let (left, top) = (crop.left >> halvings, crop.top >> halvings)
    let right = width - left - max(1, crop.width >> halvings)
    let bottom = height - top - max(1, crop.height >> halvings)
    // The frame may be smaller than the stream's header says.
    guard right >= 0, bottom >= 0 else { return }
    frame.pointee.crop_left = left
    frame.pointee.crop_top = top
    frame.pointee.crop_right = right
    frame.pointee.crop_bottom = bottom
    av_frame_apply_cropping(frame, Int32(AV_FRAME_CROP_UNALIGNED))
  }

  private static func onGround(_ pixels: [UInt8]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: pixels.count / 4 * 3)
    pixels.withUnsafeBufferPointer { pixels in
      bytes.withUnsafeMutableBufferPointer { bytes in
        var (from, to) = (0, 0)
        while from + 3 < pixels.count {
          let alpha = Int32(pixels[from + 3])
          for channel in 0..<3 {
            let value = (Int32(pixels[from + channel]) * alpha + ground * (255 - alpha) + 127) / 255
            bytes[to + channel] = UInt8(truncatingIfNeeded: value)
          }
          (from, to) = (from + 4, to + 3)
        }
      }
    }
    return bytes
  }
}

/// The shape of a pixel: its width divided by its height.
struct PixelShape {
  private let ratio: Double

  /// - Parameter frame: a decoded frame; nil if there is none yet.
  init(
    _ crop: PictureCrop?, isSquare: Bool, _ context: UnsafeMutablePointer<AVFormatContext>,
    _ stream: UnsafeMutablePointer<AVStream>, _ frame: UnsafeMutablePointer<AVFrame>?
  ) {
    if let crop {
      ratio = crop.pixel?.ratio.value ?? 1
      return
    }
    guard !isSquare else {
      ratio = 1
      return
    }
    let guess = av_guess_sample_aspect_ratio(context, stream, frame)
    let value = guess.num > 0 && guess.den > 0 ? Double(guess.num) / Double(guess.den) : 1
    ratio = (0.001...1000).contains(value) ? value : 1
  }

  /// Returns the size, before any rotation, of a picture with so many pixels if its longer side is at most `side`.
  func size(_ width: Int, _ height: Int, side: Int) -> (Int, Int) {
    let (shown, high) = (max(1, Double(width) * ratio), Double(height))
    let scale = min(1, Double(side) / max(shown, high))
    return (
      min(side, max(1, Int((shown * scale).rounded()))), min(side, max(1, Int((high * scale).rounded())))
    )
  }
}

extension DisplayOrientation {
  /// Returns the picture with its pixels where they are shown.
  func upright(_ picture: RawPicture) -> RawPicture {
    guard self != DisplayOrientation() else { return picture }
    let (width, height) = (picture.width, picture.height)
    let (across, down) = transposes ? (height, width) : (width, height)
    let bytes = [UInt8](unsafeUninitializedCapacity: picture.bytes.count) { target, count in
      picture.bytes.withUnsafeBufferPointer { source in
        var place = 0
        for y in 0..<down {
          for x in 0..<across {
            let (column, row) = transposes ? (y, x) : (x, y)
            let from =
              3 * ((flipsDown ? height - 1 - row : row) * width + (flipsAcross ? width - 1 - column : column))
            target[place] = source[from]
            target[place + 1] = source[from + 1]
            target[place + 2] = source[from + 2]
            place += 3
          }
        }
        count = place
      }
    }
    return RawPicture(width: across, height: down, bytes: bytes) ?? picture
  }
}
