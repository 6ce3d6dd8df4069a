import CFFmpeg
import ReelCore

/// A file that is open for its pictures to be decoded.
///
/// The bytes are a stranger's: open it in a confined worker that does nothing else.
package final class OpenedVideo {
  package typealias Stream = UnsafeMutablePointer<AVStream>

  /// The video that a player would show; nil when there is none.
  package let video: Stream?
  /// The first attached picture; nil when there is none.
  package let cover: Stream?
  /// How the pictures of ``video`` stand upright.
  package let orientation: DisplayOrientation
  /// What the container cuts off the pictures of ``video``; nil for nothing.
  package let crop: PictureCrop?
  /// Whether the container gives square pixels to the pictures of ``video``, whatever FFmpeg makes of it.
  package let hasSquarePixels: Bool
  /// Whether it takes a key to decode.
  package let isEncrypted: Bool
  /// Whether times are searched for in the bytes, as there is no index: the beginning is found by its place only.
  package let isMPEG: Bool
  /// Whether an edit list leaves nothing of ``video`` to be shown.
  package let hidesSamples: Bool
  private let input: OpenedInput
  private let source: BoundedSource
  private let failure: ReadFailure

  /// - Parameters: as ``FFmpegReader/read(descriptor:size:container:)``.
  /// - Throws: as that.
  package init(
    descriptor: Int32, size: Int64, container: MediaContainer, limits: ReadingLimits
  ) throws(ProbeError) {
    guard size > 0 else { throw ProbeError(.empty, "it is empty") }
    reel_log_capture()
    av_max_alloc(max(0, limits.largestAllocation))
    source = BoundedSource(.descriptor(descriptor), size: size, limits: limits)
    let structure = FileStructure(source, sniffed: container)
    isMPEG = structure.container.isMPEG
    failure = ReadFailure(container: structure.container, limits: limits)
    if let cut = failure.indexIsCut(structure, source) { throw cut }
    do throws(OpenedInput.Failure) {
      input = try OpenedInput.open(
        source, demuxer: structure.container.demuxer, decoding: .all, limits: limits)
    } catch {
      throw failure.notOpened(error.code, structure, source)
    }
    if Self.needsPackets(StreamChoice(input.streams, of: structure), structure.container) {
      // Its result says little: with too little memory it is 0, with one stream too many it is not.
      avformat_find_stream_info(input.context, nil)
    }
    if let stopped = failure.stopped(source.stop) { throw stopped }
    var streams = StreamChoice(input.streams, of: structure)
    // A multiplexer lists what is not on air, too.
    if isMPEG, streams.videos.count > 1 { streams.take(ContentClock.read(source, structure), in: structure) }
    guard !streams.all.isEmpty else { throw failure.externalMedia(structure) ?? failure.corrupt }
    if let tooLarge = failure.indexIsTooLarge(streams) { throw tooLarge }
    for stream in streams.all { reel_ignore_cropping(stream) }
    video = streams.video
    if let video { MovieTracks(structure)?.applyShape(to: video) }
    cover = streams.covers.first
    isEncrypted = structure.isEncrypted(streams) ?? streams.isEncrypted
    hidesSamples = streams.video.flatMap { structure.iso?.hidesSamples(of: $0) } ?? false
    orientation =
      streams.video.flatMap { DisplayMatrix.numbers(of: $0) }.map { DisplayOrientation(matrix: $0) }
      ?? DisplayOrientation()
    let crops = PictureCrops(structure)
    crop = streams.video.flatMap { crops.crop(of: $0, among: streams) }
    hasSquarePixels = streams.video.map { crops.isSquareForBothEyes($0, among: streams) } ?? false
  }

  /// Whether the header does not say what it takes to open a decoder.
  private static func needsPackets(_ streams: StreamChoice, _ container: MediaContainer) -> Bool {
    guard container.isISO || container.isMatroska, let stream = streams.video,
      let parameters = stream.pointee.codecpar
    else { return !(container.isISO || container.isMatroska) }
    return parameters.pointee.codec_id == AV_CODEC_ID_NONE || parameters.pointee.width <= 0
  }

  /// FFmpeg's side of it, as long as this lives.
  package var context: UnsafeMutablePointer<AVFormatContext> { input.context }

  /// Every stream, in the order of the file.
  package var streams: [Stream] { input.streams }

  /// Whether half of its time is over, so that no better picture should be looked for.
  package var isPastHalfTime: Bool { source.isPastHalfTime }

  /// What is left of its time.
  package var secondsLeft: Double { source.secondsLeft }

  /// From here on, the file seems to end after so many bytes have been read: finding one picture should not take all of
  /// what may be read of it.
  package func allow(bytes: Int64) {
    source.allowance = bytes
  }

  /// What the file's bytes, disk or clock have put an end to the reading by; nil when it may go on.
  package var stop: ProbeError? { failure.stopped(source.stop) }

  /// Seconds, as the header says; nil when it does not.
  package var duration: Double? {
    if input.context.pointee.duration != reel_no_time, input.context.pointee.duration > 0 {
      return Double(input.context.pointee.duration) / Double(reel_time_base)
    }
    guard let video, video.pointee.duration != reel_no_time, video.pointee.duration > 0 else { return nil }
    return Double(video.pointee.duration) * av_q2d(video.pointee.time_base)
  }
}
