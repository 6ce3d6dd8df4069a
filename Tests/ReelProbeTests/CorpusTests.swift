import ReelModel
import ReelProbe
import Testing

/// What is measured on the real files beside the project, against what two independent readers agree on.
@Suite(.enabled(if: Corpus.beside != nil, "needs ../shared/corpus or REEL_CORPUS"))
struct CorpusTests {
  /// Files where the two readers agree and the bytes say otherwise.
  static let settledByTheBytes: [String: String] = [
    // An MP4 with one `soun` track, `mp4a` with an `esds` of audio object type 42 (USAC). Other readers fail
    // because they have no decoder for it; nothing is wrong with the file.
    "mozilla+mp4parse-rust/sine-3s-xhe-aac-44khz-mono.mp4": "audio"
  ]

  private struct Answer {
    let file: CorpusFile
    let reading: Result<Reading, ProbeError>

    var kind: String {
      switch reading {
      case .success(let reading): reading.media.video == nil ? "audio" : "video"
      case .failure: "unreadable"
      }
    }
    var media: MediaInfo? { try? reading.get().media }
  }

  /// Every file in one of Reel's containers, read.
  private func answers() throws -> [Answer] {
    let corpus = try #require(Corpus.beside)
    return try corpus.files.compactMap { file in
      let opened = try #require(corpus.open(file), "\(file.path)")
      guard let container = opened.sniffed else {
        #expect(!file.isReels || file.kind == nil, "\(file.path) is not seen to be what it is")
        return nil
      }
      return Answer(
        file: file,
        reading: Result { () throws(ProbeError) -> Reading in try opened.read(as: container) })
    }
  }

  @Test func everyKindIsRight() throws {
    for answer in try answers() {
      guard let kind = Self.settledByTheBytes[answer.file.path] ?? answer.file.kind else { continue }
      #expect(answer.kind == kind, "\(answer.file.path)")
    }
  }

  @Test func everyShownSizeIsRight() throws {
    for answer in try answers() {
      guard let width = answer.file.shownWidth, let height = answer.file.shownHeight else { continue }
      let video = answer.media?.video
      #expect(isNear(video?.width, width) && isNear(video?.height, height), "\(answer.file.path)")
    }
  }

  @Test func everyStoredSizeIsRight() throws {
    for answer in try answers() {
      guard let width = answer.file.storedWidth, let height = answer.file.storedHeight else { continue }
      let video = answer.media?.video
      #expect(video?.storedWidth == width && video?.storedHeight == height, "\(answer.file.path)")
    }
  }

  @Test func everyRotationIsRight() throws {
    for answer in try answers() {
      guard let rotation = answer.file.rotation else { continue }
      #expect(answer.media?.video?.rotation == rotation, "\(answer.file.path)")
    }
  }

  @Test func everyDurationIsRight() throws {
    for answer in try answers() {
      guard let duration = answer.file.duration else { continue }
      let found = try #require(answer.media?.duration, "\(answer.file.path)")
      #expect(abs(found - duration) <= max(0.1, duration * 0.01), "\(answer.file.path)")
    }
  }

  @Test func everyFrameRateIsRight() throws {
    for answer in try answers() {
      guard let rate = answer.file.frameRate, let found = answer.media?.video?.frameRate else { continue }
      #expect(abs(found.value - rate) <= rate * 0.02, "\(answer.file.path)")
    }
  }

  /// `truth.tsv`: 2 pixels or 1 % apart is equal.
  private func isNear(_ found: Int?, _ expected: Int) -> Bool {
    guard let found else { return false }
    return abs(found - expected) <= max(2, expected / 100)
  }
}
