import ReelCore

// What `IngestServices.wording` is asked for, of whatever is told.

extension FileFailure {
  func worded(_ wording: (ErrorMessage) -> String) -> FileFailure {
    FileFailure(code: code, message: wording(text), cause: cause)
  }
}

extension FileRefused {
  func worded(_ wording: (ErrorMessage) -> String) -> FileRefused {
    FileRefused(
      code: code, violations: violations.map { PolicyViolation(rule: $0.rule, message: wording($0.text)) })
  }
}

extension IngestEvent.Body {
  func worded(_ wording: (ErrorMessage) -> String) -> IngestEvent.Body {
    switch self {
    case .fileFailed(let file, let failure): return .fileFailed(file, failure.worded(wording))
    case .filePostponed(let file, let failure): return .filePostponed(file, failure.worded(wording))
    case .fileRefused(let file, let refusal): return .fileRefused(file, refusal.worded(wording))
    case .fileNotMended(let file, let failure): return .fileNotMended(file, failure.worded(wording))
    case .posterFailed(let file, let failure): return .posterFailed(file, failure.worded(wording))
    case .uploadRetrying(let file, let progress):
      return .uploadRetrying(
        file,
        TransferProgress(
          sent: progress.sent, total: progress.total, attempt: progress.attempt,
          retrying: progress.retrying?.worded(wording)))
    default: return self
    }
  }
}
