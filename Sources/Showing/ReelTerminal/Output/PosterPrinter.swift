import Synchronization

/// Reports each poster as it is made.
package final class PosterPrinter: Sendable {
  package enum Format {
    case text
    /// Text, only for those that could not be made.
    case failures
    case lines, json
  }
  private let format: Format
  /// Whether the picture itself goes to standard output.
  private let isBesidePicture: Bool
  private let state = Mutex((answer: AnswerStream("files"), problems: [AnswerProblem]()))

  package init(format: Format, isBesidePicture: Bool) {
    (self.format, self.isBesidePicture) = (format, isBesidePicture)
  }

  package func tell(_ document: PosterDocument) throws {
    switch format {
    case .json:
      try state.withLock {
        if let problem = document.problem { $0.problems.append(problem) }
        try OutputStream.standardOutput.write($0.answer.text(document))
      }
    case .lines: try OutputStream.standardOutput.write(try document.json())
    case .text, .failures:
      if document.isFailure {
        try OutputStream.standardError.write(document.text(.standardError()))
      } else if format == .text, !isBesidePicture {
        try OutputStream.standardOutput.write(document.text(.standardOutput()))
      }
    }
  }

  /// Runs `body`. If it throws, ends a document that was begun.
  /// - Parameter problem: the problem to write for the error.
  package func ending<Value>(
    _ problem: (any Error) -> AnswerProblem, _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      return try await body()
    } catch {
      if state.withLock(\.answer.isBegun) {
        try? finish(NoKeys(), problems: [problem(error)], ok: false)
      }
      throw error
    }
  }

  /// Ends the JSON document, if the format is JSON.
  package func finish(_ rest: some Encodable, problems: [AnswerProblem], ok: Bool) throws {
    guard format == .json else { return }
    try state.withLock {
      try OutputStream.standardOutput.write(
        $0.answer.end(rest, problems: $0.problems + problems, ok: ok))
    }
  }
}
