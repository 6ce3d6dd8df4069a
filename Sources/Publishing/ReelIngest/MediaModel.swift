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
    /// The video has not begun.
    case idle
    /// The video is being published; nil before it has started, and for a moment after its last step.
    case working(FileInFlight?)
    /// The video has ended.
    case ended(PublishResult)
  }
  /// The current state.
  public private(set) var state = State.idle

  @ObservationIgnored private let run: IngestRun
  @ObservationIgnored private var publishing: Task<PublishResult, Never>?

  /// - Parameter file: the video; always a single file, never the contents of a folder.
  public init(
    file: SourceInput, walkOptions: WalkOptions = WalkOptions(), options: IngestOptions = IngestOptions(),
    services: IngestServices
  ) {
    run = IngestRun(publishing: file, walkOptions: walkOptions, options: options, services: services)
  }

  /// Returns a stream of the events from now on, one for each observer.
  public func events() -> IngestEvents {
    run.events()
  }

  /// Publishes the video once, and returns its result. Cancelling the calling task rolls the video back, or lets it
  /// finish if it is too late for that.
  public func publish() async -> PublishResult {
    let task = publishing ?? launch()
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      cancel()
    }
  }

  /// Rolls the video back, or lets it finish if it is too late for that.
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
