/// The facts of a file, and how they were read.
public struct ProbeReport: Hashable, Sendable, Codable {
  /// What the file says about itself.
  public var media: MediaInfo
  /// How that was found out.
  public var provenance: ProbeProvenance

  /// Facts and how they were read.
  public init(media: MediaInfo, provenance: ProbeProvenance) {
    self.media = media
    self.provenance = provenance
  }
}

/// How facts were read: by which way, how far confined, by which FFmpeg.
public struct ProbeProvenance: Hashable, Sendable, Codable {
  /// How much of the file was read.
  public var method: ProbeMethod
  /// How far the process that read it was confined.
  public var isolation: IsolationLevel
  /// The version of libavformat that read it, such as `59.27.100`.
  public var ffmpeg: String

  /// How a reading was made.
  public init(method: ProbeMethod, isolation: IsolationLevel, ffmpeg: String) {
    self.method = method
    self.isolation = isolation
    self.ffmpeg = ffmpeg
  }
}

/// The way a file was read.
public enum ProbeMethod: String, Codable, Sendable, CaseIterable {
  /// The container's header only, witnessed by the codec's parser.
  case header
  /// FFmpeg's full `avformat_find_stream_info`.
  case full
}

/// How far the reading process was confined.
public enum IsolationLevel: String, Codable, Sendable, CaseIterable {
  /// Not at all (`--isolation none`).
  case none
  /// A process of its own with resource limits, nothing more.
  case limits
  /// Limits and a system call filter.
  case seccomp
  /// Limits and Landlock.
  case landlock
  /// Limits, Landlock and a system call filter.
  case full = "landlock+seccomp"
  /// All of that, in a process that reads this one file and no other.
  case strict = "landlock+seccomp+fresh"
}
