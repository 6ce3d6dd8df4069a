import ReelCore
import ReelIngest
import ReelTerminal
import Testing

@Suite struct IngestBarsTests {
  private static let throughput = RunThroughput(
    bytesPerSecond: 84_200_000, filesPerSecond: 2, secondsLeft: 52)

  private static var state: IngestState {
    var state = IngestState()
    state.phase = .running
    (state.found, state.foundBytes, state.scanComplete) = (340, 5_600_000_000, true)
    (state.published, state.failed, state.refused, state.duplicates) = (10, 2, 1, 3)
    state.doneBytes = 1_200_000_000
    state.inFlight = [
      file(1, "a/2024-05-01 a long name of a holiday at the beach.mov", .uploading(transfer(45))),
      file(2, "日本語のとても長い名前のビデオファイル.mp4", .reading),
      file(3, "👨‍👩‍👧 family\u{1B}[31m\n.mp4", .retrying(transfer(10, attempt: 2))),
      file(4, "x.webm", .named),
    ]
    return state
  }

  private static func transfer(_ percent: Int64, attempt: Int = 1) -> TransferProgress {
    TransferProgress(sent: percent, total: 100, attempt: attempt)
  }

  private static func file(_ number: Int, _ path: String, _ step: FileInFlight.Step) -> FileInFlight {
    FileInFlight(file: FileReference(number: number, path: SourcePath(path)), size: 100, step: step)
  }

  private func lines(_ columns: Int, state: IngestState = state, throughput: RunThroughput? = throughput)
    -> [String]
  {
    IngestBars.lines(
      state, throughput: throughput, traits: TerminalTraits(isTerminal: true, columns: columns), filesShown: 3
    )
  }

  @Test func at20Columns() {
    #expect(
      lines(20) == [
        "16/340 files", "2024-05…ch.mov  45%", "日本語…ル.mp4  read", #"👨‍👩‍👧 fami…\n.mp4 try2"#, "… and 1 more",
      ])
  }

  @Test func at40Columns() {
    #expect(
      lines(40) == [
        "16/340 files  0:52 left  2 failed",
        "2024-05-01 …e beach.mov  uploading  45%",
        "日本語のとて…ァイル.mp4  reading",
        #"👨‍👩‍👧 family\x1b[31m\n.mp4  retry 2    10%"#,
        "… and 1 more",
      ])
  }

  @Test func at80Columns() {
    #expect(
      lines(80) == [
        "16/340 files  1.2 GB of 5.6 GB  84.2 MB/s  0:52 left  2 failed  1 refused",
        "2024-05-01 a long na…day at the beach.mov  uploading [========-----------]  45%",
        "日本語のとても長い名…のビデオファイル.mp4  reading",
        #"👨‍👩‍👧 family\x1b[31m\n.mp4                    retry 2   [=------------------]  10%"#,
        "… and 1 more",
      ])
  }

  @Test func at200ColumnsNothingIsLeftOut() {
    let lines = lines(200)
    #expect(
      lines[0] == "16/340 files  1.2 GB of 5.6 GB  84.2 MB/s  0:52 left  2 failed  1 refused  3 duplicates")
    #expect(lines[1].hasPrefix("2024-05-01 a long name of a holiday at the beach.mov  "))
    #expect(lines[1].hasSuffix("uploading [=============-----------------]  45%"))
  }

  @Test func whileTheWalkGoesOnTheTotalIsOpen() {
    var state = Self.state
    state.scanComplete = false
    #expect(lines(40, state: state, throughput: nil)[0] == "16/340… files  1.2 GB  2 failed")
  }

  @Test func withoutUnicodeAllIsAscii() {
    var state = Self.state
    state.scanComplete = false
    let lines = IngestBars.lines(
      state, traits: TerminalTraits(isTerminal: true, columns: 80, unicode: false), filesShown: 2)
    #expect(lines.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
    #expect(lines[0].hasPrefix("16/340+ files"))
    #expect(lines.last == "... and 2 more")
  }

  @Test func coloursAddNothingButThemselves() {
    let plain = lines(80)
    let coloured = IngestBars.lines(
      Self.state, throughput: Self.throughput,
      traits: TerminalTraits(isTerminal: true, columns: 80, colour: true),
      filesShown: 3)
    #expect(coloured[0].contains("\u{1B}[31m2 failed\u{1B}[0m"))
    #expect(coloured.map(HostileText.withoutOurSequences) == plain)
  }

  @Test func aLowWindowGetsFewerFiles() {
    let traits = TerminalTraits(isTerminal: true, columns: 40, rows: 5)
    #expect(IngestBars.lines(Self.state, traits: traits).count == 4)
    #expect(IngestBars.lines(Self.state, traits: traits).last == "… and 2 more")
  }

  @Test func aRunOfWhichNothingIsKnown() {
    #expect(lines(80, state: IngestState(), throughput: nil) == ["0/0… files"])
  }

  @Test func anUploadOfUnknownTotalHasNoBar() {
    var state = IngestState()
    state.inFlight = [Self.file(1, "a.mp4", .uploading(TransferProgress(sent: 5, total: 0)))]
    #expect(lines(40, state: state, throughput: nil)[1] == "a.mp4                    uploading")
  }
}
