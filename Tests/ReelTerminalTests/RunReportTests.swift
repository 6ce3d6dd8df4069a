import ReelCore
import ReelIngest
import ReelTerminal
import ReelTestSupport
import Testing

@Suite struct RunReportTests {
  private func summary(_ outcome: RunSummary.Outcome = .completed, error: FileFailure? = nil) -> RunSummary {
    RunSummary(outcome: outcome, error: error)
  }

  private func text(
    _ summary: RunSummary, dryRun: Bool = false, unfinished: Int? = 0, troubles: ProblemList = ProblemList(),
    columns: Int? = nil, listing: Int = 20
  ) -> [String] {
    let report = RunReport(
      summary: summary, destination: Destination("file:///srv/media"), dryRun: dryRun, unfinished: unfinished,
      troubles: troubles)
    return report.text(TerminalTraits(columns: columns), listing: listing).split(separator: "\n").map(
      String.init)
  }

  private var mixed: RunSummary {
    var summary = summary()
    (summary.published, summary.duplicates, summary.failed, summary.refused) = (12, 3, 2, 1)
    (summary.ignored, summary.publishedBytes, summary.seconds) = (5, 345_200_000, 4.1)
    summary.reasons = ["corrupt": 1, "unsupported": 1, "playlist": 1]
    return summary
  }

  private var troubles: ProblemList {
    var troubles = ProblemList(limit: 2)
    troubles.note(
      Samples.failed("clips/bad\u{1B}]0;x\u{7}.mp4", "its index contradicts itself; get a complete copy"))
    troubles.note(Samples.failed("notes.mp4", "it is an HLS playlist, not a video", code: "playlist"))
    troubles.note(Samples.failed("third.mp4", "it is empty", code: "empty"))
    return troubles
  }

