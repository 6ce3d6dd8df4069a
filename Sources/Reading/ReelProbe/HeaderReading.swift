import CFFmpeg
import ReelCore

/// The outcome of reading the first picture's own header.
enum FirstPicture {
  /// It agrees with the container.
  case read
  /// There is none, and a decoder would not find more.
  case none
  /// It contradicts the container or can't be read, so the file must be reopened.
  case doubted(String)

  var isRead: Bool {
    if case .read = self { return true }
    return false
  }
}

/// Decides whether the header alone tells the truth, and checks it against the first packet's own header.
struct HeaderReading {
  let structure: FileStructure
  /// The presentation times of the packets, if these are read without FFmpeg.
  let clock: ContentClock?
  let size: Int64

  /// Returns why the header does not state everything that the facts need, as far as can be seen without a packet;
  /// nil if it does.
  func doubt(_ header: HeaderFacts, _ streams: StreamChoice) -> String? {
    guard structure.container.isISO || structure.container.isMatroska else { return "container" }
    if let iso = structure.iso, iso.fragments > 0, iso.fragmentTable?.faults.isEmpty != true {
      return "fragments"
    }
    // Only its packets show how much of a truncated file is present.
    if structure.truncated == true { return "cut off" }
    if hasNoSamples { return nil }
    guard let stream = streams.video else {
      let isSound = !streams.audios.isEmpty && streams.audios.count == streams.all.count
      return isSound ? doubtOfSound(header, streams) : "no video"
    }
    let codec = stream.pointee.codecpar.pointee.codec_id
    // FFmpeg discards the size that an MP4 states for MPEG-4 part 2 and H.263, so a decoder has to report it.
    let isDecoded = DecodedHeader.codecs.contains(codec)
    if header.sizes[stream.pointee.index] == nil, !isDecoded { return "no size" }
    guard isDecoded || BitstreamHeader.codecs.contains(codec) else {
      return "codec \(VideoFacts.codecName(codec) ?? "unknown")"
    }
    if let doubt = BitstreamHeader.doubt(stream) { return doubt }
    if isDecoded, structure.encrypted ?? streams.isEncrypted { return "encrypted" }
    if !hasPace(stream, streams), !hasFragmentsPace(stream),
      stream.pointee.avg_frame_rate.num <= 0 || stream.pointee.avg_frame_rate.den <= 0 || !knowsSteps(stream)
    {
      return "no frame rate"
    }
    return doubtOfSound(header, streams)
  }

  private func doubtOfSound(_ header: HeaderFacts, _ streams: StreamChoice) -> String? {
    if !streams.audios.allSatisfy(isTold) { return "sound not told" }
    return clock?.sum() != nil || knowsDuration(header, streams) ? nil : "no duration"
  }

  /// Reads the bitstream headers of the video stream's first packet, and completes the stream's parameters from them.
  func firstPicture(_ streams: StreamChoice, _ scan: inout PacketScan) -> FirstPicture {
    guard let stream = streams.video, let parameters = stream.pointee.codecpar else { return .none }
    let others = streams.all.filter { $0 != stream && $0.pointee.codecpar.map(DecodedSound.isOpen) != true }
    let before = others.map(\.pointee.discard)
    for other in others { other.pointee.discard = AVDISCARD_ALL }
    defer { for (other, discard) in zip(others, before) { other.pointee.discard = discard } }
    scan.run(untilSeen: stream.pointee.index, orRead: Self.mostBytes)
    guard let packet = scan.first else {
      if hasNoSamples { DecodedHeader.complete(stream) }
      return hasNoSamples ? .none : .doubted("no packet")
    }
    let (width, height) = (parameters.pointee.width, parameters.pointee.height)
    if DecodedHeader.codecs.contains(parameters.pointee.codec_id) {
      // The record may give the decoder all it needs, even if the packet is of another codec.
      let other = CodecSign.other(
        than: parameters.pointee.codec_id, packet: BitstreamHeader.bytes(of: packet),
        record: BitstreamHeader.extradata(of: parameters))
      guard other == nil, DecodedHeader.complete(stream, packet) else {
        return .doubted("no bitstream header")
      }
    } else {
      guard let bitstream = BitstreamHeader(parameters, packet: packet) else {
        guard BitstreamHeader.isNeedless(parameters) else { return .doubted("no bitstream header") }
        DecodedHeader.complete(stream)
        return .none
      }
      bitstream.apply(in: parameters)
    }
    let isAsTold = (parameters.pointee.width, parameters.pointee.height) == (width, height)
    return isAsTold || (width, height) == (0, 0) ? .read : .doubted("another size")
  }

  /// The most bytes to read in search of the first picture; fewer precede it.
  private static let mostBytes: Int64 = 2 << 20

  private var hasNoSamples: Bool { structure.iso?.hasNoSamples == true }

  /// Whether the regularity of the frames can be determined: from the index, or because the header states the rate.
  private func knowsSteps(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    structure.container.isISO || stream.pointee.r_frame_rate.num > 0
  }

  /// Whether the presentation times of the pictures give their rate.
  private func hasPace(_ stream: StreamChoice.Stream, _ streams: StreamChoice) -> Bool {
    let key = ContentClock.key(of: stream, among: streams, in: structure)
    return key.flatMap { clock?.pace(of: $0) }.map(ContentEvidence.tells) ?? false
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
