import CFFmpeg
import ReelCore

/// Decides whether the packets tell the truth without a decoder, and checks them against the first one's own header.
///
/// FFmpeg examines packets as in a full reading, and finds the same rates and times. Only the size and the format of
/// the pictures, which a decoder would report, are read from the bitstream's own headers.
struct PacketReading {
  let structure: FileStructure
  /// The presentation times of the packets, if these are read without FFmpeg.
  let clock: ContentClock?
  let header: HeaderFacts
  /// The most bytes of packets that FFmpeg examines.
  let probedBytes: Int64

  /// Returns why a decoder is needed, as far as can be seen from the streams; nil if none is.
  func doubt(_ streams: StreamChoice) -> String? {
    // How far FFmpeg reads depends on every video stream.
    if streams.videos.count > 1 { return "several videos" }
    guard let stream = streams.video, hasReadableHeaders(stream) else { return nil }
    if let doubt = BitstreamHeader.doubt(stream) { return doubt }
    // FFmpeg guesses missing timestamps from the picture order that the decoder reports. Matroska has no decoding
    // times, and in a program stream only the first of several frames in a packet has any times.
    guard isReordered(stream), !hasPace(stream, streams) else { return nil }
    if structure.container.isMatroska, stream.pointee.r_frame_rate.num <= 0 { return "no frame rate" }
    return structure.container == .mpegPS ? "frames without times" : nil
  }

  /// Whether the presentation times of the pictures give their rate, so that FFmpeg's is not needed.
  private func hasPace(_ stream: StreamChoice.Stream, _ streams: StreamChoice) -> Bool {
    structure.stepsAreIndexed
      || structure.container != .mpegPS
        && (clock?.isWhole == false && structure.container.isMPEG
          || ContentClock.key(of: stream, among: streams, in: structure).flatMap { clock?.pace(of: $0) }
            != nil)
  }

  /// Sets a placeholder size if the header states none. FFmpeg reads on until it knows a size, and must not wait for
  /// a decoder that is not there.
  func standIn(for streams: StreamChoice) {
    for stream in streams.videos where hasReadableHeaders(stream) && header.sizes[stream.pointee.index] == nil
    {
      stream.pointee.codecpar.pointee.width = 1
      stream.pointee.codecpar.pointee.height = 1
    }
  }

  func hasReadableHeaders(_ stream: StreamChoice.Stream) -> Bool {
    BitstreamHeader.codecs.contains(stream.pointee.codecpar.pointee.codec_id)
  }

  /// Reads the bitstream headers of the video stream's first packet, and completes the stream's parameters from them.
  func firstPicture(
    _ stream: StreamChoice.Stream, among streams: StreamChoice, _ scan: inout PacketScan,
    in context: UnsafeMutablePointer<AVFormatContext>
  ) -> FirstPicture {
    if structure.container.isMPEG, context.pointee.duration_estimation_method != AVFMT_DURATION_FROM_PTS {
      return .doubted("no times")
    }
    scan.run(untilSeen: stream.pointee.index)
    guard let first = scan.first, let parameters = stream.pointee.codecpar else {
      guard scan.end == .file, header.sizes[stream.pointee.index] != nil else { return .doubted("no packet") }
      DecodedHeader.complete(stream)
      return .none
    }
    if header.sizes[stream.pointee.index] != nil, BitstreamHeader.isNeedless(parameters),
      BitstreamHeader(parameters, packet: first) == nil
    {
      DecodedHeader.complete(stream)
      return .none
    }
    let doubt = doubtOfBitstream(stream, first, parameters, among: streams, &scan)
    return doubt.map { .doubted($0) } ?? .read
  }

