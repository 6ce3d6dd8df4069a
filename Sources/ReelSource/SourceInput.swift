import ReelCore

/// A file or folder that the user named.
public struct SourceInput: Hashable, Sendable {
  /// As the user wrote it.
  public let path: SourcePath

  /// - Parameter path: any bytes; whether they name something is for the walk to find out.
  public init(path: SourcePath) {
    self.path = path
  }
}
