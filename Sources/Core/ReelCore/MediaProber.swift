/// Reads what a file really is.
///
/// Its calls block, for as long as a file's deadline: they are for threads that may.
public protocol MediaProber: Sendable {
  /// What `file` says about itself. An unknown fact is `nil`, never zero.
  ///
  /// The file is read by position through its descriptor; its name is not looked at.
  /// - Parameters:
  ///   - container: what ``firstLook(at:)`` has told of the file: its first bytes are not looked at again.
  ///   - patience: how long to wait for the facts, not counting what a reader takes to be there. A file that takes longer
  ///     may come back pending, for another thread to wait for. Nil: as long as it takes.
  ///   - cancellation: ends the reading and every wait, pending ones too.
  /// - Throws: ``ProbeError``; `cancelled` when `cancellation` is set.
  func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress

  /// Names the reader and its version; a remembered answer of another reader is not trusted.
  func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion

  /// Whether there is a reader at all, as far as that can be told without starting one.
  /// - Throws: an error of a code that is about the installation.
  func checkInstallation() throws(ProbeError)

  /// Looks at what can be seen of `file` without starting a reader.
  /// - Returns: the container that it begins like; nil when it takes a reader to tell.
  /// - Throws: what probing it would throw, when that can be told already.
  func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer?

  /// Names what ``firstLook(at:)`` goes by, so that what it refused may be remembered; nil when it tells nothing.
  var firstLookVersion: ReaderVersion? { get }

  /// Gets ready for `files` files that will most likely have to be read soon, and returns when it is. What goes
  /// wrong is said to the first file that is read.
  func warmUp(for files: Int) async
}

extension MediaProber {
  /// What `file` says about itself, however long that takes. Blocks.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer? = nil, cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeReport {
    switch try probe(file, sniffed: container, patience: nil, cancellation: cancellation) {
    case .done(let report): report
    case .pending(let probe): try probe.finish()
    }
  }

  /// Nothing to check.
  public func checkInstallation() throws(ProbeError) {}

  /// Nothing can be told.
  public func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer? { nil }

  /// There is no first look.
  public var firstLookVersion: ReaderVersion? { nil }

  /// Nothing to get ready.
  public func warmUp(for files: Int) async {}
}

/// How far the reading of a file has come.
public enum ProbeProgress: Sendable {
  /// The facts are there.
  case done(ProbeReport)
  /// It takes longer than the caller was willing to wait.
  case pending(any PendingProbe)
}

/// A file whose facts take longer. Given up when nobody holds it any more.
public protocol PendingProbe: Sendable {
  /// Waits for the facts. Blocks, for the file's deadline at most, once a reader is free; called once.
  /// - Throws: as ``MediaProber/probe(_:sniffed:patience:cancellation:)``.
  func finish() throws(ProbeError) -> ProbeReport
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

/// The facts of a file, and how they were read.
public struct ProbeReport: Hashable, Sendable, Codable {
  /// What the file says about itself.
  public var media: MediaInfo
  /// How that was found out.
  public var provenance: ProbeProvenance
  /// Why no shorter way was taken: for developers, and kept nowhere.
  public var reason: String?
  /// What tells each fact, where the file was read thoroughly; empty otherwise. Kept nowhere.
  public var evidence: [FactEvidence] = []
  /// For commands that write the file anew. Kept nowhere.
  package var rewriting = RewritingFacts()

  private enum CodingKeys: CodingKey {
    case media, provenance
  }

  /// Facts and how they were read.
  public init(
    media: MediaInfo, provenance: ProbeProvenance, reason: String? = nil, evidence: [FactEvidence] = []
  ) {
    self.media = media
    self.provenance = provenance
    self.reason = reason
    self.evidence = evidence
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
  /// The container's header, confirmed by the bitstream's own headers in one packet.
  case header
  /// The container's packets, and the bitstream's own headers in the first of them; no picture was decoded.
  case packets
  /// FFmpeg's full `avformat_find_stream_info`.
  case full
  /// Every packet, and a decoder for the first picture and the first frame of each sound.
  case thorough
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
