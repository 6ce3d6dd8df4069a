import Foundation
import ReelIngest

/// What `reel` reported about one file, parsed as any program would.
struct Answer {
  /// The path's bytes, relative to the folder of files.
  let path: [UInt8]
  /// `ok`, the code of a failure, or the type of the event that ended the file successfully.
  let code: String
  let message: String
  /// The whole JSON object.
  let object: [String: Any]

  /// Parses a line of `reel probe --jsonl`.
  init(probed line: Substring, beneath folder: URL) throws {
    object = try Self.object(line)
    path = Self.path(in: object, beneath: folder)
    let error = object["error"] as? [String: Any]
    code = object["ok"] as? Bool == true ? "ok" : error?["code"] as? String ?? "?"
    message = error?["message"] as? String ?? ""
  }

  /// The terminal events of files in the output of `--events`.
  static func ends(_ text: String, beneath folder: URL) throws -> [Answer] {
    try text.split(separator: "\n").filter { endsAFile(Data($0.utf8)) }
      .map { Answer(end: try object($0), beneath: folder) }
  }

  private static func endsAFile(_ line: Data) -> Bool {
    let body = try? JSONDecoder().decode(IngestEvent.self, from: line).body
    return body?.isTerminal == true && body?.file != nil
  }

  private init(end: [String: Any], beneath folder: URL) {
    object = end
    path = Self.path(in: end, beneath: folder)
    let error = end["error"] as? [String: Any]
    code = error?["code"] as? String ?? end["type"] as? String ?? "?"
    message = error?["message"] as? String ?? ""
  }

  private static func object(_ line: Substring) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
  }

  private static func path(in object: [String: Any], beneath folder: URL) -> [UInt8] {
    let bytes = (object["pathBytes"] as? String).flatMap { Data(base64Encoded: $0) }.map(Array.init)
    let path = bytes ?? Array((object["path"] as? String ?? "").utf8)
    let root = Array((folder.path + "/").utf8)
    return path.starts(with: root) ? Array(path.dropFirst(root.count)) : path
  }

  /// The displayed size of its picture.
  var shownSize: (width: Int, height: Int)? {
    guard let media = object["media"] as? [String: Any], let video = media["video"] as? [String: Any],
      let width = video["width"] as? Int, let height = video["height"] as? Int
    else { return nil }
    return (width, height)
  }
}
