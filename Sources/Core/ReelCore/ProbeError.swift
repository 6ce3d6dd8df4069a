/// Why a file could not be read as media. The error concerns only this file, and the batch continues, except for
/// the codes that ``Code/isInstallation`` covers.
public struct ProbeError: ReelError, Hashable, Sendable, Codable {
  /// Error codes for programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// Not media at all: text, a picture, an archive, a program, …
    case notMedia
    /// A playlist or manifest that names other files.
    case playlist
    /// Media of a kind that Reel does not ingest.
    case unsupported
    /// The file is cut off so early that it cannot be opened.
    case truncated
    /// An MP4 or related file whose index (`moov`) is missing or incomplete: never finished, cut off, or a segment
    /// of a stream.
    case indexMissing
    /// It claims to be a container but breaks the container's rules.
    case corrupt
    /// Reading took longer than the deadline.
    case timeout
    /// Reading it requires more memory than a file may use.
    case memoryLimit
    /// The file crashed the reading process.
    case crashed
    /// The reading process attempted something forbidden.
    case sandboxViolation
    /// What the reader reports cannot be true, or contradicts the first bytes.
    case implausible
    /// The file changed while it was read.
    case sourceChanged
    /// The file could not be read from its disk.
    case unreadable
    /// The file has no bytes.
    case empty
    /// A Git LFS pointer, not the file itself.
    case lfsPointer
    /// `reel-probe-worker` is missing or of another version.
    case workerMissing
    /// Every worker dies when it starts.
    case workerBroken
    /// The system offers less confinement than `--isolation strict` demands.
    case isolationUnavailable
    /// The run was cancelled.
    case cancelled
    /// This process or the machine has run out of file descriptors.
    case tooManyOpenFiles
    /// No process could be started to read it, because processes or memory ran out.
    case noReader
    /// The file contains nothing to show: it only refers to other files, which hold the pictures and sound.
    case externalMedia
    /// Identifying the remote file would require reading more of it than is allowed (`--max-read`).
    case readLimit

    /// Whether this says something about the bytes themselves, so that it may be remembered for the same bytes.
    public var isAboutTheBytes: Bool {
      switch self {
      case .notMedia, .playlist, .unsupported, .truncated, .indexMissing, .corrupt, .empty, .lfsPointer,
        .externalMedia:
        true
      default: false
      }
    }

    /// Whether every other file would fail in the same way, so that the run ends.
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

  /// The code, for programs.
  public let code: Code
  /// What the file is instead, if known, as a noun with its article: "an HLS playlist".
  public let found: String?
  /// What went wrong and what to do, without the file's name; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// Creates an error. `message` follows the file's name when it is shown: "clip.mp4: it is an HLS playlist …".
  public init(_ code: Code, _ message: ErrorMessage, found: String? = nil) {
    self.code = code
    text = message
    self.found = found
  }

  /// Creates an error whose message is plain text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String, found: String? = nil) {
    self.init(code, ErrorMessage(message), found: found)
  }
}

extension ProbeError {
  /// The error for every file that refers to others, whether or not its facts could be read.
  package static let externalMedia = ProbeError(
    .externalMedia,
    "its pictures or sound lie in other files, to which it only points; export it as a self-contained movie",
    found: "a movie that points at other files")
}
