import ReelCore
import ReelIngest
import ReelTerminal
import ReelTestSupport
import Testing

@Suite struct BarsRendererTests {
  private func state(_ files: Int, names: String = "clip") -> IngestState {
    var state = IngestState()
    (state.phase, state.found, state.scanComplete) = (.running, 100, true)
    state.inFlight = (0..<files).map { number in
      let file = FileReference(number: number, path: SourcePath("\(names)\(number).mp4"))
      let progress = TransferProgress(sent: Int64(number), total: 10)
      return FileInFlight(file: file, size: 10, step: .uploading(progress))
    }
    return state
  }

  private func traits(_ columns: Int) -> TerminalTraits {
    TerminalTraits(isTerminal: true, columns: columns, rows: 50, colour: true, canRedraw: true)
  }

  @Test func aFrameTakesThePlaceOfTheOneBefore() {
    var renderer = BarsRenderer()
    var screen = ScreenModel(columns: 40)
    screen.write("$ reel ingest clips\n")
    for files in [3, 5, 1, 0, 12, 2] {
      screen.write(renderer.frame(state(files), traits: traits(40)))
      let frame = IngestBars.lines(state(files), traits: TerminalTraits(columns: 40))
      #expect(screen.lines == ["$ reel ingest clips"] + frame)
    }
    #expect(screen.unknown == [])
  }

  @Test func linesThatStayScrollAboveTheBars() {
    var renderer = BarsRenderer()
    var screen = ScreenModel(columns: 40)
    screen.write(renderer.frame(state(2), traits: traits(40)))
    screen.write(renderer.frame(state(2), above: ["failed: a.mp4", "failed: b.mp4"], traits: traits(40)))
    screen.write(renderer.frame(state(1), above: ["failed: c.mp4"], traits: traits(40)))
    let frame = IngestBars.lines(state(1), traits: TerminalTraits(columns: 40))
    #expect(screen.lines == ["failed: a.mp4", "failed: b.mp4", "failed: c.mp4"] + frame)
  }

  @Test func aLineThatStaysMayFillTheWidth() {
    var renderer = BarsRenderer()
    var screen = ScreenModel(columns: 40)
    let line = String(repeating: "x", count: 39) + "]"
    screen.write(renderer.frame(state(2), traits: traits(40)))
    screen.write(renderer.frame(state(1), above: [line], traits: traits(40)))
    let frame = IngestBars.lines(state(1), traits: TerminalTraits(columns: 40))
    #expect(screen.lines == [line] + frame)
  }

  @Test func clearingLeavesWhatStays() {
    var renderer = BarsRenderer()
    var screen = ScreenModel(columns: 40)
    #expect(renderer.clear(traits: traits(40)) == "")
    screen.write(renderer.frame(state(3), above: ["failed: a.mp4"], traits: traits(40)))
    screen.write(renderer.clear(traits: traits(40)))
    #expect(renderer.clear(traits: traits(40)) == "")
    screen.write("published 3 videos\n")
    #expect(screen.lines == ["failed: a.mp4", "published 3 videos"])
  }

  @Test(arguments: [(80, 30), (80, 79), (80, 41), (120, 20), (40, 90), (200, 40)])
  func aResizedWindowIsDrawnAnew(before: Int, after: Int) {
    var renderer = BarsRenderer()
    var screen = ScreenModel(columns: before)
    screen.write("$ reel\n")
    screen.write(renderer.frame(state(4, names: "a long name of a clip "), traits: traits(before)))
    screen.resize(to: after)
    screen.write(
      renderer.frame(state(4, names: "a long name of a clip "), above: ["failed"], traits: traits(after)))
    let frame = IngestBars.lines(
      state(4, names: "a long name of a clip "), traits: TerminalTraits(columns: after))
    #expect(screen.lines == ["$ reel", "failed"] + frame)
  }

  @Test func anyRunOfFramesLeavesOneFrame() {
    for seed in 0..<300 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      var renderer = BarsRenderer(filesShown: Int.random(in: 0...6, using: &random))
      var screen = ScreenModel(columns: Int.random(in: 8...120, using: &random))
      var said: [String] = []
      var last: [String] = []
      for _ in 0..<8 {
        let traits = traits(screen.columns)
        let state = RandomValues.state(&random)
        let above =
          random.chance(30) ? ProblemSummary.lines(for: RandomValues.end(&random), traits) : []
        said += above
        screen.write(renderer.frame(state, above: above, traits: traits))
        last = screen.lines
      }
      screen.write(renderer.clear(traits: traits(screen.columns)))
      #expect(screen.unknown == [], "seed \(seed)")
      #expect(
        screen.lines.map(trimmed) == said.map { trimmed(HostileText.withoutOurSequences($0)) }, "seed \(seed)"
      )
      #expect(last.count > screen.lines.count, "seed \(seed)")
    }
  }

  private func trimmed(_ line: String) -> Substring {
    var line = line.filter { DisplayWidth.columns(of: $0) > 0 }[...]
    while line.last == " " { line.removeLast() }
    return line
  }
}
