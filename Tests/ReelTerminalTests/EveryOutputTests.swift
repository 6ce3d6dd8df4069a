import FoundationEssentials
import ReelCore
import ReelIngest
import ReelLibrary
import ReelPostgres
import ReelTerminal
import ReelTestSupport
import Testing

/// Whatever strangers write into names and tags, and however absurd the numbers: no line is wider than the terminal,
/// and only Reel's own control sequences are written.
@Suite struct EveryOutputTests {
  @Test(arguments: 0..<6)
  func isHarmlessAndFits(part: UInt64) throws {
    for seed in part * 25..<(part + 1) * 25 {
      var random = SplitMix64(seed: seed)
      let traits = TerminalTraits(
        isTerminal: true, columns: Int.random(in: 2...160, using: &random),
        rows: random.maybe(Int.random(in: 1...60, using: &random)), colour: random.chance(50),
        unicode: random.chance(80), canRedraw: true)
      for (name, text) in try outputs(&random, traits) { check(text, name, traits, seed) }
    }
  }

  @Test(arguments: 0..<4)
  func isHarmlessInALog(part: UInt64) throws {
    for seed in 10_000 + part * 25..<10_000 + (part + 1) * 25 {
      var random = SplitMix64(seed: seed)
      for (name, text) in try outputs(&random, TerminalTraits()) { check(text, name, TerminalTraits(), seed) }
      for text in try documents(&random) { check(text, "JSON", TerminalTraits(), seed) }
    }
  }

  private func check(_ text: String, _ name: String, _ traits: TerminalTraits, _ seed: UInt64) {
    for line in HostileText.withoutOurSequences(text).split(separator: "\n").map(String.init) {
      #expect(HostileText.problem(in: line, isLogged: !traits.isTerminal) == nil, "\(name), seed \(seed)")
      // A command is meant to be copied, so only the terminal wraps it.
      if let columns = traits.columns, !line.contains("reel ") {
        #expect(
          DisplayWidth.columns(of: line) <= columns, "\(name), seed \(seed), \(columns) columns")
      }
      if !traits.unicode { #expect(line.utf8.allSatisfy { $0 < 0x7F }, "\(name), seed \(seed)") }
    }
  }

  private func outputs(_ random: inout SplitMix64, _ traits: TerminalTraits) throws -> [(
    String, String
  )] {
    let state = RandomValues.state(&random)
    let parts = RandomValues.throughput(&random)
    let throughput = RunThroughput(
      bytesPerSecond: parts.bytesPerSecond, filesPerSecond: parts.filesPerSecond,
      secondsLeft: parts.secondsLeft)
    let events = (0..<5).map { _ in RandomValues.end(&random) }
    var bars = BarsRenderer()
    var plain = PlainProgress()
    let announced = events.flatMap { ProblemSummary.lines(for: $0, traits) }
    let path = RandomValues.path(&random)
    let media = RandomValues.media(&random)
    let words = RandomValues.words(&random)
    return [
      ("bars", bars.frame(state, throughput: throughput, above: announced, traits: traits)),
      ("bars again", bars.frame(RandomValues.state(&random), throughput: throughput, traits: traits)),
      ("bars gone", bars.clear(traits: traits)),
      (
        "plain",
        plain.lines(for: events, state, throughput: throughput, at: .now, traits: traits).joined(
          separator: "\n")
      ),
      ("report", report(state, events, &random).text(traits)),
      ("post", PostSummary.text(try Samples.post(metadata: words, media: media), title: .duplicate, traits)),
      ("plan", PlanSummary.text(FilePlanned(media: media, metadata: words), of: path, traits)),
      ("feed", FeedTable.text(try page(&random), size: .max, in: path.text, traits)),
      ("empty feed", FeedTable.text(FeedPage(posts: [], next: nil), in: path.text, traits)),
      ("card", ProbeSummary.text(probed(path, media), traits)),
      (
        "failure",
        ProbeSummary.text(ProbedFile(path: path, result: .failure(RandomValues.failure(&random))), traits)
      ),
      ("status", StatusView(status(&random), library: HostileText.draw(&random)).text(traits)),
      ("queue", QueueView(queue(&random)).text(traits)),
      (
        "versions",
        VersionView(worker: HostileText.draw(&random), isolation: nil, ffmpeg: nil, sqlite: nil).text(traits)
      ),
      ("verification", try verification(&random, json: false, traits)),
      ("promise", promises(&random, traits)),
      ("cache", CacheView(CacheStatus(files: .max, readings: 1, bytes: .max)).text(traits)),
    ]
  }

  private func documents(_ random: inout SplitMix64) throws -> [String] {
    let events = (0..<5).map { _ in RandomValues.end(&random) }
    let report = report(RandomValues.state(&random), events, &random)
    let path = RandomValues.path(&random)
    return [
      try RunDocument(report).json(),
      try FeedDocument(try page(&random)).json(pretty: true),
      try probed(path, RandomValues.media(&random)).json(pretty: true),
      try StatusView(status(&random), library: HostileText.draw(&random)).json(),
      try verification(&random, json: true, TerminalTraits()),
      try ContractTestView(
        [promise(&random)], destination: HostileText.draw(&random), left: 1
      ).json(),
    ]
  }

