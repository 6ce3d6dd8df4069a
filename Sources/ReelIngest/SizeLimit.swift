import ReelCore
import ReelSource

extension IngestContext {
  /// Refuses a file that is too large by its size alone, before any of it is read.
  ///
  /// The size is that of the walk: opening the file afterwards makes sure that it is still that one. Blocks where it is
  /// too large.
  func checkSize(of found: FoundFile) throws(StepFailure) {
    let size = found.identity.size
    var violations = services.policy.violations(ofSize: size, of: found.path)
    if let most = options.maxSize, size > most {
      violations = [PolicyViolation(rule: "bytes.max", message: SizeWords.tooLarge(size, most: most))]
    }
    guard !violations.isEmpty else { return }
    let stored = (try? found.open())?.handle.storedBytes()
    let holes = SizeWords.holes(size, stored: stored)
    let told = violations.map { PolicyViolation(rule: $0.rule, message: $0.message + (holes ?? "")) }
    if let refusal = FileRefused(told) { throw .refused(refusal) }
  }
}

/// What is said of a file that is too large.
enum SizeWords {
  static func tooLarge(_ size: Int64, most: Int64) -> String {
    var texts = [size, most].map { Decimals.bytes($0) }
    if texts[0] == texts[1] { texts = ["\(size) bytes", "\(most) bytes"] }
    return "it has \(texts[0]), more than the \(texts[1]) that are taken in; a larger --max-size lets it in"
  }

  /// To be put behind it; nil where most of it is really there, or nobody knows.
  static func holes(_ size: Int64, stored: Int64?) -> String? {
    guard let stored, stored < size / 2 else { return nil }
    return " (its \(Decimals.bytes(size)) are mostly holes: \(Decimals.bytes(stored)) are stored)"
  }
}
