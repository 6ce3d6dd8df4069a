import CFFmpeg
import ReelCore
import ReelProbe

/// Decodes pictures of one stream, on the calling thread, with a decoder of the allow list.
final class PictureDecoder {
  /// The result of looking for a picture.
  enum Found {
    /// Valid until the next call.
    case frame(UnsafeMutablePointer<AVFrame>)
    /// There are no more pictures, or none that can be decoded within what may be read for one.
    case end
  }

  let stream: UnsafeMutablePointer<AVStream>
  private let video: OpenedVideo
  private let decoder: UnsafeMutablePointer<AVCodecContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let frame: UnsafeMutablePointer<AVFrame>
  /// The number of pixels that were decoded so far.
  private(set) var pixels = 0
  /// Whether all pictures that can be shown count, sound or not, including those whose references are missing.
  private let takesAll: Bool
  /// The number of packets that the decoder was given.
  private(set) var packets = 0
  /// Whether the decoder was told that nothing follows.
  private var isDrained = false

  /// The largest number of pixels of a picture. No video that is played has more.
  private static let mostPixels: Int64 = 144_000_000
  /// The number of packets that may be read before a key frame is found, and the number of key frames that may fail
  /// before one is decoded.
  private static let mostPackets = 4096
  private static let mostFailures = 6

