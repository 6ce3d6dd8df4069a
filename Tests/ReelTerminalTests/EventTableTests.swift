import Foundation
import ReelCore
import Testing

@testable import ReelIngest

@Suite("the table of events") struct EventTableTests {
  @Test("every type of event has a sample and decodes as it was encoded")
  func types() throws {
    let events = try Samples.everySortOfEvent()
    #expect(Set(events.map(\.body.type)) == Set(IngestEvent.Body.readings.keys))
    for event in events {
      #expect(try JSONDecoder().decode(IngestEvent.self, from: JSONEncoder().encode(event)) == event)
    }
  }

  @Test("exactly the terminal events of a file have a result, from which the same event can be made")
  func results() throws {
    for event in try Samples.everySortOfEvent() {
      let result = PublishResult(event.body)
      #expect((result != nil) == (event.body.isTerminal && event.body.file != nil), "\(event.body.type)")
      guard let result, let file = event.body.file, event.body.type != "file.postponed" else { continue }
      #expect(result.event(of: file) == event.body)
    }
  }

  @Test(
    "a setting in an event's message, or in the reason for a retry, is named as the program names it")
  func wording() throws {
    let text: ErrorMessage = "say \(setting: .jobs)"
    let file = FileReference(number: 1, path: SourcePath("a.mp4"))
    let failure = FileFailure(code: "x", message: text)
    let violation = PolicyViolation(rule: "a.b", message: text)
    let progress = TransferProgress(
      sent: 0, total: 1, attempt: 2, retrying: UploadError(.unavailable, text))
    let bodies: [IngestEvent.Body] = [
      .fileFailed(file, failure), .filePostponed(file, failure), .fileNotMended(file, failure),
      .posterFailed(file, failure), .fileRefused(file, FileRefused(code: .policy, violations: [violation])),
      .uploadRetrying(file, progress),
    ]
    for body in bodies {
      let worded = body.worded { $0.naming { "--\($0)" } }
      #expect(worded.type == body.type && worded.file == file)
      let json = String(decoding: try JSONEncoder().encode(Samples.event(worded)), as: UTF8.self)
      #expect(json.contains("say --jobs"), "\(json)")
    }
  }

  @Test("an event with a problem also has a concern, and names the path of its file")
  func problems() throws {
    for event in try Samples.everySortOfEvent() {
      #expect((event.body.problem != nil) == (event.body.concern != nil), "\(event.body.type)")
      if let file = event.body.file, let problem = event.body.problem { #expect(problem.path == file.path) }
    }
  }
}
