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

/// Why a file could not be read as media. One file's end: the batch goes on, except for the codes that
/// ``Code/isInstallation`` names.
public struct ProbeError: ReelError, Hashable, Sendable, Codable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// Not media at all: text, a picture, an archive, a program, …
    case notMedia
    /// A playlist or manifest that names other files.
    case playlist
    /// Media of a kind that Reel does not take in.
    case unsupported
    /// Cut off so early that it cannot be opened.
    case truncated
    /// An MP4 or its kin without its index (`moov`), or with a part of it: never finished, cut off, or a segment of
    /// a stream.
    case indexMissing
    /// Claims to be a container, and breaks its rules.
    case corrupt
    /// Took longer than the deadline.
    case timeout
    /// Asked for more memory than a file may.
    case memoryLimit
    /// The reading process died of it.
    case crashed
    /// The reading process tried something that it may not.
    case sandboxViolation
    /// What the reader says cannot be true, or contradicts the first bytes.
    case implausible
    /// The file changed while it was read.
    case sourceChanged
    /// The file could not be read from its disk.
    case unreadable
    /// No bytes.
    case empty
    /// A Git LFS pointer, not the file itself.
    case lfsPointer
    /// `reel-probe-worker` is missing or of another version.
    case workerMissing
    /// Every worker dies at start.
    case workerBroken
    /// Less confinement than `--isolation strict` demands.
    case isolationUnavailable
    /// The run was cancelled.
    case cancelled
    /// No descriptors left in this process or on this machine.
    case tooManyOpenFiles
    /// No process could be started to read it, for lack of processes or memory.
    case noReader
    /// Nothing in it can be shown: it only points at other files, which hold the pictures and the sound.
    case externalMedia
    /// To say what it is, more of a file that lies elsewhere would have to be read than may be (`--max-read`).
    case readLimit

    /// Whether this says something about the file itself, so that it may be remembered for the same bytes.
    public var isAboutTheBytes: Bool {
      switch self {
      case .notMedia, .playlist, .unsupported, .truncated, .indexMissing, .corrupt, .empty, .lfsPointer,
        .externalMedia:
        true
      default: false
      }
    }

    /// Whether no other file will fare better: the run ends.
    public var isInstallation: Bool {
      switch self {
      case .workerMissing, .workerBroken, .isolationUnavailable: true
      default: false
      }
    }
  }
  private enum CodingKeys: String, CodingKey {
    case code, found
    case text = "message"
  }

  /// What it is, for programs.
  public let code: Code
  /// What it is instead, as a noun with its article, where that is known: "an HLS playlist".
  public let found: String?
  /// What went wrong and what to do, without the file's name; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// An error. `message` follows the file's name when it is shown: "clip.mp4: it is an HLS playlist …".
  public init(_ code: Code, _ message: ErrorMessage, found: String? = nil) {
    self.code = code
    text = message
    self.found = found
  }

  /// An error with a message that is text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String, found: String? = nil) {
    self.init(code, ErrorMessage(message), found: found)
  }
}

extension ProbeError {
  /// What is said of every file that points at others, whether its facts could be read or not.
  package static let externalMedia = ProbeError(
    .externalMedia,
    "its pictures or sound lie in other files, to which it only points; export it as a self-contained movie",
    found: "a movie that points at other files")
}
