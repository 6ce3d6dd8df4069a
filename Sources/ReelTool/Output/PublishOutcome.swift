import ReelCore
import ReelIngest
import ReelTerminal

/// What `reel publish` says at the end.
struct PublishOutcome {
  let path: SourcePath
  let result: PublishResult

  /// Whether there is no post to print, but a reason.
  var isProblem: Bool {
    switch result {
    case .refused, .failed: true
    case .published, .duplicate, .planned: false
    }
  }

  func text(_ traits: TerminalTraits) -> String {
    switch result {
    case .published(let post): PostSummary.text(post, title: .published, traits)
    case .duplicate(let post?): PostSummary.text(post, title: .duplicate, traits)
    case .duplicate(nil): traits.sanitized("\(path.text) would be a duplicate") + "\n"
    case .planned(let plan): PlanSummary.text(plan, of: path, traits)
    case .refused(let refusal): trouble(refusal.code, refusal.message, refused: true, traits)
    case .failed(let failure): trouble(failure.code, failure.message, refused: false, traits)
    }
  }

  private func trouble(_ code: String, _ message: String, refused: Bool, _ traits: TerminalTraits) -> String {
    ProblemSummary.text(ProblemList.Entry(path: path, code: code, message: message, refused: refused), traits)
  }

  /// The post; for a file without one `{"ok": false, …}` with the reason.
  func json(pretty: Bool) throws -> String {
    switch result {
    case .published(let post), .duplicate(let post?): try JSONOutput.text(post, pretty: pretty)
    case .duplicate(nil): try JSONOutput.text(FileDuplicate(post: nil), pretty: pretty)
    case .planned(let plan): try JSONOutput.text(plan, pretty: pretty)
    case .refused(let refusal): try JSONOutput.text(Failed(error: nil, refused: refusal), pretty: pretty)
    case .failed(let failure): try JSONOutput.text(Failed(error: failure, refused: nil), pretty: pretty)
    }
  }

  private struct Failed: Encodable {
    let ok = false
    let error: FileFailure?
    let refused: FileRefused?
  }
}
