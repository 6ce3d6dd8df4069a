import ReelCore

/// How the publishing of one video ended.
public enum PublishResult: Hashable, Sendable {
  /// The video became a post.
  case published(Post)
  /// The video already was a post.
  case duplicate(Post?)
  /// The video's post was removed, and it is not to be published again.
  case removed(RemovedPost)
  /// In a dry run: the video would have been published.
  case planned(FilePlanned)
  /// The policy does not accept the video.
  case refused(FileRefused)
  /// Reading, storing or recording the video failed.
  case failed(FileFailure)
  /// The run was cancelled before the video became a post. Publishing it again resumes from there.
  case cancelled

  /// The result in `body`; nil if it is not a terminal event of a file.
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

  /// The terminal event that reports this result of `file`.
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
