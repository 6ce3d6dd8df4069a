import ReelCore
import ReelSource

/// What a run works with, each behind its port, so that a test brings its own.
public struct IngestServices: Sendable {
  /// Reads what files are.
  public var prober: any MediaProber
  /// Puts videos into the store.
  public var uploader: any Uploader
  /// Writes posts down beside their objects; nil for a store that keeps none.
  public var recorder: (any PostRecorder)?
  /// Remembers intents, posts and files.
  public var catalog: any PostCatalog
  /// Decides which files may be published.
  public var policy: any IntakePolicy
  /// The time of posts, ids and events.
  public var clock: any WallClock
  /// What names, ids and demo counts are drawn from.
  public var randomness: any Randomness
  /// Where private copies are made when the uploader has no place for them.
  public var staging: any StagingArea
  /// Called after each step of each file. For tests; does nothing by default.
  public var onStep: @Sendable (IntakeStep) -> Void = { _ in }

  /// Services; the ports that have an implementation in `ReelCore` have it as default.
  public init(
    prober: any MediaProber, uploader: any Uploader, recorder: (any PostRecorder)? = nil,
    catalog: any PostCatalog,
    policy: any IntakePolicy = DefaultIntakePolicy(), clock: any WallClock = SystemWallClock(),
    randomness: any Randomness = SystemRandomness(), staging: any StagingArea = TemporaryStaging()
  ) {
    self.prober = prober
    self.uploader = uploader
    self.recorder = recorder
    self.catalog = catalog
    self.policy = policy
    self.clock = clock
    self.randomness = randomness
    self.staging = staging
  }
}
