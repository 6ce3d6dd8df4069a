import ReelCore

/// What may be said in which order. Pure: it is fed lines, and says what they mean.
struct AdapterDialogue: Sendable {
  /// What a line means for the run.
  enum Step: Hashable, Sendable {
    /// Nothing new.
    case nothing
    /// Further than ever before: so many bytes.
    case progress(Int64)
    /// The object is ready to be made visible; the adapter waits for our word.
    case staged
    /// The last line.
    case end(Ending)
  }

  /// How the adapter says that it ended.
  enum Ending: Hashable, Sendable {
    case result(AdapterResult)
    case failure(UploadError.Code, message: String, retryAfter: Double?)
  }

  private let verb: AdapterRequest.Verb
  private let size: Int64
  private var sent: Int64 = 0
  private var isStaged = false
  private(set) var ending: Ending?

  /// - Parameter size: bytes of the object that is uploaded.
  init(_ verb: AdapterRequest.Verb, size: Int64 = 0) {
    self.verb = verb
    self.size = size
  }

  /// Takes one line.
  /// - Throws: ``AdapterViolation`` when it is not to be said, or not now.
  mutating func take(_ line: AdapterLine) throws(AdapterViolation) -> Step {
    guard ending == nil else { throw AdapterViolation("it went on after its result") }
    switch line {
    case .progress(let now): return try progress(now)
    case .staged:
      guard verb == .upload, !isStaged else {
        throw AdapterViolation("\"staged\" is said once, in an upload")
      }
      isStaged = true
      return .staged
    case .result(let result):
      guard verb != .upload || isStaged else {
        throw AdapterViolation("its upload was done before it was told to commit: \"staged\" comes first")
      }
      return end(.result(result))
    case .error(let code, let message, let retryAfter):
      return end(.failure(code, message: message, retryAfter: retryAfter))
    }
  }

  private mutating func progress(_ now: Int64) throws(AdapterViolation) -> Step {
    guard verb == .upload else { throw AdapterViolation("only an upload has progress") }
    guard now <= size else { throw AdapterViolation("it says it sent \(now) of \(size) bytes") }
    guard now > sent else { return .nothing }
    sent = now
    return .progress(now)
  }

  private mutating func end(_ ending: Ending) -> Step {
    self.ending = ending
    return .end(ending)
  }
}
