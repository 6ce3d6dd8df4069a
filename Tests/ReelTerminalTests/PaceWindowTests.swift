import ReelCore
import ReelIngest
import ReelTerminal
import Testing

@Suite struct PaceWindowTests {
  private let start = ContinuousClock.now

  private func state(done: Int, published: Int64, sent: Int64 = 0, found: Int64 = 10_000) -> IngestState {
    var state = IngestState()
    (state.published, state.publishedBytes, state.doneBytes) = (done, published, published)
    (state.foundBytes, state.scanComplete) = (found, true)
    let file = FileReference(number: 1, path: SourcePath("a"))
    state.inFlight = [
      FileInFlight(file: file, size: 1000, step: .uploading(TransferProgress(sent: sent, total: 1000)))
    ]
    return state
  }

  @Test func oneSampleTellsNothing() {
    var window = PaceWindow()
    #expect(window.pace(of: state(done: 1, published: 500), at: start) == RunPace())
    #expect(window.pace(of: state(done: 1, published: 500), at: start + .milliseconds(400)) == RunPace())
  }

  @Test func whatIsInFlightCounts() {
    var window = PaceWindow()
    _ = window.pace(of: state(done: 0, published: 0), at: start)
    let pace = window.pace(of: state(done: 2, published: 1500, sent: 500), at: start + .seconds(2))
    #expect(pace == RunPace(bytesPerSecond: 1000, filesPerSecond: 1, secondsLeft: 8))
  }

  @Test(
    "a few bytes tell no time",
    arguments: [
      (10, 24_600, nil), (246, 24_600, 99.0), (65_535, 1 << 30, nil), (65_536, 1 << 30, 16_383),
    ] as [(Int64, Int64, Double?)])
  func fewBytes(worked: Int64, found: Int64, expected: Double?) {
    var window = PaceWindow()
    _ = window.pace(of: state(done: 0, published: 0, found: found), at: start)
    let pace = window.pace(of: state(done: 1, published: worked, found: found), at: start + .seconds(1))
    #expect(pace.secondsLeft.map { $0.rounded() } == expected)
  }

  @Test func whatIsLongPastIsForgotten() {
    var window = PaceWindow(span: .seconds(10))
    _ = window.pace(of: state(done: 0, published: 0), at: start)
    for second in 1...30 as ClosedRange<Int64> {
      _ = window.pace(of: state(done: 0, published: 9000), at: start + .seconds(second))
    }
    #expect(window.pace(of: state(done: 0, published: 9000), at: start + .seconds(31)) == RunPace())
  }

  @Test func anUploadThatBeginsAgainIsNoNegativeRate() {
    var window = PaceWindow()
    _ = window.pace(of: state(done: 0, published: 0, sent: 900), at: start)
    #expect(window.pace(of: state(done: 0, published: 0), at: start + .seconds(1)) == RunPace())
  }

  @Test func beforeTheWalkHasEndedNobodyKnowsHowLong() {
    var window = PaceWindow()
    var later = state(done: 2, published: 1000)
    later.scanComplete = false
    _ = window.pace(of: state(done: 0, published: 0), at: start)
    #expect(window.pace(of: later, at: start + .seconds(1)).secondsLeft == nil)
  }
}
