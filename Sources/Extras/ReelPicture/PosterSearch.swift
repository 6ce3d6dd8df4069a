import CFFmpeg
import ReelProbe

/// Searches for the picture that represents a video: first among key frames, near a tenth of it and then elsewhere,
/// then among the frames between them. The first good one is taken, otherwise the best one within the budget.
struct PosterSearch {
  private let video: OpenedVideo
  private let decoder: PictureDecoder
  private let renderer: FrameRenderer
  private struct Candidate {
    let frame: ShownFrame
    let score: Double
    /// Whether it is good, and the decoder considers it sound.
    let isGood: Bool
    let isSound: Bool

    func isBetter(than other: Candidate) -> Bool {
      isGood == other.isGood ? score > other.score : isGood
    }
  }
  private var best: Candidate?
  private var isFound = false
  /// The times of the key frames that were looked at.
  private var seen: Set<Int64> = []

  /// Where key frames are looked for, as fractions of the duration.
  private static let places = [0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.0]
  /// The number of key frames that are looked at if no duration tells where they are.
  private static let mostKeyFrames = 8
  /// The number of pixels up to which more key frames are decoded, and more frames of any kind: that of some seconds at
  /// most.
  private static let keyFramePixels = 130_000_000
  private static let allPixels = 400_000_000
  /// The number of bytes that may be read to find one key frame, and for all frames between key frames.
  private static let bytesOfOne: Int64 = 64 << 20
  private static let bytesBetween: Int64 = 128 << 20
  /// The number of frames between key frames that are decoded, of which ``mostLooks`` are looked at.
  private static let mostFrames = 300
  /// How much more than those before it a frame shows while the picture fades in, as a factor.
  private static let growth = 1.03
  private static let mostLooks = 16
  /// If this many key frames show nothing, the frames between them do not either.
  private static let enoughKeyFrames = 4

  init(_ video: OpenedVideo, _ decoder: PictureDecoder, side: Int) {
    self.video = video
    self.decoder = decoder
    renderer = FrameRenderer(video, decoder, side: side)
  }

  /// Returns the picture; nil if none could be decoded.
  mutating func run() -> ShownFrame? {
    lookAtKeyFrames()
    if seen.count < Self.enoughKeyFrames, mayGoOn(pixels: Self.allPixels) { lookBetween() }
    return best?.frame
  }

  /// Whether the decoder considers the frame that was found sound.
  var isSound: Bool { best?.isSound ?? false }

  /// Returns the picture by decoding one frame after the other from where the file was opened: for a video whose key
  /// frames are not where they are looked for, or which does not begin with one.
  mutating func runThrough() -> ShownFrame? {
    lookAtFrames()
    return best?.frame
  }

  private mutating func lookAtKeyFrames() {
    guard let duration = video.duration else { return lookAtFirstKeyFrames() }
    for place in Self.places where mayGoOn(pixels: Self.keyFramePixels) {
      video.allow(bytes: Self.bytesOfOne)
      // Without an index, no later place is found either.
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

  /// If there are few key frames, what is worth seeing may lie between two of them.
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
