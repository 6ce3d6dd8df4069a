import ReelModel

/// The facts of one file, and the way they were found.
public struct Reading: Hashable, Sendable {
  public var media: MediaInfo
  public var method: ProbeMethod

  public init(media: MediaInfo, method: ProbeMethod) {
    self.media = media
    self.method = method
  }
}