  private func promise(_ random: inout SplitMix64) -> ContractTestView.Entry {
    ContractTestView.Entry(
      name: "upload.small", sentence: "on return it is there",
      problem: random.maybe(HostileText.draw(&random)),
      seconds: 0.5)
  }

  private func promises(_ random: inout SplitMix64, _ traits: TerminalTraits) -> String {
    let entry = promise(&random)
    let view = ContractTestView(
      [entry], destination: HostileText.draw(&random), left: RandomValues.count(&random))
    return ContractTestView.text(entry, traits) + view.summary(traits)
  }

  private func verification(
    _ random: inout SplitMix64, json: Bool, _ traits: TerminalTraits
  ) throws -> String {
    var view = VerificationView(
      library: HostileText.draw(&random), wasRead: random.chance(50), json: json, traits: traits)
    let store = Destination(HostileText.draw(&random))
    let error = UploadError(.denied, HostileText.draw(&random))
    let post = try Samples.post(metadata: RandomValues.words(&random), media: RandomValues.media(&random))
    let digest = try #require(ContentDigest(sha256: (0..<32).map { $0 }))
    let object = ExaminedObject(
      id: post.id, key: try #require(ObjectKey("k.mp4")), size: RandomValues.bytes(&random), digest: digest,
      state: .published, changedAt: Samples.moment)
    var text = ""
    let verdicts: [ObjectVerdict] = [
      .sound(digestCompared: true), .missing, .otherLength(RandomValues.bytes(&random)), .otherBytes(digest),
      .unrecorded, .recordShows(nil), .recordShows(object.key), .unknown(error),
    ]
    for verdict in verdicts {
      text += try view.text(.verified(VerifiedObject(object, in: store, verdict: verdict)))
    }
    text += try view.text(.unreachable(store, error))
    text += try view.text(.notLookedAt(store))
    text += try view.end(isWhole: random.chance(50))
    if json {
      let document = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
      #expect(
        [9, 10].contains(document["problems"]?.elements.count) && document["unreachable"] == .integer(1))
      #expect(document["notLookedAt"] == .integer(1))
    }
    return text
  }

  private func probed(_ path: SourcePath, _ media: MediaInfo) -> ProbedFile {
    ProbedFile(path: path, result: .success(ProbeReport(media: media, provenance: Samples.provenance)))
  }

  private func page(_ random: inout SplitMix64) throws -> FeedPage {
    let posts = try (0..<3).map { _ in
      try Samples.post(
        metadata: RandomValues.words(&random), place: RandomValues.count(&random) + 1,
        media: RandomValues.media(&random))
    }
    return FeedPage(posts: posts, next: FeedCursor(pageNumber: .max))
  }

  private func queue(_ random: inout SplitMix64) -> QueueStatus {
    let workers = (0..<Int.random(in: 0...30, using: &random)).map { number in
      QueueStatus.Worker(
        host: HostileText.draw(&random), pid: .max, destination: HostileText.draw(&random),
        startedAt: Samples.moment, isOverdue: number % 2 == 0, holds: number, finished: .max, failed: number)
    }
    let reasons = ItemState.allCases.map { state in
      QueueStatus.Reason(
        state: state, code: HostileText.draw(&random), count: .max, address: RandomValues.path(&random),
        message: HostileText.draw(&random))
    }
    return QueueStatus(
      items: Dictionary(uniqueKeysWithValues: ItemState.allCases.map { ($0, .max) }), workers: workers,
      endedInLastMinute: .max, oldestWaiting: nil, reasons: reasons)
  }

  private func status(_ random: inout SplitMix64) -> CatalogStatus {
    let failure = FailureRecord(
      code: "x", message: HostileText.draw(&random), refused: false, at: Samples.moment)
    return CatalogStatus(
      posts: RandomValues.count(&random), bytes: RandomValues.bytes(&random),
      destinations: [(Destination(HostileText.draw(&random)), 3)], unfinished: 2,
      failures: [(RandomValues.path(&random), failure)], failureCount: .max, schemaVersion: 1)
  }

  private func report(
    _ state: IngestState, _ events: [IngestEvent], _ random: inout SplitMix64
  ) -> RunReport {
    let outcomes = RunSummary.Outcome.allCases
    var summary = RunSummary(
      outcome: outcomes[Int.random(in: outcomes.indices, using: &random)],
      error: RandomValues.failure(&random))
    (summary.published, summary.failed, summary.ignored) = (state.published, state.failed, 4)
    (summary.publishedBytes, summary.seconds) = (RandomValues.bytes(&random), 3)
    summary.reasons = [HostileText.draw(&random): 3]
    var troubles = ProblemList(limit: 4)
    for event in events { troubles.note(event) }
    return RunReport(
      summary: summary, destination: Destination(HostileText.draw(&random)), dryRun: state.dryRun,
      unfinished: random.maybe(3), troubles: troubles)
  }
}
