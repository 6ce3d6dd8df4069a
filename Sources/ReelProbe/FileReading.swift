import CFFmpeg
import ReelCore

/// The reading of one opened file.
struct FileReading {
  let source: DescriptorSource
  let structure: FileStructure
  let failure: ReadFailure
  let limits: ReadingLimits

  /// Opens the file; again and again if need be, each time from its beginning.
  func open() throws(ProbeError) -> OpenedInput {
    source.position = 0
    do throws(OpenedInput.Failure) {
      return try OpenedInput.open(source, demuxer: structure.container.demuxer, limits: limits)
    } catch {
      throw failure.notOpened(error.code, structure, source)
    }
  }

  /// Reads the header alone; nil when that is not sure to be the truth. Then the file must be opened anew.
  func readHeader(_ input: borrowing OpenedInput) throws(ProbeError) -> Reading? {
    let header = HeaderFacts(input.context)
    let streams = StreamChoice(input.streams)
    let reading = HeaderReading(structure: structure, size: source.size)
    guard reading.mayTrust(header, streams), reading.isWitnessed(input, streams) else { return nil }
    return Reading(media: try facts(header, streams, of: input.context, isWitnessed: true), method: .header)
  }

  /// Reads as many packets as FFmpeg wants to see.
  func readFully(_ input: borrowing OpenedInput) throws(ProbeError) -> Reading {
    let header = HeaderFacts(input.context)
    // Its result says little: with too little memory it is 0, with one stream too many it is not.
    avformat_find_stream_info(input.context, nil)
    if let stopped = failure.stopped(source.stop) { throw stopped }
    let streams = StreamChoice(input.streams)
    guard !streams.all.isEmpty else { throw failure.externalMedia(structure) ?? failure.corrupt }
    if let tooLarge = failure.indexIsTooLarge(streams) { throw tooLarge }
    return Reading(media: try facts(header, streams, of: input.context, isWitnessed: false), method: .full)
  }

  private func facts(
    _ header: HeaderFacts, _ streams: StreamChoice, of context: UnsafeMutablePointer<AVFormatContext>,
    isWitnessed: Bool
  ) throws(ProbeError) -> MediaInfo {
    let stepsAreIndexed = structure.iso.map { $0.fragments == 0 } ?? false
    var scan = PacketScan(context, limits: limits)
    if !isWitnessed, let stream = streams.video { believeFrames(of: stream, &scan) }
    var media = MediaInfo(container: structure.container, size: source.size)
    media.audio = streams.audios.map { AudioFacts($0) }
    let crops = PictureCrops(structure)
    media.video = streams.video.map {
      VideoFacts($0, of: context, among: streams, crops: crops, stepsAreIndexed: stepsAreIndexed)
    }
    media.take(Tags(context.pointee.metadata))
    media.take(structure, streams)
    let search = DurationSearch(structure: structure, header: header, streams: streams, size: source.size)
    takePackets(search, of: context, isWitnessed: isWitnessed, &scan, into: &media)
    if let stopped = failure.stopped(source.stop) { throw stopped }
    let contradictions = Contradictions(
      header: header, structure: structure, claimedDuration: search.claimed, streams: streams, crops: crops,
      media: media)
    media.warnings = contradictions.warnings
    return media
  }

  /// FFmpeg knows VP8's pixel format without decoding, and so takes the size from the container, true or not.
  private func believeFrames(of stream: UnsafeMutablePointer<AVStream>, _ scan: inout PacketScan) {
    guard let parameters = stream.pointee.codecpar, parameters.pointee.codec_id == AV_CODEC_ID_VP8 else {
      return
    }
    scan.run(untilSeen: stream.pointee.index)
    guard let frame = scan.firstVP8Frames[stream.pointee.index] else { return }
    parameters.pointee.width = Int32(clamping: frame.width)
    parameters.pointee.height = Int32(clamping: frame.height)
  }

  /// What takes packets to find out: whether there is a sample, and a duration that no header tells.
  private func takePackets(
    _ search: DurationSearch, of context: UnsafeMutablePointer<AVFormatContext>, isWitnessed: Bool,
    _ scan: inout PacketScan, into media: inout MediaInfo
  ) {
    if let stream = search.streams.video {
      media.video?.hasSamples = isWitnessed ? true : hasSamples(stream, &scan)
    }
    let found = search.withoutPackets(context) ?? search.byPackets(&scan)
    media.duration = found?.seconds
    media.durationSource = found?.source
    if media.truncated == true { media.presentDuration = present(search, &scan) }
    if media.truncated != true, media.external != true, let seconds = media.duration {
      let rate = (Double(source.size) * 8 / seconds).rounded()
      media.bitRate = rate >= 1 ? Int64(rate) : nil
    }
  }

  /// Packets are read only where no index tells.
  private func present(_ search: DurationSearch, _ scan: inout PacketScan) -> Double? {
    let present = PresentDuration(structure: structure, streams: search.streams, size: source.size)
    let seconds = structure.iso == nil ? present.byPackets(&scan) : present.byIndex(whole: search.claimed)
    return seconds.flatMap { (0..<FoundDuration.longest).contains($0) ? $0 : nil }
  }

  private func hasSamples(_ stream: UnsafeMutablePointer<AVStream>, _ scan: inout PacketScan) -> Bool? {
    if let iso = structure.iso {
      return avformat_index_get_entries_count(stream) > 0 || iso.hidesSamples(of: stream)
    }
    scan.run(untilSeen: stream.pointee.index)
    if scan.seen.contains(stream.pointee.index) { return true }
    return scan.end == .file ? false : nil
  }
}

extension ISOFileMap {
  /// Whether the track's edit list leaves nothing of its samples: they are counted, and not in FFmpeg's index.
  func hidesSamples(of stream: UnsafeMutablePointer<AVStream>) -> Bool {
    stream.pointee.nb_frames > 0 && avformat_index_get_entries_count(stream) == 0
      && editedTracks.contains(UInt32(truncatingIfNeeded: stream.pointee.id))
  }
}
