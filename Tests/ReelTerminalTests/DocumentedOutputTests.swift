import Foundation
import ReelCore
import ReelIngest
import ReelTerminal
import Testing
import ReelTestSupport

/// `docs/events.md` and `docs/probe.md` show the actual output.
@Suite struct DocumentedOutputTests {
  private func page(_ name: String) throws -> [Substring] {
    let project = Checkout.root
    let text = try String(contentsOf: project.appending(path: name), encoding: .utf8)
    return text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  @Test func everyTypeOfEventHasALineThatReadsAndWritesAsItStands() throws {
    let lines = try page("docs/events.md")
    let headings = lines.filter { $0.hasPrefix("### ") }.map { String($0.dropFirst(4)) }
    let examples = lines.filter { $0.hasPrefix("{") }
    let validator = SchemaValidator(
      root: try JSONOutput.decode(
        JSONValue.self, from: try page("docs/events.schema.json").joined(separator: "\n").utf8))
    let writer = EventLines()
    for (heading, example) in zip(headings, examples) {
      let event = try writer.event(example.utf8)
      #expect(event.body.type == heading)
      let again = String(decoding: try writer.line(event), as: UTF8.self)
      #expect(wholeSeconds(again) == wholeSeconds(example + "\n"))
      #expect(
        try validator.validate(try JSONOutput.decode(JSONValue.self, from: example.utf8)).problems == [])
    }
    #expect(headings.count == examples.count)
    #expect(Set(headings) == Set(try Samples.everySortOfEvent().map(\.body.type)))
  }

  @Test func everyOutcomeHasARow() throws {
    let rows = firstCells(of: try page("docs/events.md"), under: "## How a run ends, and the exit code")
    #expect(rows == RunSummary.Outcome.allCases.map(\.rawValue))
  }

  @Test func everyKeyOfAProbeHasARowAndEveryRowIsAKey() throws {
    var report = Samples.report
    report.media.video?.hdr = HDR(kind: .dolbyVision, profile: 8)
    report.media.warnings = [MediaWarning(.truncated, "it was cut off")]
    report.evidence = [FactEvidence(fact: "duration", source: .packets)]
    let odd = SourcePath(bytes: [0xFF])
    let documents = [
      ProbedFile(path: odd, result: .success(report), read: SourceTransfer(bytes: 1000, requests: 2)),
      ProbedFile(path: odd, result: .failure(FileFailure(code: "corrupt", message: "it is broken"))),
    ]
    let written = try documents.reduce(into: Set<String>()) { keys, document in
      keys.formUnion(
        Self.keys(of: try JSONOutput.decode(JSONValue.self, from: try document.json().utf8), at: ""))
    }
    let rows = firstCells(of: try page("docs/probe.md"), under: "## Every key")
    // The evidence has a key for each fact.
    #expect(Set(rows) == written.subtracting(["media", "error", "probe", "evidence.duration"]))
    #expect(Set(rows).count == rows.count)
  }

  @Test func everyKeyOfAPostHasARowAndEveryRowIsAKey() throws {
    let lines = try page("docs/post.md")
    let rows = firstCells(of: lines, under: "# A post")
    let post = try JSONOutput.decode(JSONValue.self, from: try JSONOutput.text(try Samples.post()).utf8)
    #expect(Set(rows) == Set(post.members.keys) && Set(rows).count == rows.count)
    let schema = try JSONOutput.decode(
      JSONValue.self, from: try page("docs/events.schema.json").joined(separator: "\n").utf8)
    let properties = try #require(schema["$defs"]?["post"]?["properties"])
    #expect(Set(rows) == Set(properties.members.keys))
    for row in lines.filter({ $0.hasPrefix("| `") }) {
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      let key = cells[0].filter { $0 != "`" }
      let property = try #require(properties[key])
      let mayBeNull = property["anyOf"] != nil || (property["type"]?.elements.count ?? 0) > 1
      #expect((cells[3] != "never") == mayBeNull, "\(key)")
      // A type defined elsewhere is a text, except the provenance.
      let type = property["type"]?.elements.first?.text ?? property["type"]?.text
      #expect(cells[1].hasPrefix(type ?? (key == "probe" ? "object" : "string")), "\(key)")
    }
  }

  private static func keys(of value: JSONValue, at place: String) -> Set<String> {
    switch value {
    case .object(let members):
      members.reduce(into: []) { keys, member in
        let inner = place.isEmpty ? member.key : "\(place).\(member.key)"
        keys.insert(inner)
        keys.formUnion(Self.keys(of: member.value, at: inner))
      }
    case .array(let elements):
      elements.reduce(into: []) { $0.formUnion(Self.keys(of: $1, at: place + "[]")) }
    default: []
    }
  }

  /// The line with its times truncated to seconds: reading and writing a time may change it by a millisecond.
  private func wholeSeconds(_ line: some StringProtocol) -> String {
    String(line).replacing(/\.\d\d\dZ/, with: "Z")
  }

  @Test func theEndsOfFilesThatAreListedAreThoseOfTheTable() throws {
    let events = try Samples.everySortOfEvent()
    let types = Set(events.map(\.body.type))
    let ends = Set(events.filter { $0.body.isTerminal && $0.body.file != nil }.map(\.body.type))
    let page = try #require(try page("docs/events.md").first { $0.contains("terminal event") })
    let schema = try #require(
      try self.page("docs/events.schema.json").first { $0.contains("Each file ends in") })
    #expect(Set(types.filter { page.contains("`\($0)`") }) == ends.union(["file.started"]))
    #expect(Set(types.filter { schema.contains($0) }) == ends.union(["run.finished"]))
  }

  @Test func theTableOfLevelsHasEachTypeThatIsLoggedAboveDebug() throws {
    let rows = try page("docs/output.md")
    for entry in try Samples.everySortOfEvent().compactMap(\.logEntry) where entry.level != .debug {
      let row = rows.first { $0.hasPrefix("| `\(entry.level.rawValue)` |") }
      #expect(row?.contains("`\(entry.message)`") == true, "\(entry.message) in the row of \(entry.level)")
    }
  }

  /// The first cell of each row of the first table after `heading`, without its backquotes.
  private func firstCells(of lines: [Substring], under heading: String) -> [String] {
    let rows = lines.drop { $0 != heading }.dropFirst().drop { !$0.hasPrefix("|") }.prefix {
      $0.hasPrefix("|")
    }
    return rows.dropFirst(2).map { row in
      row.dropFirst().prefix { $0 != "|" }.filter { $0 != "`" && $0 != " " }
    }
  }
}
