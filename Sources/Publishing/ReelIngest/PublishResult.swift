import ReelCore

/// How the publishing of one video ended.
public enum PublishResult: Hashable, Sendable {
  /// It is a post now.
  case published(Post)
  /// It was a post already.
  case duplicate(Post?)
  /// Its post was removed, and it is not to come back.
  case removed(RemovedPost)
  /// A dry run: it would have been published.
  case planned(FilePlanned)
  /// The policy does not want it.
  case refused(FileRefused)
  /// Something went wrong.
  case failed(FileFailure)
  /// Its run was cancelled before it became a post. Publishing it again goes on where this ended.
  case cancelled

  /// The end that `body` tells; nil when it tells none.
  public init?(_ body: IngestEvent.Body) {
    switch body {
    case .postPublished(_, let post): self = .published(post)
    case .fileDuplicate(_, let duplicate): self = .duplicate(duplicate.post)
    case .fileRemoved(_, let removed): self = .removed(removed)
    case .filePlanned(_, let plan): self = .planned(plan)
    case .fileRefused(_, let refusal): self = .refused(refusal)
    case .fileFailed(_, let failure), .filePostponed(_, let failure):
      self = failure.isCancellation ? .cancelled : .failed(failure)
    default: return nil
    }
  }

  /// The terminal event that tells this end of `file`.
  func event(of file: FileReference) -> IngestEvent.Body {
    switch self {
    case .published(let post): .postPublished(file, post)
    case .duplicate(let post): .fileDuplicate(file, FileDuplicate(post: post))
    case .removed(let removed): .fileRemoved(file, removed)
    case .planned(let plan): .filePlanned(file, plan)
    case .refused(let refusal): .fileRefused(file, refusal)
    case .failed(let failure): .fileFailed(file, failure)
    case .cancelled: .fileFailed(file, .cancelled)
    }
  }
}
