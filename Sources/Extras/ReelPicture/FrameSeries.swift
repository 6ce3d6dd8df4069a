import CFFmpeg
import ReelCore
import ReelProbe

/// Pictures of a video, spread evenly over it.
struct FrameSeries {
  private let video: OpenedVideo
  private let decoder: PictureDecoder
  private let renderer: FrameRenderer
  /// The number of pixels that may be decoded on the way from a key frame to the wanted time.
  private static let mostPixels = 2_000_000_000
  /// The number of bytes that may be read for one picture, and for all if no duration tells where they are.
  private static let bytesOfOne: Int64 = 64 << 20
  /// The number of key frames that are decoded in that case.
  private static let mostKeyFrames = 200
  /// The number of pixels that all pictures together may have. Neither a sheet nor a worker's memory has room for more.
  private static let mostShown = 40_000_000

  init(_ video: OpenedVideo, _ decoder: PictureDecoder, side: Int) {
    self.video = video
    self.decoder = decoder
    renderer = FrameRenderer(video, decoder, side: side)
  }

  /// Returns up to `count` pictures, which is 1 or more, in the order of their times and none of them twice.
  /// - Throws: `memoryLimit` if they have more pixels than a sheet has room for.
  func frames(count: Int) throws(PosterError) -> [ShownFrame] {
    guard let duration = video.duration else {
      let frames = spread(keyFrames(), count: count)
      guard Self.pixels(frames) <= Self.mostShown else { throw Self.tooLarge(count, frames) }
      return frames
    }
    var frames: [ShownFrame] = []
    for index in 0..<count where !video.isPastHalfTime && video.stop == nil {
      let wanted = (Double(index) + 0.5) / Double(count) * duration
      guard let frame = frame(at: wanted, after: frames.last?.time ?? -1) else { continue }
      frames.append(frame)
      guard Self.pixels(frames) <= Self.mostShown else { throw Self.tooLarge(count, frames) }
    }
    // In containers in which times are found by searching the bytes, a seek does not find the key frame before a time.
    if video.isMPEG, 2 * frames.count < count {
      frames = framesOneByOne(count: count, duration: duration)
      guard Self.pixels(frames) <= Self.mostShown else { throw Self.tooLarge(count, frames) }
    }
    return frames
  }

  /// Returns the same pictures by decoding from the beginning.
  private func framesOneByOne(count: Int, duration: Double) -> [ShownFrame] {
    var frames: [ShownFrame] = []
    guard decoder.rewind() else { return frames }
    video.allow(bytes: Self.bytesOfOne)
    var wanted = 0.5 / Double(count) * duration
    while frames.count < count, Self.pixels(frames) <= Self.mostShown, decoder.pixels < Self.mostPixels,
      !video.isPastHalfTime, case .frame(let frame) = decoder.nextFrame()
    {
      guard let time = decoder.seconds(frame.pointee.best_effort_timestamp), time >= wanted,
        let found = renderer.shown(frame, by: decoder)
      else { continue }
      frames.append(found)
      wanted = max(time, (Double(frames.count) + 0.5) / Double(count) * duration)
    }
    return frames
  }

  private static func pixels(_ frames: [ShownFrame]) -> Int {
    frames.reduce(0) { $0 + $1.picture.width * $1.picture.height }
  }

  private static func tooLarge(_ count: Int, _ frames: [ShownFrame]) -> PosterError {
    let size = frames.last.map { " of \($0.picture.width)x\($0.picture.height)" } ?? ""
    return PosterError(
      .memoryLimit,
      "a sheet has no room for \(count) pictures\(size); ask for fewer or smaller ones"
    )
  }

  /// Returns the key frame before `wanted`. If that does not come after the last picture, returns the frame at
  /// `wanted`.
  private func frame(at wanted: Double, after last: Double) -> ShownFrame? {
    video.allow(bytes: Self.bytesOfOne)
    guard decoder.seek(to: wanted) else { return nil }
    // A key frame before the beginning of an edit list is not shown.
    if case .frame(let key) = decoder.nextKeyFrame(), let found = renderer.shown(key, by: decoder),
      found.time.map({ $0 > last }) ?? true
    {
      return found
    }
    guard decoder.pixels < Self.mostPixels, decoder.seek(to: wanted) else { return nil }
    while decoder.pixels < Self.mostPixels, !video.isPastHalfTime,
      case .frame(let frame) = decoder.nextFrame()
    {
      guard let time = decoder.seconds(frame.pointee.best_effort_timestamp), time >= wanted else { continue }
      return renderer.shown(frame, by: decoder)
    }
    return nil
  }

  private func keyFrames() -> [ShownFrame] {
    video.allow(bytes: Self.bytesOfOne)
    var frames: [ShownFrame] = []
    // Decode at most twice as many pixels as are shown, because some frames are left out afterwards.
    while frames.count < Self.mostKeyFrames, Self.pixels(frames) <= 2 * Self.mostShown,
      decoder.pixels < Self.mostPixels, !video.isPastHalfTime,
      case .frame(let frame) = decoder.nextKeyFrame()
    {
      if let found = renderer.shown(frame, by: decoder) { frames.append(found) }
    }
    return frames
  }

  private func spread(_ frames: [ShownFrame], count: Int) -> [ShownFrame] {
    guard frames.count > count else { return frames }
    return (0..<count).map { frames[(2 * $0 + 1) * frames.count / (2 * count)] }
  }
}
