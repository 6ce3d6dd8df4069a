/// Reads what a file really is.
public protocol MediaProber: Sendable {
  /// What `file` says about itself. An unknown fact is `nil`, never zero.
  ///
  /// The file is read by position through its descriptor; its name is not looked at.
  /// - Throws: ``ProbeError``; also when the surrounding task is cancelled (`cancelled`).
  func probe(_ file: SourceFile) async throws(ProbeError) -> ProbeReport

  /// Names the reader and its version; a remembered answer of another reader is not trusted.
  func readerVersion() async throws(ProbeError) -> ReaderVersion
}

/// The programs that read a file: remembered facts are theirs.
public struct ReaderVersion: Hashable, Sendable, Codable {
  /// Reel's version.
  public let reel: String
  /// libavformat's version, such as `59.27.100`.
  public let ffmpeg: String

  /// The versions of Reel and of libavformat.
  public init(reel: String, ffmpeg: String) {
    self.reel = reel
    self.ffmpeg = ffmpeg
  }
}
