import CFFmpeg
import ReelCore

/// Decides whether the header alone tells the truth, and checks it against the first packet's own header.
struct HeaderReading {
  let structure: FileStructure
  /// When packets are shown, where that is read without FFmpeg.
  let clock: ContentClock?
  let size: Int64

  /// Why not everything that the facts need stands in the header, as far as can be seen without a packet; nil when
  /// it does.
  func doubt(_ header: HeaderFacts, _ streams: StreamChoice) -> String? {
    guard structure.container.isISO || structure.container.isMatroska else { return "container" }
    if let iso = structure.iso, iso.fragments > 0, iso.fragmentTable?.faults.isEmpty != true {
      return "fragments"
    }
    if structure.encrypted ?? streams.isEncrypted { return "encrypted" }
    // How much is there of a file that was cut off takes its packets to tell.
    if structure.truncated == true { return "cut off" }
    guard let stream = streams.video else {
      let isSound = !streams.audios.isEmpty && streams.audios.count == streams.all.count
      return isSound ? doubtOfSound(header, streams) : "no video"
    }
    let codec = stream.pointee.codecpar.pointee.codec_id
    // FFmpeg forgets the size that an MP4 gives for MPEG-4 part 2 and H.263, so that a decoder has to say it.
    let isDecoded = DecodedHeader.codecs.contains(codec)
    if header.sizes[stream.pointee.index] == nil, !isDecoded { return "no size" }
    guard isDecoded || BitstreamHeader.codecs.contains(codec) else {
      return "codec \(VideoFacts.codecName(codec) ?? "unknown")"
    }
    if let doubt = BitstreamHeader.doubt(stream) { return doubt }
    if !hasPace(stream, streams), !hasFragmentsPace(stream),
      stream.pointee.avg_frame_rate.num <= 0 || stream.pointee.avg_frame_rate.den <= 0 || !knowsSteps(stream)
    {
      return "no frame rate"
    }
    return doubtOfSound(header, streams)
  }

  private func doubtOfSound(_ header: HeaderFacts, _ streams: StreamChoice) -> String? {
    if streams.audios.contains(where: { $0.pointee.codecpar.map(DecodedSound.isOpen) == true }) {
      return "sound that may be doubled"
    }
    if !streams.audios.allSatisfy(isTold) { return "sound not told" }
    return clock?.sum() != nil || knowsDuration(header, streams) ? nil : "no duration"
  }

  /// Reads the bitstream headers of the video stream's first packet, and completes its parameters by them. What
  /// stands against it, when it says otherwise or nothing; the file must then be opened anew.
  func doubtOfBitstream(_ input: borrowing OpenedInput, _ streams: StreamChoice) -> String? {
    if streams.video == nil { return nil }
    guard let stream = streams.video, let parameters = stream.pointee.codecpar,
      let packet = FirstPacket(of: stream, among: streams.all, in: input.context)
    else { return "no packet" }
    let (width, height) = (parameters.pointee.width, parameters.pointee.height)
    if DecodedHeader.codecs.contains(parameters.pointee.codec_id) {
      guard DecodedHeader.complete(stream, packet.packet) else { return "no bitstream header" }
    } else {
      guard let bitstream = BitstreamHeader(parameters, packet: packet.packet) else {
        return "no bitstream header"
      }
      bitstream.apply(in: parameters)
    }
    let isAsTold = (parameters.pointee.width, parameters.pointee.height) == (width, height)
    return isAsTold || (width, height) == (0, 0) ? nil : "another size"
  }

  /// Whether it can be said how even the frames are: from the index, or because the header gives the rate.
  private func knowsSteps(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    structure.container.isISO || stream.pointee.r_frame_rate.num > 0
  }

  /// Whether the times of the pictures say how fast they follow one another.
  private func hasPace(_ stream: StreamChoice.Stream, _ streams: StreamChoice) -> Bool {
    ContentClock.key(of: stream, among: streams, in: structure).flatMap { clock?.pace(of: $0) } != nil
  }

  private func hasFragmentsPace(_ stream: StreamChoice.Stream) -> Bool {
    let id = MovieTracks(structure)?.track(of: stream)?.id
    return id.flatMap { structure.iso?.fragmentTable?.runs[$0]?.rate } != nil
  }

  private func isTold(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    let parameters = stream.pointee.codecpar
    return reel_channels(parameters) > 0 && (parameters?.pointee.sample_rate ?? 0) > 0
  }

  private func knowsDuration(_ header: HeaderFacts, _ streams: StreamChoice) -> Bool {
    let search = DurationSearch(structure: structure, header: header, streams: streams, size: size)
    return (structure.iso?.fragmentTable == nil ? search.inHeader?.seconds : search.fragmentSum?.seconds)
      != nil
  }
}

/// The first packet of one stream.
private struct FirstPacket: ~Copyable {
  let packet: UnsafeMutablePointer<AVPacket>

  /// Packets of other streams that may stand before it.
  private static let mostOthers = 64

  /// Nil when it has none within reach.
  init?(
    of stream: UnsafeMutablePointer<AVStream>, among streams: [UnsafeMutablePointer<AVStream>],
    in context: UnsafeMutablePointer<AVFormatContext>
  ) {
    for other in streams where other != stream { other.pointee.discard = AVDISCARD_ALL }
    var reading = av_packet_alloc()
    guard let packet = reading else { return nil }
    for _ in 0..<Self.mostOthers where av_read_frame(context, packet) >= 0 {
      if packet.pointee.stream_index == stream.pointee.index {
        self.packet = packet
        return
      }
      av_packet_unref(packet)
    }
    av_packet_free(&reading)
    return nil
  }

  deinit {
    var freed: UnsafeMutablePointer<AVPacket>? = packet
    av_packet_free(&freed)
  }
}
