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
    var window = ThroughputWindow()
    #expect(window.throughput(of: state(done: 1, published: 500), at: start) == RunThroughput())
    #expect(
      window.throughput(of: state(done: 1, published: 500), at: start + .milliseconds(400)) == RunThroughput()
    )
  }

  @Test func whatIsInFlightCounts() {
    var window = ThroughputWindow()
    _ = window.throughput(of: state(done: 0, published: 0), at: start)
    let throughput = window.throughput(
      of: state(done: 2, published: 1500, sent: 500), at: start + .seconds(2))
    #expect(throughput == RunThroughput(bytesPerSecond: 1000, filesPerSecond: 1, secondsLeft: 8))
  }

  @Test(
    "the remaining time is unknown after only a few bytes",
    arguments: [
      (10, 24_600, nil), (246, 24_600, 99.0), (65_535, 1 << 30, nil), (65_536, 1 << 30, 16_383),
    ] as [(Int64, Int64, Double?)])
  func fewBytes(worked: Int64, found: Int64, expected: Double?) {
    var window = ThroughputWindow()
    _ = window.throughput(of: state(done: 0, published: 0, found: found), at: start)
    let throughput = window.throughput(
      of: state(done: 1, published: worked, found: found), at: start + .seconds(1))
    #expect(throughput.secondsLeft.map { $0.rounded() } == expected)
  }

  @Test func whatIsLongPastIsForgotten() {
    var window = ThroughputWindow(span: .seconds(10))
    _ = window.throughput(of: state(done: 0, published: 0), at: start)
    for second in 1...30 as ClosedRange<Int64> {
      _ = window.throughput(of: state(done: 0, published: 9000), at: start + .seconds(second))
    }
    #expect(
      window.throughput(of: state(done: 0, published: 9000), at: start + .seconds(31)) == RunThroughput())
  }

  @Test func anUploadThatBeginsAgainIsNoNegativeRate() {
    var window = ThroughputWindow()
    _ = window.throughput(of: state(done: 0, published: 0, sent: 900), at: start)
    #expect(window.throughput(of: state(done: 0, published: 0), at: start + .seconds(1)) == RunThroughput())
  }

  @Test func beforeTheWalkHasEndedNobodyKnowsHowLong() {
    var window = ThroughputWindow()
    var later = state(done: 2, published: 1000)
    later.scanComplete = false
    _ = window.throughput(of: state(done: 0, published: 0), at: start)
    #expect(window.throughput(of: later, at: start + .seconds(1)).secondsLeft == nil)
  }
}
