import ReelCore

extension FileFailure.Code {
  /// Whether the file is what it should not be, here and anywhere: nobody who tries again fares better with it. False for
  /// what this machine, its network or its stores had to do with, and for a file that is not there.
  public var isOfTheFile: Bool {
    switch self {
    case .source(let code):
      [.notRegular, .isLink, .outsideRoot, .invalidName, .sidecarInvalid, .readLimit].contains(code)
    case .probe(let code): code.isOfTheFile
    case .poster(let code): ProbeError.Code(rawValue: code.rawValue)?.isOfTheFile ?? true
    case .upload, .catalog, .cancelled: false
    // A policy's reason, or what can't be mended.
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
