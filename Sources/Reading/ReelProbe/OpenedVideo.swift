import CFFmpeg
import ReelCore

/// A file that is opened to decode its pictures.
///
/// The bytes are untrusted: open it in a confined worker that does nothing else.
package final class OpenedVideo {
  package typealias Stream = UnsafeMutablePointer<AVStream>

  /// The video that a player would show; nil when there is none.
  package let video: Stream?
  /// The first attached picture; nil when there is none.
  package let cover: Stream?
  /// The rotation and flip that turn the pictures of ``video`` upright.
  package let orientation: DisplayOrientation
  /// What the container crops from the pictures of ``video``; nil for nothing.
  package let crop: PictureCrop?
  /// Whether the container gives the pictures of ``video`` square pixels, whatever FFmpeg reports.
  package let hasSquarePixels: Bool
  /// Whether decoding requires a key.
  package let isEncrypted: Bool
  /// Whether FFmpeg has to search the bytes for times because there is no index. The beginning can be sought only by
  /// its byte position.
  package let isMPEG: Bool
  /// Whether an edit list hides all of ``video``.
  package let hidesSamples: Bool
  private let input: OpenedInput
  private let source: BoundedSource
  private let failure: ReadFailure

  /// Opens a file.
  ///
  /// - Parameters: as of ``FFmpegReader/read(_:size:container:)``.
  /// - Throws: as that method.
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
      // The result is ignored because it says little: it is 0 if memory ran out, and not 0 if there is one stream too
      // many.
      avformat_find_stream_info(input.context, nil)
    }
    if let stopped = failure.stopped(source.stop) { throw stopped }
    var streams = StreamChoice(input.streams, of: structure)
    // A multiplexer may also list streams that are not on air.
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

  /// Whether the header does not state what is needed to open a decoder.
  private static func needsPackets(_ streams: StreamChoice, _ container: MediaContainer) -> Bool {
    guard container.isISO || container.isMatroska, let stream = streams.video,
      let parameters = stream.pointee.codecpar
    else { return !(container.isISO || container.isMatroska) }
    return parameters.pointee.codec_id == AV_CODEC_ID_NONE || parameters.pointee.width <= 0
  }

  /// FFmpeg's context, valid as long as this object exists.
  package var context: UnsafeMutablePointer<AVFormatContext> { input.context }

  /// Every stream, in the order of the file.
  package var streams: [Stream] { input.streams }

  /// Whether half of the time limit has passed, so that no better picture should be searched for.
  package var isPastHalfTime: Bool { source.isPastHalfTime }

  /// The seconds left of the time limit.
  package var secondsLeft: Double { source.secondsLeft }

  /// Makes the file appear to end after `bytes` more bytes. The search for one picture should not use up the whole
  /// read limit.
  package func allow(bytes: Int64) {
    source.allowance = bytes
  }

  /// The error that ended the reading: the deadline, the disk, or a file that shrank. Nil if reading may continue.
  package var stop: ProbeError? { failure.stopped(source.stop) }

  /// The duration in seconds that the header states; nil if it states none.
  package var duration: Double? {
    if input.context.pointee.duration != reel_no_time, input.context.pointee.duration > 0 {
      return Double(input.context.pointee.duration) / Double(reel_time_base)
    }
    guard let video, video.pointee.duration != reel_no_time, video.pointee.duration > 0 else { return nil }
    return Double(video.pointee.duration) * av_q2d(video.pointee.time_base)
  }
}
