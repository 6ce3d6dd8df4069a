import Foundation
import ReelCore
import ReelIngest
import ReelTerminal
import ReelTestSupport
import Testing

@Suite struct EventLinesTests {
  private func text(_ event: IngestEvent) throws -> String {
    String(decoding: try EventLines().line(event), as: UTF8.self)
  }

  @Test func keysAreSortedAndTimesHaveMilliseconds() throws {
    let event = Samples.event(
      .runScanned(RunScanned(found: 3, ignored: 1, bytes: 9, complete: true)), sequence: 7)
    #expect(
      try text(event)
        == #"{"at":"2024-05-01T10:11:12.250Z","bytes":9,"complete":true,"found":3,"ignored":1,"#
        + #""leftAlone":0,"seq":7,"type":"run.scanned","v":1}"# + "\n")
  }

  @Test(arguments: [
    (0.0, "1970-01-01T00:00:00.000Z"), (1_714_558_272, "2024-05-01T10:11:12.000Z"),
    (1_714_558_272.9996, "2024-05-01T10:11:13.000Z"), (1_714_558_272.0015, "2024-05-01T10:11:12.002Z"),
    (951_782_400.123, "2000-02-29T00:00:00.123Z"), (-0.25, "1969-12-31T23:59:59.750Z"),
    (4_102_444_799.999, "2099-12-31T23:59:59.999Z"),
  ])
  func times(seconds: Double, text: String) throws {
    let event = IngestEvent(
      sequence: 1, at: Date(timeIntervalSince1970: seconds), body: .fileStarted(Samples.file, size: nil))
    #expect(try self.text(event).contains(#""at":"\#(text)""#))
  }

  @Test func aLineReadsBackAsTheSameEvent() throws {
    for event in try Samples.everySortOfEvent() {
      #expect(try EventLines().event(try EventLines().line(event)) == event)
    }
  }

  @Test(arguments: [
    ("##[error]x", #"\u0023\u0023[error]x"#), ("a##", #"a\u0023\u0023"#),
    // Not escaped, because no line of JSON begins with this text.
    ("::set-output", "::set-output"),
    ("\u{9B}31m", #"\u009b31m"#), ("\u{7F}", #"\u007f"#), ("\u{202E}", #"\u202e"#),
    ("\u{E0041}", #"\udb40\udc41"#),
    ("\u{2028}", #"\u2028"#), ("\u{1B}[2J", #"\u001b[2J"#), ("\\##[x]", #"\\\u0023\u0023[x]"#),
    ("é日👍", "é日👍"),
    ("a#b:c", "a#b:c"), ("a/b", "a/b"),
  ])
  func whatActsIsEscaped(name: String, written: String) throws {
    let event = Samples.failed(name, "it is broken")
    let line = try text(event)
    #expect(line.contains(#""path":"\#(written)""#), "\(line)")
    #expect(try EventLines().event(line.utf8) == event)
  }

  @Test func manyLinesAreThoseOfEach() throws {
    let file = FileReference(number: 7, path: SourcePath("a/b c'<>.mp4"))
    var events = try Samples.everySortOfEvent()
    for path in ["a.mp4", "a\"b", "a\\b", "a##b", "a::b", "a#:b", "é", "\u{7F}", "\n", "a/b", ""] {
      for text in ["it is broken", "it is \"broken\"", "##[error]", "…"] {
        events.append(Samples.failed(path, text))
      }
    }
    for seed in 0..<200 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      events.append(RandomValues.end(&random))
    }
    for (index, size) in [nil, 0, 1, Int64.max].enumerated() {
      events.append(
        IngestEvent(
          sequence: index, at: Date(timeIntervalSince1970: Double(index) * 1000.0015),
          body: .fileStarted(file, size: size)))
    }
    let each = try events.flatMap { try EventLines().line($0) }
    #expect(try EventLines().lines(events) == each)
  }

  @Test func hostileEventsReadBackAndAreHarmless() throws {
    for seed in 0..<500 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let event = RandomValues.end(&random)
      let line = try EventLines().line(event)
      let text = String(decoding: line, as: UTF8.self)
      #expect(HostileText.problem(in: String(text.dropLast())) == nil, "seed \(seed)")
      guard case .filePlanned = event.body else {
        #expect(try EventLines().event(line) == event, "seed \(seed)")
        continue
      }
    }
  }

  /// Not a benchmark: it fails only if a line takes many times longer than about 25 µs of CPU time, the cost in a
  /// release build when this was written.
  @Test func aLineCostsMicroseconds() throws {
    let lines = EventLines()
    let events = try Samples.everySortOfEvent()
    let before = ThreadTime.microseconds()
    for _ in 0..<200 { for event in events { _ = try lines.line(event) } }
    let each = (ThreadTime.microseconds() - before) / Double(200 * events.count)
    print("an event line costs \(each) µs of CPU in this build")
    #expect(each < 1500)
  }
}

/// The CPU time of this thread, which other processes do not affect.
enum ThreadTime {
  static func microseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }
}
