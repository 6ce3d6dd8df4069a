import ReelCore
import ReelValidation

extension Finding {
  /// `clips/a.mp4 is too long: 62 s`
  func sentence(about path: SourcePath) -> String { Sentence.naming(path.text, sentence) }

  /// Whether its file fails by it.
  func fails(_ report: ValidationReport) -> Bool { ValidatedFile.fails(self, strict: report.strict) }

  /// `error`, `warning`, `unverified`, `locked`.
  var word: String {
    switch state {
    case .unverified: "unverified"
    case .locked: "locked"
    case .broken: severity == .error ? "error" : "warning"
    }
  }

  /// `expected at most 60 s, found 62 s`; nil where nothing is known.
  var contrast: String? {
    guard let expected, let found else { return nil }
    return "expected \(expected), found \(found)"
  }
}

extension ValidatedFile {
  /// What is told of it: nothing of one that passed without a word.
  var isWorthTelling: Bool { !findings.isEmpty || unjudged != nil }
}

extension ValidationReport {
  /// Why there is nothing to tell.
  static let emptyWords =
    "no file was found to validate; nothing that is not there can pass (--allow-empty says that this is fine)"

  /// `sanity 2026-11-21`
  var policyWords: String { ([policy] + [policyVersion].compactMap(\.self)).joined(separator: " ") }

  /// `3 of 43 files fail (4 errors, 2 warnings, 1 not judged)`
  var headline: String {
    if isEmptyFailure { return Self.emptyWords }
    let totals = totals
    let files = HumanNumber.count(totals.files, "file", "files")
    var parts: [String] = []
    if totals.errors > 0 { parts.append(HumanNumber.count(totals.errors, "error", "errors")) }
    if totals.warnings > 0 { parts.append(HumanNumber.count(totals.warnings, "warning", "warnings")) }
    if totals.unverified > 0 { parts.append("\(totals.unverified) unverified") }
    if totals.locked > 0 { parts.append("\(totals.locked) broken as locked") }
    if totals.unjudged > 0 { parts.append("\(totals.unjudged) not judged") }
    let details = parts.isEmpty ? "" : " (" + parts.joined(separator: ", ") + ")"
    switch outcome {
    case .passed: return "\(files) \(totals.files == 1 ? "passes" : "pass")\(details)"
    case .failed: return "\(totals.failed) of \(files) \(totals.failed == 1 ? "fails" : "fail")\(details)"
    case .unjudged: return "\(totals.unjudged) of \(files) could not be judged\(details)"
    }
  }
}
