import ReelCore

/// The facts of one file, and the way they were found.
public struct Reading: Hashable, Sendable {
  /// What the file says about itself.
  public var media: MediaInfo
  /// How much of it had to be read.
  public var method: ProbeMethod

  /// - Parameters: as the properties.
  public init(media: MediaInfo, method: ProbeMethod) {
    self.media = media
    self.method = method
  }
}
