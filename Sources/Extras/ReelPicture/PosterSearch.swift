import CFFmpeg
import ReelProbe

/// Looks for the picture that stands for a video: key frames near a tenth of it first, then others, then the frames
/// between; the first good one is taken, else the best within the budget.
struct PosterSearch {
  private let video: OpenedVideo
  private let decoder: PictureDecoder
  private let renderer: FrameRenderer
  private struct Candidate {
    let frame: ShownFrame
    let score: Double
    /// Whether it is good, and the decoder calls it sound.
    let isGood: Bool
    let isSound: Bool

    func isBetter(than other: Candidate) -> Bool {
      isGood == other.isGood ? score > other.score : isGood
    }
  }
  private var best: Candidate?
  private var isFound = false
  /// Times of the key frames that were looked at.
  private var seen: Set<Int64> = []

  /// Where key frames are looked for, as parts of the duration.
  private static let places = [0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.0]
  /// How many key frames are looked at where no duration tells where they are.
  private static let mostKeyFrames = 8
  /// How many pixels may be decoded as key frames after the first, and in all: some seconds' worth at most.
  private static let keyFramePixels = 130_000_000
  private static let allPixels = 400_000_000
  /// How many bytes may be read to find one key frame, and for all frames between.
  private static let bytesOfOne: Int64 = 64 << 20
  private static let bytesBetween: Int64 = 128 << 20
  /// How many frames between are decoded, and how many of them looked at.
  private static let mostFrames = 300
  /// How much more than those before a frame shows while it fades in.
  private static let growth = 1.03
  private static let mostLooks = 16
  /// A video of which so many key frames show nothing shows nothing between them either.
  private static let enoughKeyFrames = 4

  init(_ video: OpenedVideo, _ decoder: PictureDecoder, side: Int) {
    self.video = video
    self.decoder = decoder
    renderer = FrameRenderer(video, decoder, side: side)
  }

  /// Nil when no picture could be decoded.
  mutating func run() -> ShownFrame? {
    lookAtKeyFrames()
    if seen.count < Self.enoughKeyFrames, mayGoOn(pixels: Self.allPixels) { lookBetween() }
    return best?.frame
  }

  /// Whether the decoder calls the frame sound that was found.
  var isSound: Bool { best?.isSound ?? false }

  /// The same, by decoding one frame after the other from where the file was opened: for a video whose key frames are not
  /// where they are looked for, or which begins without one.
  mutating func runThrough() -> ShownFrame? {
    lookAtFrames()
    return best?.frame
  }

  private mutating func lookAtKeyFrames() {
    guard let duration = video.duration else { return lookAtFirstKeyFrames() }
    for place in Self.places where mayGoOn(pixels: Self.keyFramePixels) {
      video.allow(bytes: Self.bytesOfOne)
      // Without an index, no place further on is found either.
      guard decoder.seek(to: place * duration), case .frame(let frame) = decoder.nextKeyFrame() else { break }
      take(frame, isKeyFrame: true)
    }
    if best == nil, mayGoOn(pixels: Self.keyFramePixels) { lookAtFirstKeyFrames() }
  }

  private mutating func lookAtFirstKeyFrames() {
    for number in 0..<Self.mostKeyFrames where mayGoOn(pixels: Self.keyFramePixels) {
      video.allow(bytes: Self.bytesOfOne)
      if number == 0 { _ = decoder.rewind() }
      guard case .frame(let frame) = decoder.nextKeyFrame() else { return }
      take(frame, isKeyFrame: true)
    }
  }

  /// Where key frames are few, what is worth seeing may lie between two of them.
  private mutating func lookBetween() {
    guard decoder.rewind() || seen.isEmpty else { return }
    lookAtFrames()
  }

  private mutating func lookAtFrames() {
    video.allow(bytes: Self.bytesBetween)
    let step = max(0.1, min(1, (video.duration ?? 20) / Double(Self.mostLooks)))
    var next = 0.0
    var looks = 0
    for _ in 0..<Self.mostFrames where mayGoOn(pixels: Self.allPixels) && looks < Self.mostLooks {
      guard case .frame(let frame) = decoder.nextFrame() else { return }
      let time = decoder.seconds(frame.pointee.best_effort_timestamp)
      guard time.map({ $0 >= next }) ?? true else { continue }
      next = (time ?? next) + step
      looks += 1
      let before = best?.score ?? 0
      take(frame, isKeyFrame: false)
      // While a picture fades in, the next one shows more.
      if isFound, let score = best?.score, score > before * Self.growth { isFound = false }
    }
  }

  private func mayGoOn(pixels: Int) -> Bool {
    !isFound && decoder.pixels < pixels && !video.isPastHalfTime && video.stop == nil
  }

  private mutating func take(_ frame: UnsafeMutablePointer<AVFrame>, isKeyFrame: Bool) {
    let ticks = frame.pointee.best_effort_timestamp
    if isKeyFrame, ticks != reel_no_time, !seen.insert(ticks).inserted { return }
    let isDamaged = reel_is_damaged(frame)
    guard let shown = renderer.shown(frame, by: decoder) else { return }
    let quality = PictureQuality(shown.picture)
    let score = isDamaged ? quality.score / 4 : quality.score
    let found = Candidate(
      frame: shown, score: score, isGood: quality.isGood && !isDamaged, isSound: !isDamaged)
    if best.map(found.isBetter) ?? true { best = found }
    isFound = found.isGood
  }
}
