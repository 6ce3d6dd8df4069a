import ReelCore
import ReelLibrary

/// The answer of a command with `--json`: its own keys, and those that every answer has.
///
/// `{"v": 1, "ok": true, "problems": [{"code", "message", "path" or "subject"}], …}`: `ok` says whether the exit code
/// is 0; if not, `problems` says why. An answer with `ok` may have problems, too, that people should know of.
package struct AnswerDocument<Body: Encodable>: Encodable {
  private let ok: Bool
  private let problems: [AnswerProblem]
  private let body: Body

  /// - Parameter ok: nil means true unless there are problems.
  package init(_ body: Body, problems: [AnswerProblem] = [], ok: Bool? = nil) {
    (self.body, self.problems, self.ok) = (body, problems, ok ?? problems.isEmpty)
  }

  package func encode(to encoder: any Encoder) throws {
    try body.encode(to: encoder)
    var container = encoder.container(keyedBy: AnswerKeys.self)
    try container.encode(1, forKey: .v)
    try container.encode(ok, forKey: .ok)
    try container.encode(problems, forKey: .problems)
  }
}

enum AnswerKeys: String, CodingKey { case v, ok, problems }

/// Something that failed, or that people should know of.
package struct AnswerProblem: Encodable, Hashable, Sendable {
  private enum CodingKeys: String, CodingKey { case code, message, subject }
  private let path: SourcePath?
  private let subject: String?
  private let code: String
  package let message: String

  /// - Parameters:
  ///   - code: the code as in events and on stderr.
  ///   - message: a sentence, without the file's path if that is in `path`.
  package init(_ code: String, _ message: String, path: SourcePath? = nil, subject: String? = nil) {
    (self.code, self.message, self.path, self.subject) = (code, message, path, subject)
  }

  /// The problem as one line for people.
  package var told: String { (path?.text ?? subject).map { "\($0): \(message)" } ?? message }

  /// The problem of a folder without any files.
  package static func noFiles(_ message: String) -> AnswerProblem { AnswerProblem("noFiles", message) }

  package static let interrupted = AnswerProblem("cancelled", "interrupted before the end")

  package init(_ entry: ProblemList.Entry) {
    self.init(entry.code, entry.message, path: entry.path)
  }

  package init(_ failure: RepairFailure) {
    self.init(failure.code, failure.message.description, subject: failure.subject)
  }

  package func encode(to encoder: any Encoder) throws {
    if let path {
      var paths = encoder.container(keyedBy: SourcePathCoding.self)
      try path.encode(into: &paths)
    }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(subject, forKey: .subject)
    try container.encode(code, forKey: .code)
    try container.encode(message, forKey: .message)
  }
}

/// An answer whose list is too long to be held in memory. It is written piece by piece, and begun only with the first
/// element.
package struct AnswerStream {
  private let name: String
  private var isFirst = true

  /// - Parameter name: the list's key.
  package init(_ name: String) { self.name = name }

  /// Whether any part of it has been written.
  package var isBegun: Bool { !isFirst }

  private var beginning: String { "{\"\(name)\":[" }

  package mutating func text(_ element: some Encodable) throws -> String {
    defer { isFirst = false }
    return (isFirst ? beginning + "\n" : ",\n") + (try JSONOutput.text(element)).dropLast()
  }

  /// Returns what follows the list, or the whole answer if the list is empty.
  package func end(_ rest: some Encodable, problems: [AnswerProblem] = [], ok: Bool? = nil) throws -> String {
    let rest = try JSONOutput.text(AnswerDocument(rest, problems: problems, ok: ok))
    return (isFirst ? beginning : "\n") + "]," + rest.dropFirst()
  }
}

/// The body of an answer that has no keys of its own.
package struct NoKeys: Encodable {
  package init() {}
  package func encode(to encoder: any Encoder) throws {
    _ = encoder.container(keyedBy: AnswerKeys.self)
  }
}
