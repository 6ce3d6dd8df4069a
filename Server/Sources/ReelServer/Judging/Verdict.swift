import HTTPTypes
import Reel

/// What became of a video, for good.
struct Verdict: Hashable, Sendable, Codable {
  enum Word: String, Sendable, Codable, CaseIterable {
    /// It is a post now.
    case published
    /// It was one already.
    case duplicate
    /// Its post was removed, and it is not to come back.
    case removed
    /// It is not wanted, or it is no video.
    case refused
  }
  let word: Word
  /// Nil without one, and where it is not known.
  let post: Post?
  /// Why there is no post.
  let problem: Problem?

  private init(_ word: Word, post: Post? = nil, problem: Problem? = nil) {
    (self.word, self.post, self.problem) = (word, post, problem)
  }

  static func published(_ post: Post) -> Verdict { Verdict(.published, post: post) }
  static func duplicate(_ post: Post?) -> Verdict { Verdict(.duplicate, post: post) }
  static func removed(_ problem: Problem) -> Verdict { Verdict(.removed, problem: problem) }
  static func refused(_ problem: Problem) -> Verdict { Verdict(.refused, problem: problem) }
  /// Its address was for one upload, which came to another server.
  static let spent = refused(.spent(.unprocessableContent))

  var status: HTTPResponse.Status {
    switch word {
    case .published: .created
    case .duplicate: .ok
    case .removed: .gone
    case .refused: .unprocessableContent
    }
  }
}

/// The end of a publication, as a server tells it: a verdict, or that there is none yet.
enum Judgement: Hashable, Sendable {
  case verdict(Verdict)
  /// It was not the video's fault: asked again, it may go better.
  case postponed(Problem)
  /// It has a verdict that could not be written down, and may be a post: asked again, that is told.
  case unwritten(Problem)
}

// The one place where the end of a publication becomes an answer.
extension Judgement {
  init(_ result: PublishResult) {
    switch result {
    case .published(let post): self = .verdict(.published(post))
    case .duplicate(let post): self = .verdict(.duplicate(post))
    case .removed(let removed):
      // Why is between those who removed it.
      self = .verdict(
        .removed(
          Problem(
            .gone, "removed", "its post \(removed.post.id) was removed, and its video is not published again")
        ))
    case .refused(let refusal): self.init(refusal)
    case .failed(let failure): self.init(failure)
    // No run here is a dry one.
    case .planned, .cancelled: self = .postponed(.shuttingDown)
    }
  }

  /// What the first bytes say.
  init(_ error: ProbeError) { self.init(FileFailure(code: .probe(error.code), message: error.text)) }

  private init(_ refusal: FileRefused) {
    self = .verdict(
      .refused(
        Problem(
          .unprocessableContent, refusal.code.rawValue, refusal.message,
          violations: refusal.violations.map { Problem.Violation(rule: $0.rule, message: $0.message) })))
  }

  private init(_ failure: FileFailure) {
    let status: HTTPResponse.Status? =
      switch failure.code {
      case .upload(.storeFull), .catalog(.diskFull): .insufficientStorage
      // Its path is the server's.
      case .source, .other: .serviceUnavailable
      default: failure.code.isOfTheFile ? nil : .serviceUnavailable
      }
    guard let status else {
      self = .verdict(.refused(Problem(.unprocessableContent, failure.code.rawValue, failure.message)))
      return
    }
    var problem = Problem(
      status, failure.code.rawValue, "the server can't publish it just now", retryAfter: 10)
    // It names stores and folders, which are nobody else's business.
    problem.detail = failure.message
    self = .postponed(problem)
  }
}

extension PublishResult {
  /// What is said of the video if it goes on like that: it may be its fault, or that of a machine that has paused, or has too
  /// little. Nil for any other end.
  var doubt: Problem? {
    guard case .failed(let failure) = self else { return nil }
    let what: String
    switch failure.code {
    case .probe(.timeout), .poster(.timeout): what = "time"
    case .probe(.memoryLimit), .poster(.memoryLimit): what = "memory"
    default: return nil
    }
    return Problem(
      .unprocessableContent, failure.code.rawValue, "to read it takes more \(what) than a video may take here"
    )
  }
}
