import Observation
import ReelCore
import ReelSource

/// Publishes one video: the view model of `reel publish`, and of an app's "share" button.
///
/// ```swift
/// let model = MediaModel(file: SourceInput(path: "clip.mov"), options: options, services: services)
/// switch await model.publish() {
/// case .published(let post): show(post)
/// case .duplicate(let post): say("is a post already", post)
/// default: ...
/// }
/// ```
@MainActor
@Observable
public final class MediaModel {
  /// How far the video has come.
  public enum State: Hashable, Sendable {
    /// It has not begun.
    case idle
    /// On its way; nil before it has started, and for a moment after its last step.
    case working(FileInFlight?)
    /// It is over.
    case ended(PublishResult)
  }
  /// The newest state.
  public private(set) var state = State.idle

  @ObservationIgnored private let batch: IngestModel
  @ObservationIgnored private var watching: Task<PublishResult, Never>?

  /// - Parameter file: the video; it is one file, never a folder's content.
  public init(
    file: SourceInput, walkOptions: WalkOptions = WalkOptions(), options: IngestOptions,
    services: IngestServices
  ) {
    var options = options
    options.jobs = 1
    var walkOptions = walkOptions
    walkOptions.entersFolders = false
    batch = IngestModel(inputs: [file], walkOptions: walkOptions, options: options, services: services)
  }

  /// A stream of the events from now on, one for each observer.
  public func events() -> IngestEvents {
    batch.events()
  }

  /// Publishes the video, once, and gives its one end. Cancelling the calling task rolls it back, or lets it
  /// end where it has gone too far for that.
  public func publish() async -> PublishResult {
    let (watching, run) = begin()
    return await withTaskCancellationHandler {
      await watching.value
    } onCancel: {
      // Only the run: who watches it sees it to its end.
      run.cancel()
    }
  }

  private func begin() -> (Task<PublishResult, Never>, Task<RunSummary, Never>) {
    let events = batch.events()
    let run = batch.launch()
    if let watching { return (watching, run) }
    state = .working(nil)
    let task = Task { await watch(events, run) }
    watching = task
    return (task, run)
  }

  private func watch(_ events: IngestEvents, _ run: Task<RunSummary, Never>) async -> PublishResult {
    var folded = IngestState()
    var result: PublishResult?
    for await event in events {
      folded.apply(event.body)
      result = result ?? PublishResult(event.body)
      state = .working(folded.inFlight.first)
    }
    let summary = await run.value
    let end = result ?? .failed(summary.error ?? .cancelled)
    state = .ended(end)
    return end
  }
}

/// How the publishing of one video ended.
public enum PublishResult: Hashable, Sendable {
  /// It is a post now.
  case published(Post)
  /// It was a post already.
  case duplicate(Post?)
  /// A dry run: it would have been published.
  case planned(FilePlanned)
  /// The policy does not want it.
  case refused(FileRefused)
  /// Something went wrong.
  case failed(FileFailure)

  /// The end that `body` tells; nil when it tells none.
  public init?(_ body: IngestEvent.Body) {
    switch body {
    case .postPublished(_, let post): self = .published(post)
    case .fileDuplicate(_, let duplicate): self = .duplicate(duplicate.post)
    case .filePlanned(_, let plan): self = .planned(plan)
    case .fileRefused(_, let refusal): self = .refused(refusal)
    case .fileFailed(_, let failure): self = .failed(failure)
    default: return nil
    }
  }
}
