import HTTPTypes
import Reel

/// The final outcome of a video.
struct Verdict: Hashable, Sendable, Codable {
  enum Word: String, Sendable, Codable, CaseIterable {
    /// It is a post now.
    case published
    /// It was one already.
    case duplicate
    /// Its post was removed, and it is not to come back.
    case removed
    /// It is not wanted, or it is not a video.
    case refused
  }
  let word: Word
  /// Nil where there is none, or it is not known.
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
  /// Its address was for one upload, which another server has received.
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

/// The end of a publication, as a server reports it: a verdict, or that there is none yet.
enum Judgement: Hashable, Sendable {
  case verdict(Verdict)
  /// The video was not to blame: a later request may succeed.
  case postponed(Problem)
  /// There is a verdict that could not be saved, and perhaps a post: a later request reports it.
  case unwritten(Problem)
}

// The only place where the end of a publication becomes an answer.
extension Judgement {
  init(_ result: PublishResult) {
    switch result {
    case .published(let post): self = .verdict(.published(post))
    case .duplicate(let post): self = .verdict(.duplicate(post))
    case .removed(let removed):
      // The reason is for those who removed it.
      self = .verdict(
        .removed(
          Problem(
            .gone, "removed", "its post \(removed.post.id) was removed, and its video is not published again")
        ))
    case .refused(let refusal): self.init(refusal)
    case .failed(let failure): self.init(failure)
    // Nothing here is a dry run.
    case .planned, .cancelled: self = .postponed(.shuttingDown)
    }
  }

  /// What an error about the first bytes means.
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
      // The file's path is the server's, so the video is not to blame.
      case .source, .other: .serviceUnavailable
      default: failure.code.isOfTheFile ? nil : .serviceUnavailable
      }
    guard let status else {
      self = .verdict(.refused(Problem(.unprocessableContent, failure.code.rawValue, failure.message)))
      return
    }
    var problem = Problem(
      status, failure.code.rawValue, "the server can't publish it just now", retryAfter: 10)
    // The message names stores and folders, which do not concern the client.
    problem.detail = failure.message
    self = .postponed(problem)
  }
}

extension PublishResult {
  /// What is said about the video if the same failure keeps happening: either the video is to blame, or a machine that
  /// was paused or has too little memory. Nil for any other end.
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
