import FoundationEssentials
import ReelCore
import ReelIngest
import ReelTerminal
import ReelTestSupport
import Testing

@Suite struct LogLineTests {
  private func text(_ event: IngestEvent) -> String? { LogLine(event)?.text(at: Samples.moment) }

  @Test func aFailedFile() {
    let line = text(Samples.failed("a b.mp4", #"it is "odd": \\"#, code: "playlist"))
    #expect(
      line?.hasSuffix(
        #" level=error event=file.failed file=1 path="a b.mp4" code=playlist message="it is \"odd\": \\\\""#
          + "\n") == true,
      "\(line ?? "")")
    #expect(line?.hasPrefix("time=2024-05-01T10:11:12") == true, "\(line ?? "")")
  }

  @Test func everySortOfEventHasALineOrIsProgress() throws {
    for event in try Samples.everySortOfEvent() {
      guard let line = text(event) else {
        #expect(event.body.coalesces, "\(event.body.type)")
        continue
      }
      #expect(line.contains(" event=\(event.body.type)"))
      #expect(line.hasSuffix("\n") && line.filter { $0 == "\n" }.count == 1)
      #expect(Self.fields(of: line) != nil, "\(line)")
    }
  }

  @Test(arguments: 0..<100 as Range<UInt64>) func hostileTextIsOneHarmlessLineThatReadsBack(seed: UInt64)
    throws
  {
    var random = SplitMix64(seed: seed)
    let path = RandomValues.path(&random)
    let failure = RandomValues.failure(&random)
    let event = Samples.event(.fileFailed(FileReference(number: 1, path: path), failure))
    let line = try #require(text(event))
    #expect(HostileText.problem(in: String(line.dropLast())) == nil, "seed \(seed)")
    let fields = try #require(Self.fields(of: line), "seed \(seed): \(line)")
    #expect(fields["path"] == SanitizedText.line(path.text), "seed \(seed)")
    #expect(fields["message"] == SanitizedText.line(failure.message), "seed \(seed)")
  }

  @Test func aQuoteWithACombiningMarkIsAQuote() {
    let value = "b\"\u{301} c=d"
    let line = LogLine(.info, "x", [("a", value)]).text(at: Samples.moment)
    #expect(Self.fields(of: line)?["a"] == value, "\(line)")
    #expect(Self.fields(of: line)?["c"] == nil)
  }

  @Test func levelsAreInOrder() {
    #expect(LogLevel.allCases == LogLevel.allCases.sorted())
  }

  /// Parses a line of logfmt; nil if it is invalid.
  private static func fields(of line: String) -> [String: String]? {
    var fields: [String: String] = [:]
    var rest = line.unicodeScalars.dropLast()[...]
    while !rest.isEmpty {
      let key = rest.prefix { $0 != "=" }
      rest = rest.dropFirst(key.count + 1)
      var value = String.UnicodeScalarView()
      if rest.first == "\"" {
        rest = rest.dropFirst()
        while let scalar = rest.popFirst(), scalar != "\"" {
          guard let kept = scalar == "\\" ? rest.popFirst() : scalar else { return nil }
          value.append(kept)
        }
      } else {
        value.append(contentsOf: rest.prefix { $0 != " " })
        rest = rest.dropFirst(value.count)
        if value.isEmpty { return nil }
      }
      guard !key.isEmpty, key.allSatisfy({ $0.isASCII && $0.properties.isAlphabetic }),
        rest.first == " " || rest.isEmpty
      else { return nil }
      rest = rest.dropFirst()
      fields[String(key)] = String(value)
    }
    return fields
  }
}
