import ReelCore

extension WireWriter {
  mutating func failure(_ error: ProbeError) {
    code(error.code)
    optional(error.found, limit: .sentence)
    text(error.message, limit: .sentence)
  }
}

extension WireReader {
  mutating func failure() throws(WireError) -> ProbeError {
    let code = try code(ProbeError.Code.self, "code")
    guard code.isForAWorkerToSay else { throw .field("code") }
    let found = try optional("found") { reader throws(WireError) in
      try reader.text(limit: .sentence, "found")
    }
    return ProbeError(code, try text(limit: .sentence, "message"), found: found)
  }
}

extension ProbeError.Code {
  /// Whether it is about the file. The parent itself determines what concerns the worker or the run, so that a
  /// single lying worker cannot end a run.
  var isForAWorkerToSay: Bool {
    switch self {
    case .notMedia, .playlist, .unsupported, .truncated, .indexMissing, .corrupt, .timeout, .memoryLimit,
      .implausible, .sourceChanged, .unreadable, .empty, .externalMedia:
      true
    case .lfsPointer, .crashed, .sandboxViolation, .workerMissing, .workerBroken, .isolationUnavailable,
      .cancelled, .tooManyOpenFiles, .noReader, .readLimit:
      false
    }
  }
}
