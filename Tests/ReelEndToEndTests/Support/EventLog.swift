import Foundation
import ReelIngest

/// The events that `--events` wrote, parsed as any program would.
struct EventLog {
  struct End {
    let type: String
    let code: String?
    let message: String?
  }
  let events: [[String: Any]]
  /// The events that ended a file.
  private let ended: [[String: Any]]

  init(_ file: URL) throws {
    try self.init(text: String(decoding: Data(contentsOf: file), as: UTF8.self))
  }

  init(text: String) throws {
    let lines = text.split(separator: "\n").map { Data($0.utf8) }
    events = try lines.map { try JSONSerialization.jsonObject(with: $0) as? [String: Any] ?? [:] }
    ended = zip(lines, events).filter { Self.endsAFile($0.0) }.map(\.1)
  }

  private static func endsAFile(_ line: Data) -> Bool {
    let body = try? JSONDecoder().decode(IngestEvent.self, from: line).body
    return body?.isTerminal == true && body?.file != nil
  }

  var types: [String] { events.map { $0["type"] as? String ?? "" } }

  /// Returns how many terminal events each file had.
  func endsByFile() -> [Int: Int] {
    ended.reduce(into: [:]) { $0[$1["file"] as? Int ?? -1, default: 0] += 1 }
  }

  /// Returns the end of each file, by its name.
  func ends() -> [String: End] {
    ended.reduce(into: [:]) { ends, event in
      let error = event["error"] as? [String: Any]
      let violations = event["violations"] as? [[String: Any]]
      let name = (event["path"] as? String ?? "").split(separator: "/").last.map(String.init) ?? ""
      ends[name] = End(
        type: event["type"] as? String ?? "", code: error?["code"] as? String ?? event["code"] as? String,
        message: error?["message"] as? String ?? violations?.first?["message"] as? String)
    }
  }
}