  private func doubtOfBitstream(
    _ stream: StreamChoice.Stream, _ first: UnsafeMutablePointer<AVPacket>,
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, among streams: StreamChoice,
    _ scan: inout PacketScan
  ) -> String? {
    if !hasPace(stream, streams), isReordered(stream), !hasOwnRate(stream) {
      return "no ordinary step between frames"
    }
    let atOnce = BitstreamHeader(parameters, packet: first)
    // Freed on return; freeing nil does nothing.
    var later = atOnce == nil ? laterHeader(of: stream, after: first, &scan) : nil
    defer { av_packet_free(&later) }
    guard let bitstream = atOnce ?? later.flatMap({ BitstreamHeader(parameters, packet: $0) }) else {
      return "no bitstream header"
    }
    // A size in whole blocks counts as different, too: without a decoder FFmpeg computes the shape of the pixels from
    // it.
    if let claimed = header.sizes[stream.pointee.index],
      claimed.width != bitstream.width || claimed.height != bitstream.height
    {
      return "another size"
    }
    if isReordered(stream), !hasPace(stream, streams), header.rates[stream.pointee.index] == nil {
      // If FFmpeg saw too few frames, it took the rate of the bitstream, which counts fields. A decoder would halve
      // it.
      if let rate = bitstream.frameRate, isTwice(rate, stream) { return "no ordinary step between frames" }
      // FFmpeg counts fields only once a decoder has reported them.
      if !bitstream.hasPlainFrames, !hasOnlyPlainFrames(stream, later ?? first, &scan) { return "fields" }
      scan.run(untilSeenOfKept: PacketScan.fewFrames)
      if scan.lacksTimes { return "frames without times" }
    }
    bitstream.apply(in: parameters)
    return nil
  }

  /// Returns the first packet that can be decoded, if it comes so early that FFmpeg sees it in any case. A recording
  /// of a broadcast may begin anywhere, so that its first packets can't be decoded. The caller frees the packet.
  private func laterHeader(
    of stream: StreamChoice.Stream, after first: UnsafeMutablePointer<AVPacket>, _ scan: inout PacketScan
  ) -> UnsafeMutablePointer<AVPacket>? {
    guard [.mpegTS, .m2ts].contains(structure.container), isReordered(stream),
      let parameters = stream.pointee.codecpar, first.pointee.dts != reel_no_time
    else { return nil }
    let base = stream.pointee.time_base
    let latest = Double(first.pointee.dts) + Self.earlySeconds * Double(base.den) / Double(max(1, base.num))
    var found: UnsafeMutablePointer<AVPacket>?
    _ = scan.allOfKept(untilRead: probedBytes / 2) { packet in
      guard packet.pointee.dts != reel_no_time, Double(packet.pointee.dts) < latest else { return false }
      if BitstreamHeader(parameters, packet: packet) != nil { found = av_packet_clone(packet) }
      return found == nil
    }
    return found
  }

  /// The seconds within which that packet must come. FFmpeg examines 5 seconds of a transport stream, and 7 if it
  /// does not know everything by then.
  private static let earlySeconds = 4.0

  /// Whether every packet that FFmpeg may have examined is a frame that is shown once, although the bitstream allows
  /// others.
  private func hasOnlyPlainFrames(
    _ stream: StreamChoice.Stream, _ first: UnsafeMutablePointer<AVPacket>, _ scan: inout PacketScan
  ) -> Bool {
    guard let frames = PlainFrames(stream.pointee.codecpar), frames.isPlain(first) else { return false }
    return scan.allOfKept(untilRead: probedBytes) { frames.isPlain($0) }
  }

  /// Whether the codec may store pictures in another order than that in which they are shown, and state itself how
  /// long they are shown.
  private func isReordered(_ stream: StreamChoice.Stream) -> Bool {
    [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC].contains(stream.pointee.codecpar.pointee.codec_id)
  }

  /// Whether FFmpeg saw the usual step between frames. If there are too few frames, it takes what the decoder
  /// reports, otherwise the time base.
  private func hasOwnRate(_ stream: StreamChoice.Stream) -> Bool {
    let (rate, base) = (stream.pointee.r_frame_rate, stream.pointee.time_base)
    return rate.num > 0 && Int64(rate.num) * Int64(base.num) != Int64(rate.den) * Int64(base.den)
  }

  private func isTwice(_ rate: Rational, _ stream: StreamChoice.Stream) -> Bool {
    let found = stream.pointee.r_frame_rate
    guard found.num > 0, found.den > 0 else { return true }
    return abs(2 * rate.value * Double(found.den) / Double(found.num) - 1) < 0.0001
  }
}
