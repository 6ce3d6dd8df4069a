import CFFmpeg
import ReelModel

/// The reading of one opened file.
struct FileReading {
  let source: DescriptorSource
  let structure: FileStructure
  let failure: ReadFailure
  let limits: ReadingLimits

  func read(_ input: borrowing OpenedInput) throws(ProbeError) -> Reading {
    let header = HeaderFacts(input.context)
    // Its result says little: with too little memory it is 0, with one stream too many it is not.
    avformat_find_stream_info(input.context, nil)
    if let stopped = failure.stopped(source.stop) { throw stopped }
    let streams = StreamChoice(input.streams)
    guard !streams.all.isEmpty else { throw failure.corrupt }
    var media = MediaInfo(container: structure.container, size: source.size)
    media.audio = streams.audios.map { AudioFacts($0) }
    media.video = streams.video.map { VideoFacts($0, of: input.context, among: streams) }
    media.take(Tags(input.context.pointee.metadata))
    media.take(structure, streams)
    let search = DurationSearch(structure: structure, header: header, streams: streams, size: source.size)
    takePackets(search, of: input.context, into: &media)
    if let stopped = failure.stopped(source.stop) { throw stopped }
    media.warnings =
      Contradictions(header: header, claimedDuration: search.claimed, streams: streams, media: media)
      .sentences
    return Reading(media: media, method: .full)
  }

  /// What takes packets to find out: whether there is a sample, and a duration that no header tells.
  private func takePackets(
    _ search: DurationSearch, of context: UnsafeMutablePointer<AVFormatContext>, into media: inout MediaInfo
  ) {
    var scan = PacketScan(context, limits: limits)
    if let stream = search.streams.video {
      media.video?.hasSamples = hasSamples(stream, &scan)
    }
    let found = search.withoutPackets(context) ?? search.byPackets(&scan)
    media.duration = found?.seconds
    media.durationSource = found?.source
    if media.truncated != true, let seconds = media.duration {
      media.bitRate = Int64((Double(source.size) * 8 / seconds).rounded())
    }
  }

  private func hasSamples(_ stream: UnsafeMutablePointer<AVStream>, _ scan: inout PacketScan) -> Bool? {
    // Samples that the edit list hides are not in FFmpeg's index, but they are counted.
    if structure.iso != nil {
      return avformat_index_get_entries_count(stream) > 0 || stream.pointee.nb_frames > 0
    }
    scan.run(untilSeen: stream.pointee.index)
    if scan.seen.contains(stream.pointee.index) { return true }
    return scan.end == .file ? false : nil
  }
}