  @Test func someOfEachSort() {
    #expect(
      text(mixed, troubles: troubles) == [
        "published 12 videos to file:///srv/media: 345 MB in 4.1 s (84.2 MB/s)",
        "  published   12, 345 MB",
        "  duplicates  3, already published",
        "  refused     1",
        "  failed      2",
        "  reasons     corrupt 1, playlist 1, unsupported 1",
        "  ignored     5, not videos",
        #"failed: clips/bad\x1b]0;x\x07.mp4: its index contradicts itself; get a complete copy [corrupt]"#,
        "failed: notes.mp4 is an HLS playlist, not a video [playlist]",
        "and 1 more: reel status",
        "See them: reel feed",
        "To see what failed and why: reel status",
      ])
  }

  @Test func ofAWatchEverythingIsCounted() {
    var report = RunReport(
      summary: summary(.cancelled), destination: Destination("file:///srv/media"), dryRun: false,
      unfinished: 3, troubles: ProblemList(limit: 2))
    report.origin = .watch
    report.summary.seconds = 9_000
    func lines() -> [String] {
      report.text(TerminalTraits(columns: 40), listing: 2).split(separator: "\n").map(String.init)
    }
    #expect(lines() == ["watched for 2:30:00.0: no files arrived"])
    report.postponements = 2
    #expect(report.headline.contains("no file could be ingested"))
    report.summary.published = 1
    report.summary.publishedBytes = 800_000
    var earlier = RunReport(
      summary: mixed, destination: nil, dryRun: false, unfinished: nil, troubles: troubles)
    earlier.summary.outcome = .aborted
    report.add(earlier: earlier)
    #expect(
      lines() == [
        "watched for 2:30:00.0: published 13",
        "videos to file:///srv/media, 346 MB",
        "  published   13, 346 MB",
        "  duplicates  3, already published",
        "  refused     1",
        "  failed      2",
        "  reasons     corrupt 1, playlist 1,",
        "              unsupported 1",
        "  ignored     5, not videos",
        #"failed: clips/bad\x1b]0;x\x07.mp4: its"#,
        "index contradicts itself; get a complete",
        "copy [corrupt]",
        "failed: notes.mp4 is an HLS playlist,",
        "not a video [playlist]",
        "and 1 more: reel status",
        "See them: reel feed",
        "To see what failed and why: reel status",
      ])
  }

  /// A dry run leaves nothing behind that `reel status` could show.
  @Test func ofADryRunTheRestStandsInTheEvents() {
    let lines = text(mixed, dryRun: true, troubles: troubles)
    #expect(lines.contains("and 1 more: use --events FILE to get all of them"))
    #expect(!lines.contains { $0.contains("reel status") })
  }

  @Test func whatWasToldAlreadyIsNotToldAgain() {
    #expect(text(mixed, troubles: troubles, listing: 0) == text(mixed))
  }

  @Test func at40Columns() {
    #expect(
      text(mixed, troubles: troubles, columns: 40, listing: 1) == [
        "published 12 videos to",
        "file:///srv/media: 345 MB in 4.1 s (84.2",
        "MB/s)",
        "  published   12, 345 MB",
        "  duplicates  3, already published",
        "  refused     1",
        "  failed      2",
        "  reasons     corrupt 1, playlist 1,",
        "              unsupported 1",
        "  ignored     5, not videos",
        #"failed: clips/bad\x1b]0;x\x07.mp4: its"#,
        "index contradicts itself; get a complete",
        "copy [corrupt]",
        "and 2 more: reel status",
        "See them: reel feed",
        "To see what failed and why: reel status",
      ])
  }

  @Test func allIsWell() {
    var summary = summary()
    (summary.published, summary.publishedBytes, summary.seconds) = (1, 1_203_944, 0.5)
    #expect(
      text(summary) == [
        "published 1 video to file:///srv/media: 1.2 MB in 0.5 s (2.4 MB/s)", "See them: reel feed",
      ])
  }

  @Test(arguments: [
    (1, "nothing new: the video is already published"),
    (12, "nothing new: all 12 videos are already published"),
  ])
  func allDuplicates(count: Int, line: String) {
    var summary = summary()
    summary.duplicates = count
    #expect(text(summary) == [line])
  }

  @Test(arguments: [
    (0, "nothing to ingest: no files were found"),
    (1, "nothing to ingest: the only file found is not a video"),
    (7, "nothing to ingest: none of the 7 files found is a video"),
  ])
  func nothingFound(ignored: Int, line: String) {
    var summary = summary()
    summary.ignored = ignored
    #expect(text(summary) == [line])
  }

  @Test func whatWasLeftAloneIsCounted() {
    var summary = summary()
    (summary.published, summary.leftAlone) = (1, 2)
    func lines(_ settle: Double) -> [String] {
      var report = RunReport(
        summary: summary, destination: nil, dryRun: false, unfinished: nil, troubles: ProblemList())
      report.settle = settle
      return report.text(TerminalTraits(), listing: 20).split(separator: "\n").map(String.init)
    }
    #expect(lines(60).contains("  left alone  2, changed less than 1m ago"))
    #expect(lines(90).contains("  left alone  2, changed less than 90s ago"))
    summary.published = 0
    #expect(
      lines(0.5) == ["nothing to ingest yet: 2 files left alone, changed less than 0.5s ago"])
  }

  /// A cancelled file is no failure and not listed as a problem.
  @Test func whatWasOnlyNotDoneIsNoProblem() {
    var list = ProblemList()
    list.note(Samples.failed("a.mp4", "interrupted", code: "cancelled"))
    #expect(list.entries.isEmpty)
    list.note(Samples.failed("a.mp4", "it is empty", code: "empty"))
    #expect(list.entries.count == 1)
  }

  @Test func nothingThatThePatternsLetThrough() {
    var summary = summary()
    summary.ignored = 7
    var report = RunReport(
      summary: summary, destination: nil, dryRun: false, unfinished: nil, troubles: ProblemList())
    report.isFiltered = true
    #expect(
      report.text(TerminalTraits(), listing: 20).contains(
        "of 7 files found, none is a video that --include and --exclude let through"))
  }

  @Test func allFailed() {
    var summary = summary()
    (summary.failed, summary.duplicates) = (2, 1)
    #expect(text(summary)[0] == "nothing published: 1 duplicate, 2 failed")
  }

  @Test func aDryRun() {
    var summary = summary()
    (summary.planned, summary.duplicates, summary.refused) = (12, 1, 2)
    let lines = text(summary, dryRun: true)
    #expect(
      lines[0]
        == "dry run, nothing was written: 12 would be published, 1 is already published, 2 would be refused")
    #expect(lines.last == "To publish them, leave out --dry-run.")
  }

  @Test(arguments: [
    (3 as Int?, "interrupted: 12 published, 2 duplicates, 1 failed, 7 to go"),
    (nil, "interrupted: 12 published, 2 duplicates, 1 failed, the rest not looked at"),
  ])
  func interrupted(unfinished: Int?, line: String) {
    var summary = summary(.cancelled)
    (summary.published, summary.duplicates, summary.failed, summary.ignored) = (12, 2, 1, 5)
    // These files were begun, but not finished.
    summary.cancelled = 4
    #expect(text(summary, unfinished: unfinished) == [line + "; run the same command again to continue"])
  }

  @Test func stopped() {
    var summary = summary(.stopped)
    (summary.published, summary.failed) = (2, 1)
    #expect(
      text(summary, unfinished: 4)[0]
        == "stopped at a failure, as --on-error stop asks: 2 published, 1 failed, 4 to go; "
        + "run the same command again to continue")
  }

  @Test func aborted() {
    let error = FileFailure(
      code: "workerMissing", message: "reel-probe-worker is missing; scripts/install builds it")
    #expect(
      text(summary(.aborted, error: error), unfinished: 3) == [
        "reel: could not continue: reel-probe-worker is missing; scripts/install builds it",
        "Fix that, then run the same command again to continue.",
      ])
  }

  @Test func whatIsNotFinishedComesFromTheState() {
    var state = IngestState()
    (state.found, state.published, state.scanComplete) = (5, 3, true)
    #expect(RunReport(summary(), state: state, troubles: ProblemList()).unfinished == 2)
    state.scanComplete = false
    #expect(RunReport(summary(), state: state, troubles: ProblemList()).unfinished == nil)
  }

  @Test func asJSON() throws {
    let report = RunReport(
      summary: mixed, destination: Destination("file:///srv/media"), dryRun: false, unfinished: nil,
      troubles: troubles)
    let json = try JSONOutput.decode(
      JSONValue.self, from: try RunDocument(report).answer(ok: false).json().utf8)
    #expect(
      Set(json.members.keys) == [
        "v", "ok", "destination", "dryRun", "summary", "unfinished", "problems", "problemsLeftOut",
        "troubles",
        "troublesLeftOut", "warnings",
      ])
    #expect(json["unfinished"] == .null)
    #expect(json["troublesLeftOut"] == .integer(1))
    #expect(json["summary"]?["reasons"]?["playlist"] == .integer(1))
    #expect(
      json["troubles"]?.elements.last
        == .object([
          "path": .string("notes.mp4"), "code": .string("playlist"), "refused": .bool(false),
          "message": .string("it is an HLS playlist, not a video"),
        ]))
  }
}
