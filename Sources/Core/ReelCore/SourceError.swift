/// Why a source could not be opened or read.
public struct SourceError: ReelError, Hashable, Sendable {
  /// Error codes for programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// No such file.
    case notFound
    /// No permission to open or read it.
    case denied
    /// A folder where a file was expected.
    case isDirectory
    /// A FIFO, socket or device.
    case notRegular
    /// A symbolic link, or a path through one, although links are not followed.
    case isLink
    /// A path that leaves the given root, follows an endless chain of links, or lies in Reel's own library or
    /// destination.
    case outsideRoot
    /// The file changed between opening and publishing.
    case sourceChanged
    /// The disk or the file system reported an error.
    case unreadable
    /// This process or the machine has run out of file descriptors.
    case tooManyOpenFiles
    /// A name that no file system call accepts: empty, too long, or with an embedded NUL.
    case invalidName
    /// A sidecar or caption list with invalid content.
    case sidecarInvalid
    /// More would have to be read than is allowed: of a remote file, to identify it; of a file that is nearly all
    /// holes, to read it whole.
    case readLimit
  }
  /// The code, for programs.
  public let code: Code
  /// What went wrong and what to do, without the file's name, which the view adds; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// Creates an error. `message` follows the file's name when it is shown: "clip.mp4: it is a folder".
  public init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  /// Creates an error whose message is plain text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String) {
    self.init(code, ErrorMessage(message))
  }
}
