import ReelCore
import ReelIngest
import Synchronization

/// Prints the results of `reel probe` as they arrive.
package final class ProbePrinter: Sendable {
  package enum Format: Sendable {
    case cards, json, lines
  }
  private struct State {
    var kept: [ProbedFile] = []
    var count = 0
    var problem: (any Error)?
    #if DEBUG
      var ways: [String: Int] = [:]
    #endif
  }
  private let format: Format
  private let state = Mutex(State())
  private let wording: @Sendable (ErrorMessage) -> String
  private let onFailure: @Sendable (FileFailure.Code, SourcePath) -> Void

  /// - Parameters:
  ///   - wording: words messages with the names that the user knows for settings.
  ///   - onFailure: called for each file that could not be read, after its result was printed.
  package init(
    format: Format, wording: @escaping @Sendable (ErrorMessage) -> String,
    onFailure: @escaping @Sendable (FileFailure.Code, SourcePath) -> Void
  ) {
    (self.format, self.wording, self.onFailure) = (format, wording, onFailure)
  }

  /// Prepares the output for one file; several files are prepared at once.
  package func prepare(_ file: ProbedFile) -> PreparedAnswer {
    let file = ProbedFile(
      path: file.path,
      result: file.result.mapError { FileFailure(code: $0.code, message: wording($0.text), cause: $0.cause) },
      read: file.read)
    let text = Result {
      switch format {
      case .cards: ProbeSummary.text(file, .standardOutput())
      case .lines: try file.jsonLine()
      case .json: ""
      }
    }
    return PreparedAnswer(file: file, text: text)
  }

  /// Prints one file's result; blocks while the reader of the output is slow. Returns false if the reader has gone
  /// away.
  package func take(_ answer: PreparedAnswer) -> Bool {
    state.withLock { state in
      do {
        let text = try answer.text.get()
        let isFurtherSummary = format == .cards && state.count > 0
        if !text.isEmpty { try OutputStream.standardOutput.write((isFurtherSummary ? "\n" : "") + text) }
      } catch {
        state.problem = error
        return false
      }
      state.count += 1
      #if DEBUG
        if let way = Self.way(of: answer.file) { state.ways[way, default: 0] += 1 }
      #endif
      if case .failure(let failure) = answer.file.result {
        onFailure(failure.code, answer.file.path)
      }
      if format == .json { state.kept.append(answer.file) }
      return true
    }
  }

  #if DEBUG
    /// How many files were read in each way, and why no shorter way was taken; most frequent first.
    package var ways: String {
      state.withLock(\.ways).sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        .map { "\($0.value)\t\($0.key)\n" }.joined()
    }

    private static func way(of file: ProbedFile) -> String? {
      guard case .success(let report) = file.result else { return nil }
      let words = [
        report.provenance.method.rawValue, report.media.container.rawValue,
        report.media.video?.codec ?? "no video", report.reason ?? "",
      ]
      return words.joined(separator: "\t")
    }
  #endif

  /// Prints the rest of the output.
  /// - Parameter wantsList: whether several files were requested.
  package func finish(wantsList: Bool, wasInterrupted: Bool) throws {
    let state = state.withLock { $0 }
    if let problem = state.problem { throw problem }
    if format == .json {
      var problems = state.kept.compactMap(\.problem)
      if wasInterrupted { problems.append(.interrupted) }
      let output = OutputStream.standardOutput
      if !wantsList, let only = state.kept.first, state.kept.count == 1 {
        try output.answer(AnswerDocument(only, problems: problems))
      } else {
        try output.answer(AnswerDocument(ProbeListDocument(state.kept), problems: problems))
      }
    }
    if !wasInterrupted, state.count == 0 {
      OutputStream.complain(
        "no video was found; in folders only files whose contents or name suggest one are read, and a file that you "
          + "name yourself always is")
    }
  }
}

/// The result for a file, with its text.
package struct PreparedAnswer: Sendable {
  fileprivate let file: ProbedFile
  /// Empty if the result is printed with all others at the end.
  fileprivate let text: Result<String, any Error>
}
