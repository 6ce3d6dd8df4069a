import CFFmpeg
import ReelCore

/// Encodes a picture as a baseline JPEG (4:2:0, JFIF, no metadata) with libavcodec's encoder.
enum JPEGEncoder {
  /// The quantiser, from 1 to 31. Lower values keep more detail.
  private static let quantiser: Int32 = 4
  /// Larger pictures use the standard Huffman codes: to find the best ones, the encoder keeps 1.5 KB for each 16×16.
  private static let pixelsWithOwnCodes = 4_000_000

  /// - Throws: `memoryLimit`.
  static func encode(_ picture: RawPicture) throws(PosterError) -> [UInt8] {
    guard let bytes = encoded(picture) else { throw .noMemory }
    return bytes
  }

  private static func encoded(_ picture: RawPicture) -> [UInt8]? {
    guard let codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG) else { return nil }
    var (encoder, frame, packet) = (avcodec_alloc_context3(codec), av_frame_alloc(), av_packet_alloc())
    defer {
      av_packet_free(&packet)
      av_frame_free(&frame)
      avcodec_free_context(&encoder)
    }
    guard let encoder, let frame, let packet else { return nil }
    configure(encoder, picture)
    frame.pointee.format = AV_PIX_FMT_YUVJ420P.rawValue
    frame.pointee.width = Int32(picture.width)
    frame.pointee.height = Int32(picture.height)
    frame.pointee.quality = encoder.pointee.global_quality
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    if picture.width * picture.height > pixelsWithOwnCodes { av_dict_set(&options, "huffman", "default", 0) }
    guard avcodec_open2(encoder, codec, &options) >= 0, av_frame_get_buffer(frame, 0) >= 0 else { return nil }
    fill(frame, picture)
    guard avcodec_send_frame(encoder, frame) >= 0, avcodec_send_frame(encoder, nil) >= 0,
      avcodec_receive_packet(encoder, packet) >= 0
    else { return nil }
    return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
  }

  private static func configure(_ encoder: UnsafeMutablePointer<AVCodecContext>, _ picture: RawPicture) {
    encoder.pointee.width = Int32(picture.width)
    encoder.pointee.height = Int32(picture.height)
    encoder.pointee.pix_fmt = AV_PIX_FMT_YUVJ420P
    encoder.pointee.color_range = AVCOL_RANGE_JPEG
    encoder.pointee.time_base = AVRational(num: 1, den: 25)
    // With a pixel shape, the encoder writes a JFIF header. With "bit-exact", it does not write its own name.
    encoder.pointee.sample_aspect_ratio = AVRational(num: 1, den: 1)
    encoder.pointee.flags |= Int32(AV_CODEC_FLAG_QSCALE) | Int32(AV_CODEC_FLAG_BITEXACT)
    encoder.pointee.global_quality = quantiser * reel_quality_unit
    encoder.pointee.thread_count = 1
  }

  /// Writes the picture as JFIF requires: BT.601, full range, one pair of chroma values for four pixels.
  private static func fill(_ frame: UnsafeMutablePointer<AVFrame>, _ picture: RawPicture) {
    guard let luma = frame.pointee.data.0, let blue = frame.pointee.data.1, let red = frame.pointee.data.2
    else { return }
    let steps = frame.pointee.linesize
    let (width, height) = (picture.width, picture.height)
    picture.bytes.withUnsafeBufferPointer { bytes in
      for y in 0..<height {
        var place = 3 * y * width
        let row = luma + y * Int(steps.0)
        for x in 0..<width {
          let (r, g, b) = (Int32(bytes[place]), Int32(bytes[place + 1]), Int32(bytes[place + 2]))
          row[x] = UInt8(truncatingIfNeeded: (19595 * r + 38470 * g + 7471 * b + 32768) >> 16)
          place += 3
        }
      }
      for y in stride(from: 0, to: height, by: 2) {
        let below = y + 1 < height ? 3 * width : 0
        let (blueRow, redRow) = (blue + y / 2 * Int(steps.1), red + y / 2 * Int(steps.2))
        for x in stride(from: 0, to: width, by: 2) {
          let place = 3 * (y * width + x)
          let beside = x + 1 < width ? 3 : 0
          let sum = { (channel: Int) -> Int32 in
            let first = place + channel
            return Int32(bytes[first]) + Int32(bytes[first + beside]) + Int32(bytes[first + below])
              + Int32(bytes[first + beside + below])
          }
          let (r, g, b) = (sum(0), sum(1), sum(2))
          blueRow[x / 2] = byte(128 + (-11059 * r - 21709 * g + 32768 * b + 131072) >> 18)
          redRow[x / 2] = byte(128 + (32768 * r - 27439 * g - 5329 * b + 131072) >> 18)
        }
      }
    }
  }

  private static func byte(_ value: Int32) -> UInt8 { UInt8(truncatingIfNeeded: min(255, max(0, value))) }
}
