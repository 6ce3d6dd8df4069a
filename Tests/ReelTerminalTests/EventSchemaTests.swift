import Foundation
import ReelCore
import ReelIngest
import ReelTerminal
import Testing
import ReelTestSupport

/// `docs/events.schema.json` agrees with the events' `Codable` conformance.
@Suite struct EventSchemaTests {
  private let schema: JSONValue
  private let validator: SchemaValidator

  init() throws {
    let root = Checkout.root
    schema = try JSONOutput.decode(
      JSONValue.self, from: try Data(contentsOf: root.appending(path: "docs/events.schema.json")))
    validator = SchemaValidator(root: schema)
  }

  private func json(_ event: IngestEvent) throws -> JSONValue {
    try JSONOutput.decode(JSONValue.self, from: try EventLines().line(event))
  }

  @Test func everyEventIsAsTheSchemaSays() throws {
    for event in try Samples.everySortOfEvent() {
      let verdict = try validator.validate(try json(event))
      #expect(verdict.problems == [], "\(event.body.type)")
    }
  }

  /// An app's own encoder writes events that match the schema, and any decoder can read them.
  @Test func aPlainEncoderWritesTheSame() throws {
    for event in try Samples.everySortOfEvent() {
      let plain = try JSONEncoder().encode(event)
      let value = try JSONDecoder().decode(JSONValue.self, from: plain)
      #expect(try validator.validate(value).problems == [], "\(event.body.type)")
      #expect(value == (try json(event)), "\(event.body.type)")
      #expect(try JSONDecoder().decode(IngestEvent.self, from: plain) == event)
    }
  }

  @Test func everyTypeOfTheSchemaIsInTheCodeAndTheOtherWayRound() throws {
    let inCode = Set(try Samples.everySortOfEvent().map(\.body.type))
    let listed = Set(
      schema["oneOf"]?.elements.compactMap { $0["$ref"]?.text?.split(separator: "/").last } ?? [])
    let defined = Set(
      schema["$defs"]?.members.compactMap { $0.value["properties"]?["type"]?["const"]?.text } ?? [])
    #expect(Set(listed.map(String.init)) == inCode)
    #expect(defined == inCode)
    // A type that is added to the code breaks this switch, as a reminder to add a sample of it.
    for event in try Samples.everySortOfEvent() {
      switch event.body {
      case .runStarted, .runScanned, .metadataWarning, .watchNotice, .fileStarted, .fileProbed,
        .fileNotMended, .posterMade,
        .posterFailed,
        .fileNamed,
        .uploadProgress, .uploadRetrying,
        .postPublished, .fileDuplicate, .fileRemoved, .filePlanned, .fileRefused, .fileFailed, .filePostponed,
        .postRemoved, .postRestored, .postEdited, .postMoved, .runFinished:
        continue
      }
    }
  }

  @Test func everyKeyOfTheSchemaIsWritten() throws {
    var used: Set<String> = []
    for event in try Samples.everySortOfEvent() {
      used.formUnion(try validator.validate(try json(event)).used)
    }
    #expect(validator.propertyRules.subtracting(used) == [])
  }

  @Test func aLineWithoutAKeyOrWithAnotherVersionBreaksTheSchema() throws {
    for event in try Samples.everySortOfEvent() {
      let line = try json(event)
      for key in ["v", "seq", "at", "type"] {
        var broken = line
        broken[key] = nil
        #expect(try validator.validate(broken).problems != [], "\(event.body.type) without \(key)")
      }
      var newer = line
      newer["v"] = .integer(2)
      #expect(try validator.validate(newer).problems != [])
      var richer = line
      richer["surprise"] = .null
      #expect(try validator.validate(richer).problems == ["/surprise is not in the schema"])
    }
  }

  @Test func aFactOfTheWrongTypeBreaksTheSchema() throws {
    let media = Samples.event(.fileProbed(Samples.file, Samples.report))
    for (key, value) in [
      ("size", JSONValue.string("1")), ("duration", .integer(0)), ("container", .string("exe")),
      ("audio", .null), ("truncated", .integer(1)), ("createdAt", .string("yesterday")),
    ] {
      var line = try json(media)
      line["media"]?[key] = value
      #expect(try validator.validate(line).problems != [], "\(key)")
    }
  }

  @Test func theChoicesAreThoseOfTheCode() {
    #expect(choices("container") == Set(MediaContainer.allCases.map(\.rawValue)))
    #expect(choices("media", "durationSource") == Set(DurationSource.allCases.map(\.rawValue)))
    #expect(choices("provenance", "method") == Set(ProbeMethod.allCases.map(\.rawValue)))
    #expect(choices("provenance", "isolation") == Set(IsolationLevel.allCases.map(\.rawValue)))
    #expect(choices("uploadError", "code") == Set(UploadError.Code.allCases.map(\.rawValue)))
    #expect(choices("run.finished", "outcome") == Set(RunSummary.Outcome.allCases.map(\.rawValue)))
    let hdr = schema["$defs"]?["video"]?["properties"]?["hdr"]?["anyOf"]?.elements.first
    #expect(texts(hdr?["properties"]?["kind"]) == Set(HDR.Kind.allCases.map(\.rawValue)))
  }

  private func choices(_ definition: String, _ property: String? = nil) -> Set<String> {
    let definition = schema["$defs"]?[definition]
    return texts(property.map { definition?["properties"]?[$0] } ?? definition)
  }

  private func texts(_ schema: JSONValue?) -> Set<String> {
    Set(schema?["enum"]?.elements.compactMap(\.text) ?? [])
  }
}
