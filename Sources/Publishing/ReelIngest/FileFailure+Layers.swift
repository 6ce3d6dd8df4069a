import ReelCore
import ReelSource

// The only place where the errors of the layers become the failure of a file.

extension FileFailure {
  init(_ error: SourceError) {
    self.init(code: .source(error.code), message: error.text, cause: error)
  }

  init(_ error: ProbeError) {
    self.init(code: .probe(error.code), message: error.text, cause: error)
  }

  init(_ error: PosterError) {
    self.init(
      code: .poster(error.code), message: "no poster could be made: \(error.text)", cause: error)
  }

  init(_ error: MendError) {
    self.init(
      code: Code(rawValue: error.code.rawValue), message: "it could not be mended: \(error.text)",
      cause: error)
  }

  /// The failure of a file that is published unmended, as it came in.
  init(leftAsItIs error: MendError) {
    self.init(
      code: Code(rawValue: error.code.rawValue), message: "it is left as it is: \(error.text)", cause: error)
  }

  package init(_ error: UploadError) {
    self.init(code: .upload(error.code), message: error.text, cause: error)
  }

  init(_ error: CatalogError) {
    self.init(code: .catalog(error.code), message: error.text, cause: error)
  }

  package static let cancelled = FileFailure(
    code: .cancelled,
    message: "interrupted before it was published; another run publishes it")

  /// Whether the file looks truncated.
  package var isOfMissingBytes: Bool {
    [.probe(.truncated), .probe(.indexMissing), .probe(.empty)].contains(code)
  }

  /// Whether the file does not exist.
  package var isOfNoFile: Bool { code == .source(.notFound) }

  /// Whether the file has changed since it was opened.
  package var isSourceChanged: Bool {
    switch code {
    case .source(.sourceChanged), .probe(.sourceChanged), .poster(.sourceChanged): true
    default: false
    }
  }

  /// Whether the file ended only because the run did.
  package var isCancellation: Bool { code == .cancelled }
}

/// Why the steps of one file ended before its post.
///
/// An error of a layer is converted where a step catches it, and nowhere earlier.
enum StepFailure: Error {
  case refused(FileRefused)
  case failed(FileFailure)
  /// Other files would fail in the same way.
  case endsTheRun(FileFailure)

  /// The failure, without its meaning for the run.
  var failure: FileFailure {
    switch self {
    case .refused(let refusal):
      FileFailure(
        code: FileFailure.Code(rawValue: refusal.code.rawValue), message: refusal.text, cause: refusal)
    case .failed(let failure), .endsTheRun(let failure): failure
    }
  }

  /// The file's end, without its meaning for the run.
  var result: PublishResult {
    switch self {
    case .refused(let refusal): .refused(refusal)
    case .failed(let failure), .endsTheRun(let failure): .failed(failure)
    }
  }

  init(_ error: any Error) {
    switch error {
    case let failure as StepFailure: self = failure
    case let error as SourceError: self.init(error)
    case let error as PrivateCopy.Failure: self.init(error)
    case let error as ProbeError: self.init(error)
    case let error as MendError: self.init(error)
    case let error as PosterError: self.init(error)
    case let error as UploadError: self.init(error)
    case let error as CatalogError: self.init(error)
    // No step throws anything else.
    default: self = .endsTheRun(FileFailure(code: "unexpected", message: "\(error)"))
    }
  }

  init(_ error: SourceError) {
    self = .failed(FileFailure(error))
  }

  /// The probe errors that count as refusals, with the rule that each one breaks.
  private static let refusals: [ProbeError.Code: (code: FileRefused.Code, rule: String)] = [
    .unsupported: (.unsupported, "container.unsupported"), .externalMedia: (.externalMedia, "media.external"),
  ]

  init(_ error: ProbeError) {
    if let refusal = Self.refusals[error.code] {
      self = .refused(
        FileRefused(
          code: refusal.code, violations: [PolicyViolation(rule: refusal.rule, message: error.text)]))
    } else {
      self.init(
        FileFailure(error), isCancelled: error.code == .cancelled, endsTheRun: error.code.isInstallation)
    }
  }

  init(_ error: MendError) {
    self.init(
      FileFailure(error), isCancelled: error.code == .cancelled, endsTheRun: error.code.isInstallation)
  }

  init(_ error: PosterError) {
    self.init(
      FileFailure(error), isCancelled: error.code == .cancelled, endsTheRun: error.code.isInstallation)
  }

  init(_ error: UploadError) {
    self.init(FileFailure(error), isCancelled: error.code == .cancelled, endsTheRun: error.code.endsTheRun)
  }

  init(_ error: CatalogError) {
    self.init(
      FileFailure(error), isCancelled: error.code == .cancelled, endsTheRun: error.code != .leaseLost)
  }

  private init(_ failure: FileFailure, isCancelled: Bool, endsTheRun: Bool) {
    self = isCancelled ? .failed(.cancelled) : endsTheRun ? .endsTheRun(failure) : .failed(failure)
  }
}

extension FileRefused {
  /// The refusal for `violations`; nil when there are none.
  init?(_ violations: [PolicyViolation]) {
    guard !violations.isEmpty else { return nil }
    guard
      let (rule, code) = Self.deciding.first(where: { rule, _ in violations.contains { $0.rule == rule } })
    else {
      self.init(code: .policy, violations: violations)
      return
    }
    // The deciding violations come first.
    self.init(
      code: code, violations: violations.filter { $0.rule == rule } + violations.filter { $0.rule != rule })
  }

  /// The rules that have a code of their own, gravest first.
  private static var deciding: [(rule: String, code: Code)] {
    [
      ("media.external", .externalMedia), ("video.none", .unsupported), ("video.coverOnly", .unsupported),
      ("file.truncated", .truncated),
    ]
  }
}

extension StepFailure {
  init(_ failure: PrivateCopy.Failure) {
    switch failure {
    case .source(let error): self.init(error)
    case .staging(let error): self.init(error)
    }
  }
}
