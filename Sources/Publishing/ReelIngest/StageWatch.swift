import ReelCore

/// The stages among which a run's time is divided.
public enum IntakeStage: String, Sendable, CaseIterable {
  /// Looking up what earlier runs know of the files.
  case recall
  /// Opening, copying and hashing.
  case copy
  /// Waiting for a reader's answer.
  case probe
  /// Mending files, and proving the result.
  case mend
  /// Making posters.
  case poster
  /// Writing intents (T1), and waiting for other holders of them.
  case claim
  /// Storing objects, and proving what is stored.
  case store
  /// Recording posts in a store that keeps them.
  case record
  /// Writing posts (T2).
  case complete
}

/// Measures one stage, of one file or of a batch.
struct StageWatch {
  private let stage: IntakeStage
  private let tell: (@Sendable (IntakeStage, Duration) -> Void)?
  private let start: ContinuousClock.Instant?

  init(_ stage: IntakeStage, _ tell: (@Sendable (IntakeStage, Duration) -> Void)?) {
    self.stage = stage
    self.tell = tell
    start = tell == nil ? nil : .now
  }

  func end() {
    if let start { tell?(stage, .now - start) }
  }
}

extension IngestContext {
  func watch(_ stage: IntakeStage) -> StageWatch { StageWatch(stage, services.onStage) }
}
