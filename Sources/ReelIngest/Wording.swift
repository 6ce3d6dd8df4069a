import ReelCore

// What `IngestServices.wording` is asked for, of whatever is told.

extension FileFailure {
  func worded(_ wording: (String) -> String) -> FileFailure {
    FileFailure(code: code, message: wording(message), cause: cause)
  }
}

extension FileRefused {
  func worded(_ wording: (String) -> String) -> FileRefused {
    FileRefused(
      code: code, violations: violations.map { PolicyViolation(rule: $0.rule, message: wording($0.message)) })
  }
}

extension IngestEvent.Body {
  func worded(_ wording: (String) -> String) -> IngestEvent.Body {
    switch self {
    case .fileFailed(let file, let failure): return .fileFailed(file, failure.worded(wording))
    case .fileRefused(let file, let refusal): return .fileRefused(file, refusal.worded(wording))
    case .posterFailed(let file, let failure): return .posterFailed(file, failure.worded(wording))
    case .uploadRetrying(let file, let progress):
      let reason = progress.retrying.map {
        UploadError($0.code, wording($0.message), retryAfter: $0.retryAfter, silence: $0.silence)
      }
      return .uploadRetrying(
        file,
        TransferProgress(
          sent: progress.sent, total: progress.total, attempt: progress.attempt, retrying: reason))
    default: return self
    }
  }
}
