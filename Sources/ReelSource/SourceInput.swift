import ReelModel

/// A file or folder that the user named.
public struct SourceInput: Hashable, Sendable {
  /// As the user wrote it.
  public let path: SourcePath

  public init(path: SourcePath) {
    self.path = path
  }
}
