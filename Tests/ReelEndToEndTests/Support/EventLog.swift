import Foundation

/// What `--events` wrote, read as any program would.
struct EventLog {
  struct End {
    let type: String
    let code: String?
    let message: String?
  }
  let events: [[String: Any]]

  init(_ file: URL) throws {
    try self.init(text: String(decoding: Data(contentsOf: file), as: UTF8.self))
  }

  init(text: String) throws {
    events = try text.split(separator: "\n").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
    }
  }

  static let terminal: Set<String> = [
    "post.published", "file.duplicate", "file.removed", "file.planned", "file.refused", "file.failed",
  ]

  var types: [String] { events.map { $0["type"] as? String ?? "" } }

  /// How many ends each file had.
  func endsByFile() -> [Int: Int] {
    events.filter { Self.terminal.contains($0["type"] as? String ?? "") }
      .reduce(into: [:]) { $0[$1["file"] as? Int ?? -1, default: 0] += 1 }
  }

  /// The end of each file, by its name.
  func ends() -> [String: End] {
    events.filter { Self.terminal.contains($0["type"] as? String ?? "") }.reduce(into: [:]) { ends, event in
      let error = event["error"] as? [String: Any]
      let violations = event["violations"] as? [[String: Any]]
      let name = (event["path"] as? String ?? "").split(separator: "/").last.map(String.init) ?? ""
      ends[name] = End(
        type: event["type"] as? String ?? "", code: error?["code"] as? String ?? event["code"] as? String,
        message: error?["message"] as? String ?? violations?.first?["message"] as? String)
    }
  }
}