  /// - Parameters:
  ///   - side: the length that the longer side will have. Detail that is seen only at full size need not be decoded.
  ///   - takesAll: whether pictures with missing references count.
  /// - Throws: `undecodable` for a codec whose decoder is not on the list, `memoryLimit`.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, of video: OpenedVideo, side: Int, takesAll: Bool = false
  ) throws(PosterError) {
    guard let parameters = stream.pointee.codecpar,
      let codec = CodecAllowList.pictureDecoder(of: parameters.pointee.codec_id)
    else {
      throw PosterError(
        .undecodable,
        "its video is in a codec (\(Self.name(of: stream))) that Reel does not decode; convert it first")
    }
    guard let decoder = avcodec_alloc_context3(codec), let packet = av_packet_alloc(),
      let frame = av_frame_alloc()
    else { throw .noMemory }
    (self.stream, self.video, self.decoder, self.packet, self.frame) = (stream, video, decoder, packet, frame)
    self.takesAll = takesAll
    guard avcodec_parameters_to_context(decoder, parameters) >= 0 else { throw .noMemory }
    Self.configure(decoder, codec, showing: Self.longerSide(of: stream, video), side: side)
    if takesAll { decoder.pointee.flags2 |= Int32(AV_CODEC_FLAG2_SHOW_ALL) }
    guard avcodec_open2(decoder, codec, nil) >= 0 else {
      throw PosterError(
        .undecodable, "its video (\(Self.name(of: stream))) can't be decoded: its header makes no sense")
    }
    for other in video.streams where other != stream { other.pointee.discard = AVDISCARD_ALL }
    // FFmpeg hands out a file's palette with the first packet alone, and the decoder keeps it.
    if (1...8).contains(parameters.pointee.bits_per_coded_sample), stream != video.cover { _ = nextFrame() }
  }

  deinit {
    var (decoder, packet, frame): (UnsafeMutablePointer<AVCodecContext>?, _, _) = (
      decoder, Optional(packet), Optional(frame)
    )
    av_frame_free(&frame)
    av_packet_free(&packet)
    avcodec_free_context(&decoder)
  }

  /// FFmpeg's name of the stream's codec.
  static func name(of stream: UnsafeMutablePointer<AVStream>) -> String {
    let codec = stream.pointee.codecpar.pointee.codec_id
    return codec == AV_CODEC_ID_NONE ? "unknown to this FFmpeg" : String(cString: avcodec_get_name(codec))
  }

  /// Opens and closes a decoder, so that its tables are set up.
  static func prepare(_ id: AVCodecID) {
    guard let codec = CodecAllowList.pictureDecoder(of: id) else { return }
    var decoder = avcodec_alloc_context3(codec)
    decoder?.pointee.thread_count = 1
    avcodec_open2(decoder, codec, nil)
    avcodec_free_context(&decoder)
  }

  private static func configure(
    _ decoder: UnsafeMutablePointer<AVCodecContext>, _ codec: UnsafePointer<AVCodec>,
    showing longer: Int, side: Int
  ) {
    decoder.pointee.thread_count = 1
    decoder.pointee.max_pixels = mostPixels
    // A key frame that is not at the beginning may be reported as damaged. Whether it is can be told from the frame.
    decoder.pointee.flags |= Int32(AV_CODEC_FLAG_OUTPUT_CORRUPT)
    // The edges of blocks disappear in a picture of half the size.
    if longer >= 2 * side { decoder.pointee.skip_loop_filter = AVDISCARD_ALL }
    var halvings: Int32 = 0
    while halvings < Int32(codec.pointee.max_lowres), longer >> (Int(halvings) + 1) >= side { halvings += 1 }
    decoder.pointee.lowres = halvings
  }

  /// Returns the number of pixels on the longer side as it is shown.
  private static func longerSide(of stream: UnsafeMutablePointer<AVStream>, _ video: OpenedVideo) -> Int {
    let parameters = stream.pointee.codecpar.pointee
    let crop = stream == video.cover ? nil : video.crop
    let isSquare = stream != video.cover && video.hasSquarePixels
    let shape = PixelShape(crop, isSquare: isSquare, video.context, stream, nil)
    let (width, height) = shape.size(
      crop?.width ?? Int(parameters.width), crop?.height ?? Int(parameters.height), side: .max)
    // Cropping and narrow pixels make it less than is stored. Wide pixels make it more, but no more is decoded.
    return min(max(width, height), Int(max(parameters.width, parameters.height)))
  }

  // MARK: Where

  /// No video lasts longer than a year: a time beyond that is damaged.
  private static let longest = 31_536_000.0

  /// Returns the seconds from the beginning of the video to a time in the stream's time base; nil if they are unknown.
  func seconds(_ time: Int64) -> Double? {
    guard time != reel_no_time else { return nil }
    let (span, overflow) = time.subtractingReportingOverflow(start)
    guard !overflow else { return nil }
    let seconds = max(0, Double(span) * av_q2d(stream.pointee.time_base))
    return seconds < Self.longest ? seconds : nil
  }

  private var start: Int64 {
    stream.pointee.start_time == reel_no_time ? 0 : stream.pointee.start_time
  }

  /// Seeks to the key frame at or before `seconds`. Returns false if that can't be done.
  func seek(to seconds: Double) -> Bool {
    restart()
    let base = av_q2d(stream.pointee.time_base)
    guard base > 0, let ticks = Int64(exactly: (seconds / base).rounded()) else { return false }
    let (time, overflow) = ticks.addingReportingOverflow(start)
    return !overflow
      && av_seek_frame(video.context, stream.pointee.index, time, AVSEEK_FLAG_BACKWARD) >= 0
  }

  /// Seeks to the first packet. Returns false if that can't be done.
  func rewind() -> Bool {
    guard video.isMPEG else { return seek(to: 0) }
    restart()
    return av_seek_frame(video.context, -1, 0, AVSEEK_FLAG_BYTE) >= 0
  }

  private func restart() {
    avcodec_flush_buffers(decoder)
    isDrained = false
  }

  // MARK: What

  /// Returns the next key frame, decoded alone.
  func nextKeyFrame() -> Found {
    stream.pointee.discard = AVDISCARD_NONKEY
    var failures = 0
    for _ in 0..<Self.mostPackets {
      guard av_read_frame(video.context, packet) >= 0 else { return .end }
      defer { av_packet_unref(packet) }
      guard packet.pointee.stream_index == stream.pointee.index,
        packet.pointee.flags & AV_PKT_FLAG_KEY != 0
      else { continue }
      restart()
      if decodeAlone() { return .frame(frame) }
      failures += 1
      if failures >= Self.mostFailures { return .end }
    }
    return .end
  }

  /// Returns the picture in the packet that the demuxer has attached to the stream.
  func attachedPicture() -> Found {
    guard av_packet_ref(packet, &stream.pointee.attached_pic) >= 0 else { return .end }
    defer { av_packet_unref(packet) }
    return packet.pointee.size > 0 && decodeAlone() ? .frame(frame) : .end
  }

  private func decodeAlone() -> Bool {
    packets += 1
    guard avcodec_send_packet(decoder, packet) >= 0 else { return false }
    // Tell the decoder that nothing follows, so that one that reorders pictures waits for no other.
    _ = avcodec_send_packet(decoder, nil)
    return receive()
  }

  /// Returns the next frame on which others depend. Those frames suffice to see what a video shows, and are half of the
  /// work.
  func nextFrame() -> Found {
    stream.pointee.discard = AVDISCARD_DEFAULT
    decoder.pointee.skip_frame = takesAll ? AVDISCARD_DEFAULT : AVDISCARD_NONREF
    for _ in 0..<Self.mostPackets {
      if receive() { return .frame(frame) }
      if isDrained { return .end }
      guard av_read_frame(video.context, packet) >= 0 else {
        isDrained = true
        _ = avcodec_send_packet(decoder, nil)
        continue
      }
      // A packet that can't be decoded is skipped.
      if packet.pointee.stream_index == stream.pointee.index {
        packets += 1
        _ = avcodec_send_packet(decoder, packet)
      }
      av_packet_unref(packet)
    }
    return .end
  }

  private func receive() -> Bool {
    guard avcodec_receive_frame(decoder, frame) >= 0, frame.pointee.width > 0, frame.pointee.height > 0 else {
      return false
    }
    pixels += Int(frame.pointee.width) * Int(frame.pointee.height)
    return true
  }

  /// How often the decoder halves width and height.
  var halvings: Int { Int(decoder.pointee.lowres) }
}

extension PosterError {
  static let noMemory = PosterError(
    .memoryLimit, "its pictures need more memory than one file may use; it is damaged or too large")
}
