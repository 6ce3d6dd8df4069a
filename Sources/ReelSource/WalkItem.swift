import ReelCore

/// Something that a walk met.
public enum WalkItem: Sendable {
  /// A file to take in.
  case candidate(FoundFile)
  /// Neither its name nor its bytes claim to be a video, or it was excluded. A folder that is not entered
  /// counts as one.
  case ignored(SourcePath)
  /// It should have been a candidate, or a folder to enter, and can't be.
  case failed(SourcePath, SourceError)
}
