/// Why a source could not be opened or read.
public struct SourceError: ReelError, Hashable, Sendable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// No such file.
    case notFound
    /// No permission to open or read it.
    case denied
    /// A folder where a file was expected.
    case isDirectory
    /// A FIFO, socket or device.
    case notRegular
    /// A symbolic link, or a path through one, and links are not followed.
    case isLink
    /// A path that leaves the given root, a chain of links that never ends, or Reel's own library or
    /// destination.
    case outsideRoot
    /// The file changed between opening and publishing.
    case sourceChanged
    /// The disk or the file system gave an error.
    case unreadable
    /// No descriptors left in this process or on this machine.
    case tooManyOpenFiles
    /// A name that no file system call accepts: empty, too long, or with an embedded NUL.
    case invalidName
    /// A sidecar or caption list that is not what it should be.
    case sidecarInvalid
    /// More of it would have to be read than may be: of a file that lies elsewhere, to say what it is; of one that is nearly
    /// all holes, to read it whole.
    case readLimit
  }
  /// What it is, for programs.
  public let code: Code
  /// What went wrong and what to do, without the file's name, which the view puts in; one sentence for
  /// people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// An error. `message` follows the file's name when it is shown: "clip.mp4: it is a folder".
  public init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  /// An error with a message that is text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String) {
    self.init(code, ErrorMessage(message))
  }
}
