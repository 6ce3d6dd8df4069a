import ReelCore

extension FileFailure.Code {
  /// Whether the file itself is at fault, so that another try would fail on any machine. False for what this machine,
  /// its network or its stores may have caused, and for a file that does not exist.
  public var isOfTheFile: Bool {
    switch self {
    case .source(let code):
      [.notRegular, .isLink, .outsideRoot, .invalidName, .sidecarInvalid, .readLimit].contains(code)
    case .probe(let code): code.isOfTheFile
    case .poster(let code): ProbeError.Code(rawValue: code.rawValue)?.isOfTheFile ?? true
    case .upload, .catalog, .cancelled: false
    // A policy's reason, or a file that can't be mended.
    case .other(let name): name != MendError.Code.notWritten.rawValue
    }
  }
}

extension ProbeError.Code {
  fileprivate var isOfTheFile: Bool {
    switch self {
    case .crashed, .sandboxViolation, .implausible, .readLimit: true
    default: isAboutTheBytes
    }
  }
}
