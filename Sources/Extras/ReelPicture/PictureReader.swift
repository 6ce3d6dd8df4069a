import CFFmpeg
import ReelCore
import ReelProbe

/// Makes pictures of a file, in this process, on the calling thread.
///
/// The bytes are untrusted, and decoders run on them: call it in a confined process that has read nothing else.
package struct PictureReader {
  private let limits: ReadingLimits

  /// - Parameter limits: the limits on reading one file.
  package init(limits: ReadingLimits = .default) {
    self.limits = limits
  }

  /// Makes the decoders of most videos, the scaler and the encoder set up their tables, for the processes that are
  /// forked from this one. Reads no file.
  package static func prepare() {
    // Without this, FFmpeg asks what the log is, which a confined process may not do.
    reel_log_capture()
    for codec in [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG4, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1] {
      PictureDecoder.prepare(codec)
    }
    let side = 64
    guard let pixels = Scaler.example(side: side),
      let picture = RawPicture(width: side, height: side, bytes: pixels)
    else { return }
    _ = PictureQuality(picture)
    _ = BlurHash.text(of: picture)
    _ = try? JPEGEncoder.encode(picture)
  }

  /// Returns the poster of a file.
  /// - Parameters: as in ``FFmpegReader/read(descriptor:size:container:)``.
  /// - Throws: `noPicture`, `undecodable`, `memoryLimit`, and the errors of files that can't be opened.
  package func poster(
    descriptor: Int32, size: Int64, container: MediaContainer, options: PosterOptions
  ) throws(PosterError) -> Poster {
    let video = try opened(descriptor, size, container)
    if options.prefersCover, let cover = cover(of: video, side: options.size) {
      return try poster(cover, isCover: true, time: nil)
    }
    let decoder = try decoder(of: video, side: options.size, mayTakeCover: !options.prefersCover)
    let found = try frame(
      of: video, decoder, side: options.size,
      reopening: { seconds throws(PosterError) in
        try opened(descriptor, size, container, seconds: seconds)
      })
    return try poster(found.picture, isCover: false, time: found.time)
  }

  /// Returns pictures of a file, spread evenly over it, with their times in seconds.
  /// - Parameters:
  ///   - count: the largest number of pictures, at least 1. With 1, the picture is that of the poster.
  ///   - side: the maximum length of the longer side of each, in pixels.
  /// - Throws: as in ``poster(descriptor:size:container:options:)``.
  package func frames(
    descriptor: Int32, size: Int64, container: MediaContainer, count: Int, side: Int
  ) throws(PosterError) -> [(picture: RawPicture, time: Double?)] {
    let video = try opened(descriptor, size, container)
    let decoder = try decoder(of: video, side: side, mayTakeCover: false)
    let reopened = { (seconds: Double) throws(PosterError) in
      try opened(descriptor, size, container, seconds: seconds)
    }
    if count == 1 {
      let found = try frame(of: video, decoder, side: side, reopening: reopened)
      return [(found.picture, found.time)]
    }
    let frames = try FrameSeries(video, decoder, side: side).frames(count: count)
    guard frames.isEmpty else { return frames.map { ($0.picture, $0.time) } }
    // One picture is better than none.
    let found = try frame(of: video, decoder, side: side, reopening: reopened)
    return [(found.picture, found.time)]
  }

  /// Returns the frame that represents a video. Whatever the search among key frames found, the file is opened once
  /// more and decoded from its beginning before it counts as having no pictures, or only damaged ones.
  private func frame(
    of video: OpenedVideo, _ decoder: PictureDecoder, side: Int,
    reopening: (Double) throws(PosterError) -> OpenedVideo
  ) throws(PosterError) -> ShownFrame {
    var search = PosterSearch(video, decoder, side: side)
    let first = search.run()
    if let first, search.isSound { return first }
    guard video.stop == nil, let again = try? reopening(video.secondsLeft), let stream = again.video,
      let second = try? PictureDecoder(stream, of: again, side: side, takesAll: true)
    else {
      guard let first else { throw nothingDecoded(video, decoder) }
      return first
    }
    var through = PosterSearch(again, second, side: side)
    let found = through.runThrough()
    if let found, through.isSound || first == nil { return found }
    guard let first else {
      throw nothingDecoded(again, second.packets > 0 ? second : decoder)
    }
    return first
  }

  /// Returns a picture as a JPEG.
  /// - Throws: `memoryLimit`.
  package static func jpeg(_ picture: RawPicture) throws(PosterError) -> [UInt8] {
    try JPEGEncoder.encode(picture)
  }

  private func opened(
    _ descriptor: Int32, _ size: Int64, _ container: MediaContainer, seconds: Double? = nil
  ) throws(PosterError) -> OpenedVideo {
    var limits = limits
    if let seconds { limits.seconds = seconds }
    return try rethrowing(as: PosterError.init) { () throws(ProbeError) in
      try OpenedVideo(descriptor: descriptor, size: size, container: container, limits: limits)
    }
  }

  private func decoder(
    of video: OpenedVideo, side: Int, mayTakeCover: Bool
  ) throws(PosterError) -> PictureDecoder {
    guard let stream = video.video else {
      let advice = mayTakeCover && video.cover != nil ? "; its cover can be used instead" : ""
      throw PosterError(.noPicture, "it has no video" + advice)
    }
    guard !video.isEncrypted else {
      throw PosterError(
        .undecodable, "its video is encrypted, so its pictures can't be decoded; get an unencrypted copy")
    }
    return try PictureDecoder(stream, of: video, side: side)
  }

  /// Returns the cover; nil if there is none that can be decoded.
  private func cover(of video: OpenedVideo, side: Int) -> RawPicture? {
    guard let stream = video.cover, let decoder = try? PictureDecoder(stream, of: video, side: side) else {
      return nil
    }
    // The frame belongs to the decoder.
    return withExtendedLifetime(decoder) {
      guard case .frame(let frame) = decoder.attachedPicture() else { return nil }
      return FrameRenderer(cover: stream, of: video, decoder, side: side).picture(frame)
    }
  }

  private func poster(_ picture: RawPicture, isCover: Bool, time: Double?) throws(PosterError) -> Poster {
    Poster(
      jpeg: try JPEGEncoder.encode(picture), width: picture.width, height: picture.height,
      blurHash: BlurHash.text(of: picture), isCover: isCover, time: time)
  }

  private func nothingDecoded(_ video: OpenedVideo, _ decoder: PictureDecoder) -> PosterError {
    if let stop = video.stop { return PosterError(stop) }
    if video.hidesSamples {
      return PosterError(.noPicture, "its edit list hides every picture of its video")
    }
    if decoder.packets == 0 {
      return PosterError(.noPicture, "its video contains no pictures")
    }
    return PosterError(
      .undecodable,
      "none of its pictures (\(PictureDecoder.name(of: decoder.stream))) can be decoded: it is damaged; get a complete copy"
    )
  }
}
