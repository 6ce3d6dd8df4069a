import ReelCore
import ReelIngest
import ReelTerminal
import Testing

@Suite struct PlainProgressTests {
  private let start = ContinuousClock.now
  private let log = TerminalTraits()

  private func state(done: Int, found: Int, complete: Bool = false) -> IngestState {
    var state = IngestState()
    state.phase = .running
    (state.published, state.found, state.scanComplete) = (done, found, complete)
    return state
  }

  @Test func aLineNowAndThenAndWhenTheWalkHasEnded() {
    var progress = PlainProgress()
    func lines(_ state: IngestState, after seconds: Double) -> [String] {
      progress.lines(for: [], state, at: start + .seconds(seconds), traits: log)
    }
    #expect(lines(IngestState(), after: 0) == [])
    #expect(lines(state(done: 0, found: 3), after: 0) == ["0/3… files"])
    #expect(lines(state(done: 1, found: 9), after: 4.9) == [])
    #expect(lines(state(done: 2, found: 9), after: 5) == ["2/9… files"])
    #expect(lines(state(done: 3, found: 12, complete: true), after: 6) == ["3/12 files"])
    #expect(lines(state(done: 4, found: 12, complete: true), after: 7) == [])
    #expect(lines(state(done: 4, found: 12, complete: true), after: 11) == ["4/12 files"])
  }

  @Test func aLongRunIsTalkedOfLessOften() {
    var progress = PlainProgress()
    var spoken: [Int] = []
    for second in 0...200 {
      let lines = progress.lines(
        for: [], state(done: second, found: 1000), at: start + .seconds(second), traits: log)
      if !lines.isEmpty { spoken.append(second) }
    }
    #expect(spoken == Array(stride(from: 0, through: 55, by: 5)) + [85, 115, 145, 175])
  }

  @Test func aFailureIsSaidAtOnce() {
    var progress = PlainProgress()
    _ = progress.lines(for: [], state(done: 0, found: 3), at: start, traits: log)
    let events = [
      Samples.failed("a\n::error::.mp4", "it is an HLS playlist, not a video", code: "playlist"),
      Samples.event(
        .fileRefused(
          Samples.file,
          FileRefused(
            code: .unsupported,
            violations: [PolicyViolation(rule: "video.none", message: "it has no video stream")]))),
      Samples.event(.fileDuplicate(Samples.file, FileDuplicate(post: nil))),
    ]
    #expect(
      progress.lines(for: events, state(done: 3, found: 3), at: start + .seconds(1), traits: log) == [
        #"failed: a\n::error::.mp4 is an HLS playlist, not a video [playlist]"#,
        "refused: clips/beach.mov has no video stream [unsupported]",
      ])
  }
}
