import ReelCore
import ReelProbe
import Testing

/// Facts measured on the real files beside the project, compared with those on which two independent readers agree.
@Suite(.enabled(if: Corpus.beside != nil, "needs ../shared/corpus or REEL_CORPUS"))
struct CorpusTests {
  /// Files about which both readers agree, but whose bytes prove otherwise.
  static let settledByTheBytes: [String: String] = [
    // An MP4 with one `soun` track, `mp4a` with an `esds` of audio object type 42 (USAC). The other readers fail
    // because they have no decoder for it; the file is intact.
    "mozilla+mp4parse-rust/sine-3s-xhe-aac-44khz-mono.mp4": "audio"
  ]

  @Test(arguments: Corpus.beside?.files ?? []) func isWhatTwoReadersAgreeOn(file: CorpusFile) throws {
    let opened = try #require(Corpus.beside?.open(file))
    guard let container = opened.sniffed else {
      #expect(!file.isReels || file.kind == nil, "it is not seen to be what it is")
      return
    }
    let media = try? opened.read(as: container).media
    if let kind = Self.settledByTheBytes[file.path] ?? file.kind { #expect(kindOf(media) == kind) }
    if let media { #expect(media.container == container) }
    #expect(media?.warnings.allSatisfy { $0.stated == nil || $0.stated != $0.measured } != false)
    expectSizes(of: media?.video, like: file)
    if let rotation = file.rotation { #expect(media?.video?.rotation == rotation) }
    if let duration = file.duration {
      #expect(isNear(media?.duration, duration, within: max(0.1, duration * 0.01)))
    }
    if let rate = file.frameRate, let found = media?.video?.frameRate?.value {
      #expect(isNear(found, rate, within: rate * 0.02))
    }
  }

  private func kindOf(_ media: MediaInfo?) -> String {
    guard let media else { return "unreadable" }
    return media.video == nil ? "audio" : "video"
  }

  /// `truth.tsv` has displayed sizes; a difference of 2 pixels or 1 % counts as equal.
  private func expectSizes(of video: VideoFacts?, like file: CorpusFile) {
    if let width = file.storedWidth { #expect(video?.storedWidth == width) }
    if let height = file.storedHeight { #expect(video?.storedHeight == height) }
    if let width = file.shownWidth {
      #expect(isNear(video?.width.map(Double.init), Double(width), within: max(2, Double(width) / 100)))
    }
    if let height = file.shownHeight {
      #expect(isNear(video?.height.map(Double.init), Double(height), within: max(2, Double(height) / 100)))
    }
  }

  private func isNear(_ found: Double?, _ expected: Double, within tolerance: Double) -> Bool {
    found.map { abs($0 - expected) <= tolerance } ?? false
  }
}
