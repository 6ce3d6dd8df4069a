import ReelIngest
import ReelSystem
import ReelTerminal
import Synchronization

/// Prints what `reel probe` finds, as it finds it.
final class ProbePrinter: Sendable {
  enum Format: Sendable {
    case cards, json, lines
  }
  private struct State {
    var kept: [ProbeDocument] = []
    var count = 0
    var failed = 0
    var problem: (any Error)?
  }
  private let format: Format
  /// The reader of the output may be slow; only this queue waits for it.
  private let queue = BlockingQueue(label: "reel.output", width: 1)
  private let state = Mutex(State())

  init(format: Format) {
    self.format = format
  }

  /// Takes one file's answer. Gives false when nobody reads any more.
  func take(_ file: ProbedFile) async -> Bool {
    await queue.run { self.print(file) }
  }

  private func print(_ file: ProbedFile) -> Bool {
    let document = ProbeDocument(path: file.path, result: file.result)
    return state.withLock { state in
      do {
        try Self.print(document, format, isFirst: state.count == 0)
      } catch {
        state.problem = error
        return false
      }
      state.count += 1
      if case .failure = file.result { state.failed += 1 }
      if format == .json { state.kept.append(document) }
      return true
    }
  }

  private static func print(_ document: ProbeDocument, _ format: Format, isFirst: Bool) throws {
    let traits = TerminalTraits.standardOutput()
    switch format {
    case .cards:
      try OutputStream.standardOutput.write((isFirst ? "" : "\n") + ProbeCard.text(document, traits))
    case .lines: try OutputStream.standardOutput.write(document.json(pretty: false))
    case .json: break
    }
  }

  /// Prints what is left to print, and gives the exit code.
  /// - Parameter wantsList: whether several files were asked for.
  func finish(wantsList: Bool, wasInterrupted: Bool) throws -> ReelExit {
    let state = state.withLock { $0 }
    if let problem = state.problem { throw problem }
    if format == .json {
      let pretty = TerminalTraits.standardOutput().isTerminal
      let text =
        if !wantsList, let only = state.kept.first, state.kept.count == 1 {
          try only.json(pretty: pretty)
        } else {
          try ProbeListDocument(state.kept).json(pretty: pretty)
        }
      try OutputStream.standardOutput.write(text)
    }
    if wasInterrupted { return .interrupted }
    return state.failed > 0 ? .someFailed : .done
  }
}
