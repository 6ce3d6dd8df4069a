import CFFmpeg
import ReelCore
import ReelProbe

/// Pictures of a video, spread evenly over it.
struct FrameSeries {
  private let video: OpenedVideo
  private let decoder: PictureDecoder
  private let renderer: FrameRenderer
  /// How many pixels may be decoded to come from a key frame to the time that is wanted.
  private static let mostPixels = 2_000_000_000
  /// How many bytes may be read for one of them, and for all where no duration tells where they are.
  private static let bytesOfOne: Int64 = 64 << 20
  /// How many of them are decoded then.
  private static let mostKeyFrames = 200
  /// How many pixels all pictures together may have: a sheet has no room for more, nor has a worker's memory.
  private static let mostShown = 40_000_000

  init(_ video: OpenedVideo, _ decoder: PictureDecoder, side: Int) {
    self.video = video
    self.decoder = decoder
    renderer = FrameRenderer(video, decoder, side: side)
  }

  /// At most `count`, at least 1, in the order of their times, none of them twice.
  /// - Throws: `memoryLimit` when they have more pixels than a sheet has room for.
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
    // Where times are searched for in the bytes, a key frame before a time is not found by that.
    if video.isMPEG, 2 * frames.count < count {
      frames = framesOneByOne(count: count, duration: duration)
      guard Self.pixels(frames) <= Self.mostShown else { throw Self.tooLarge(count, frames) }
    }
    return frames
  }

  /// The same, by decoding from the beginning.
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
      "\(count) pictures\(size) are more than a sheet has room for; ask for fewer, or smaller ones"
    )
  }

  /// The key frame before `wanted`; where that is not `after` the last one, the frame at that time.
  private func frame(at wanted: Double, after last: Double) -> ShownFrame? {
    video.allow(bytes: Self.bytesOfOne)
    guard decoder.seek(to: wanted) else { return nil }
    guard case .frame(let key) = decoder.nextKeyFrame() else { return nil }
    if let found = renderer.shown(key, by: decoder), found.time.map({ $0 > last }) ?? true { return found }
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
    // Twice as many as are shown at most: some are left out afterwards.
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
