/// Finds out what a file really is.
///
/// Its calls block, for up to a file's deadline, so call them only on threads that may block.
public protocol MediaProber: Sendable {
  /// Reads the facts of `file`. An unknown fact is `nil`, never zero.
  ///
  /// The file is read by position through its descriptor; its name is ignored.
  /// - Parameters:
  ///   - container: The result of ``firstLook(at:)``; the first bytes are not examined again.
  ///   - patience: How long to wait for the facts, not counting the time until a reader is available. A file that
  ///     takes longer may be returned as pending, for another thread to wait for. Nil waits as long as it takes.
  ///   - cancellation: Ends the reading and every wait, including those for pending files.
  /// - Throws: ``ProbeError``; `cancelled` if `cancellation` is set.
  func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress

  /// The name and version of the reader. Remembered answers of any other reader are not trusted.
  func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion

  /// Checks that there is a reader at all, as far as is possible without starting one.
  /// - Throws: An error whose code is about the installation.
  func checkInstallation() throws(ProbeError)

  /// Examines what can be seen of `file` without starting a reader.
  /// - Returns: The container that its first bytes indicate; nil if it takes a reader to tell.
  /// - Throws: The error that probing it would throw, if that is already certain.
  func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer?

  /// The version of ``firstLook(at:)``, so that its refusals can be remembered; nil if it never decides anything.
  var firstLookVersion: ReaderVersion? { get }

  /// Prepares to read `files` files that will most likely be requested soon, and returns when ready. Any error is
  /// reported with the first file that is read.
  func warmUp(for files: Int) async
}

extension MediaProber {
  /// Reads the facts of `file`, however long that takes. Blocks.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer? = nil, cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeReport {
    switch try probe(file, sniffed: container, patience: nil, cancellation: cancellation) {
    case .done(let report): report
    case .pending(let probe): try probe.finish()
    }
  }

  /// Checks nothing.
  public func checkInstallation() throws(ProbeError) {}

  /// Decides nothing.
  public func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer? { nil }

  /// Nil: there is no first look.
  public var firstLookVersion: ReaderVersion? { nil }

  /// Prepares nothing.
  public func warmUp(for files: Int) async {}
}

/// How far the probe of a file has got.
public enum ProbeProgress: Sendable {
  /// The facts are known.
  case done(ProbeReport)
  /// The probe takes longer than the caller was willing to wait.
  case pending(any PendingProbe)
}

/// A probe that is still running. It is abandoned when the last reference to it is released.
public protocol PendingProbe: Sendable {
  /// Waits for the facts. Call it once. It blocks for up to the file's deadline, counted from when a reader is
  /// available.
  /// - Throws: As ``MediaProber/probe(_:sniffed:patience:cancellation:)``.
  func finish() throws(ProbeError) -> ProbeReport
}

/// The versions of the programs that read a file. Remembered facts belong to them.
public struct ReaderVersion: Hashable, Sendable, Codable {
  /// Reel's version.
  public let reel: String
  /// libavformat's version, such as `59.27.100`; empty if it played no part in the answer.
  public let ffmpeg: String

  /// Creates a version from those of Reel and libavformat.
  public init(reel: String, ffmpeg: String) {
    self.reel = reel
    self.ffmpeg = ffmpeg
  }

  /// The reader behind what this version of Reel concludes from a file's first bytes, without FFmpeg.
  public static let firstBytes = ReaderVersion(reel: ReelVersion.current, ffmpeg: "")
}

/// The facts of a file, and how they were read.
public struct ProbeReport: Hashable, Sendable, Codable {
  /// The facts of the file.
  public var media: MediaInfo
  /// How the facts were read.
  public var provenance: ProbeProvenance
  /// Why no faster method was used; for developers. Not stored.
  public var reason: String?
  /// The evidence for each fact, if the file was read thoroughly; otherwise empty. Not stored.
  public var evidence: [FactEvidence] = []
  /// What commands that rewrite the file need to know. Not stored.
  package var rewriting = RewritingFacts()

  private enum CodingKeys: CodingKey {
    case media, provenance
  }

  /// Creates a report from facts and how they were read.
  public init(
    media: MediaInfo, provenance: ProbeProvenance, reason: String? = nil, evidence: [FactEvidence] = []
  ) {
    self.media = media
    self.provenance = provenance
    self.reason = reason
    self.evidence = evidence
  }
}

/// How facts were read: the method, the confinement of the reader, and the version of FFmpeg.
public struct ProbeProvenance: Hashable, Sendable, Codable {
  /// How much of the file was read.
  public var method: ProbeMethod
  /// How strictly the process that read it was confined.
  public var isolation: IsolationLevel
  /// The version of libavformat that read it, such as `59.27.100`.
  public var ffmpeg: String

  /// Creates a provenance from its parts.
  public init(method: ProbeMethod, isolation: IsolationLevel, ffmpeg: String) {
    self.method = method
    self.isolation = isolation
    self.ffmpeg = ffmpeg
  }
}

/// The method by which a file was read.
public enum ProbeMethod: String, Codable, Sendable, CaseIterable {
  /// The container's header, confirmed by the bitstream's own headers in one packet.
  case header
  /// The container's packets, and the bitstream's own headers in the first of them; no picture was decoded.
  case packets
  /// FFmpeg's full `avformat_find_stream_info`.
  case full
  /// Every packet, and a decoder for the first picture and for the first frame of each audio stream.
  case thorough
}

/// How strictly the reading process was confined.
public enum IsolationLevel: String, Codable, Sendable, CaseIterable {
  /// No confinement (`--isolation none`).
  case none
  /// A process of its own with resource limits, nothing more.
  case limits
  /// Resource limits and a system call filter.
  case seccomp
  /// Resource limits and Landlock.
  case landlock
  /// Resource limits, Landlock and a system call filter.
  case full = "landlock+seccomp"
  /// All of these, in a process that reads only this one file.
  case strict = "landlock+seccomp+fresh"
}
