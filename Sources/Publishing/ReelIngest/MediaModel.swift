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
///
/// Code that has no view calls ``IngestServices/publish(_:options:walkOptions:isolation:onEvent:)``, which needs no main
/// actor.
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

  @ObservationIgnored private let run: IngestRun
  @ObservationIgnored private var publishing: Task<PublishResult, Never>?

  /// - Parameter file: the video; it is one file, never a folder's content.
  public init(
    file: SourceInput, walkOptions: WalkOptions = WalkOptions(), options: IngestOptions = IngestOptions(),
    services: IngestServices
  ) {
    run = IngestRun(publishing: file, walkOptions: walkOptions, options: options, services: services)
  }

  /// A stream of the events from now on, one for each observer.
  public func events() -> IngestEvents {
    run.events()
  }

  /// Publishes the video, once, and gives its one end. Cancelling the calling task rolls it back, or lets it
  /// end where it has gone too far for that.
  public func publish() async -> PublishResult {
    let task = publishing ?? launch()
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      cancel()
    }
  }

  /// Rolls the video back, or lets it end where it has gone too far for that.
  public nonisolated func cancel() {
    run.cancel()
  }

  private func launch() -> Task<PublishResult, Never> {
    state = .working(nil)
    let task = Task {
      let result = await run.result { _ in state = .working(run.state.inFlight.first) }
      state = .ended(result)
      return result
    }
    publishing = task
    return task
  }
}
