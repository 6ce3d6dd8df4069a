import CFFmpeg
import ReelCore

/// What a container crops from a picture before it is shown, and the shape that it gives the pixels that are left.
///
/// FFmpeg 5.1 ignores it. From 7.1 on it is side data that is not reflected in the size in the codec parameters. So
/// it is read from the file itself, in the same way for every version.
package struct PictureCrop: Hashable {
  /// The pixels cropped at the left.
  package let left: Int
  /// The pixels cropped at the top.
  package let top: Int
  /// The width in pixels of what is left.
  package let width: Int
  /// The height in pixels of what is left.
  package let height: Int
  /// The shape of a pixel; nil if the container does not state one.
  package let pixel: SampleAspectRatio?

  /// Returns nil if nothing is cropped, or everything.
  init?(_ track: MatroskaVideoTrack) {
    guard track.isCropped, let coded = track.width.flatMap({ width in track.height.map { (width, $0) } })
    else { return nil }
    (left, top) = (track.left, track.top)
    width = coded.0 - track.left - track.right
    height = coded.1 - track.top - track.bottom
    guard width > 0, height > 0 else { return nil }
    pixel = Self.pixel(track, width, height)
  }

  /// Display units of 0 to 2 are lengths, 3 is a ratio, and 4 says that the shape is unknown.
  fileprivate static func pixel(_ track: MatroskaVideoTrack, _ width: Int, _ height: Int)
    -> SampleAspectRatio?
  {
    guard (0...3).contains(track.displayUnit) else { return nil }
    if track.displayUnit > 0, track.displayWidth == nil || track.displayHeight == nil { return nil }
    let (across, down) = (track.displayWidth ?? width, track.displayHeight ?? height)
    var reduced = AVRational()
    av_reduce(
      &reduced.num, &reduced.den, Int64(across) * Int64(height), Int64(down) * Int64(width), Int64(Int32.max))
    return Rational(Int(reduced.num), Int(reduced.den)).map(SampleAspectRatio.init)
  }
}

/// The cropping of a file's video streams.
struct PictureCrops: Hashable {
  private let tracks: [MatroskaVideoTrack]

  init(_ structure: FileStructure) {
    tracks = structure.matroska?.videoTracks ?? []
  }

  /// Returns what is cropped from the pictures of `stream`. Nil if nothing is, or if the pictures do not have the
  /// size to which the cropping applies: then the header is not believed.
  func crop(
    of stream: StreamChoice.Stream, among streams: StreamChoice
  ) -> PictureCrop? {
    guard let track = track(of: stream, among: streams), let parameters = stream.pointee.codecpar,
      track.width == Int(parameters.pointee.width), track.height == Int(parameters.pointee.height)
    else { return nil }
    return PictureCrop(track)
  }

  /// Whether the container itself gives square pixels to pictures for two eyes (stereo). FFmpeg takes their display
  /// size for that of one eye; some writers mean both.
  func isSquareForBothEyes(_ stream: StreamChoice.Stream, among streams: StreamChoice) -> Bool {
    guard let track = track(of: stream, among: streams), track.stereoMode > 0, !track.isCropped,
      let width = track.width, let height = track.height, width > 0, height > 0
    else { return false }
    return PictureCrop.pixel(track, width, height)?.ratio.value == 1
  }

  /// Whether the cropping leaves nothing of the pictures of `stream`.
  func leavesNothing(of stream: StreamChoice.Stream, among streams: StreamChoice) -> Bool {
    guard let track = track(of: stream, among: streams), track.isCropped else { return false }
    return PictureCrop(track) == nil
  }

  /// Returns the track of a stream. FFmpeg makes the streams in the order of the tracks.
  private func track(of stream: StreamChoice.Stream, among streams: StreamChoice) -> MatroskaVideoTrack? {
    guard let place = streams.videos.firstIndex(of: stream), streams.videos.count == tracks.count else {
      return nil
    }
    return tracks[place]
  }
}
