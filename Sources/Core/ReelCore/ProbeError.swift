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
