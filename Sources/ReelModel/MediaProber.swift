/// Reads what a file really is.
public protocol MediaProber: Sendable {
  /// What `file` says about itself. An unknown fact is `nil`, never zero.
  ///
  /// The file is read by position through its descriptor; its name is not looked at.
  /// - Throws: ``ProbeError``; also when the surrounding task is cancelled (`cancelled`).
  func probe(_ file: SourceFile) async throws(ProbeError) -> ProbeReport

  /// The same for a file that ``firstLook(at:)`` has told the container of, without looking at its first bytes again.
  func probe(_ file: SourceFile, sniffed container: MediaContainer?) async throws(ProbeError) -> ProbeReport

  /// Names the reader and its version; a remembered answer of another reader is not trusted.
  func readerVersion() async throws(ProbeError) -> ReaderVersion

  /// Whether there is a reader at all, as far as that can be told without starting one.
  /// - Throws: an error of a code that is about the installation.
  func checkInstallation() async throws(ProbeError)

  /// Looks at what can be seen of `file` without starting a reader. Blocks while its first bytes are read.
  /// - Returns: the container that it begins like; nil when it takes a reader to tell.
  /// - Throws: what ``probe(_:)`` would throw, when that can be told already.
  func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer?

  /// Names what ``firstLook(at:)`` goes by, so that what it refused may be remembered; nil when it tells nothing.
  var firstLookVersion: ReaderVersion? { get }

  /// Gets ready for `files` files that will most likely have to be read soon, and returns when it is. What goes
  /// wrong is said to the first file that is read.
  func warmUp(for files: Int) async
}

extension MediaProber {
  /// Nothing to check.
  public func checkInstallation() async throws(ProbeError) {}

  /// Nothing can be told.
  public func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer? { nil }

  /// Looks for itself.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer?
  ) async throws(ProbeError) -> ProbeReport {
    try await probe(file)
  }

  /// There is no first look.
  public var firstLookVersion: ReaderVersion? { nil }

  /// Nothing to get ready.
  public func warmUp(for files: Int) async {}
}

/// The programs that read a file: remembered facts are theirs.
public struct ReaderVersion: Hashable, Sendable, Codable {
  /// Reel's version.
  public let reel: String
  /// libavformat's version, such as `59.27.100`; empty where it has no part in the answer.
  public let ffmpeg: String

  /// The versions of Reel and of libavformat.
  public init(reel: String, ffmpeg: String) {
    self.reel = reel
    self.ffmpeg = ffmpeg
  }

  /// What Reel of this version tells by a file's first bytes, without any FFmpeg.
  public static let firstBytes = ReaderVersion(reel: ReelVersion.current, ffmpeg: "")
}
