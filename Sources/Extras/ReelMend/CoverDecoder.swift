import CFFmpeg
import ReelProbe

/// Decodes covers, to prove that a cover without its Exif shows the same picture.
final class CoverDecoder {
  private let decoder: UnsafeMutablePointer<AVCodecContext>
  private let frame: UnsafeMutablePointer<AVFrame>

  private static let mostPixels: Int64 = 144_000_000

  /// Nil for a codec whose decoder is not on the allow list, and if memory is short.
  init?(_ stream: UnsafeMutablePointer<AVStream>) {
    guard let parameters = stream.pointee.codecpar,
      let codec = CodecAllowList.pictureDecoder(of: parameters.pointee.codec_id),
      let decoder = avcodec_alloc_context3(codec)
    else { return nil }
    decoder.pointee.thread_count = 1
    decoder.pointee.max_pixels = Self.mostPixels
    guard avcodec_parameters_to_context(decoder, parameters) >= 0, avcodec_open2(decoder, codec, nil) >= 0,
      let frame = av_frame_alloc()
    else {
      var freed: UnsafeMutablePointer<AVCodecContext>? = decoder
      avcodec_free_context(&freed)
      return nil
    }
    (self.decoder, self.frame) = (decoder, frame)
  }

  deinit {
    var (decoder, frame): (UnsafeMutablePointer<AVCodecContext>?, UnsafeMutablePointer<AVFrame>?) = (
      decoder, frame
    )
    av_frame_free(&frame)
    avcodec_free_context(&decoder)
  }

  /// Returns the pixels, the size and the format of a cover; nil if it can't be decoded.
  func pixels(of packet: AVPacket) -> [UInt8]? {
    var packet = packet
    avcodec_flush_buffers(decoder)
    guard avcodec_send_packet(decoder, &packet) >= 0 else { return nil }
    _ = avcodec_send_packet(decoder, nil)
    guard avcodec_receive_frame(decoder, frame) >= 0 else { return nil }
    let (width, height, format) = (
      frame.pointee.width, frame.pointee.height, AVPixelFormat(frame.pointee.format)
    )
    let size = av_image_get_buffer_size(format, width, height, 1)
    guard size > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    let copied = withUnsafePointer(to: &frame.pointee.data) { planes in
      withUnsafePointer(to: &frame.pointee.linesize) { lines in
        planes.withMemoryRebound(to: UnsafePointer<UInt8>?.self, capacity: 8) { planes in
          lines.withMemoryRebound(to: Int32.self, capacity: 8) { lines in
            av_image_copy_to_buffer(&bytes, size, planes, lines, format, width, height, 1)
          }
        }
      }
    }
    guard copied >= 0 else { return nil }
    for number in [width, height, format.rawValue] { bytes.appendBigEndian(number) }
    return bytes
  }
}
