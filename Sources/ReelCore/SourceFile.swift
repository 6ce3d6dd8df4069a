/// A file that was opened once and is held open, whatever happens to its name meanwhile.
public struct SourceFile: Sendable {
  /// The path as the user or the walk named it; for people, never opened again.
  public let path: SourcePath
  /// The state of the file when it was opened.
  public let identity: FileIdentity
  /// The open file.
  public let handle: any SourceHandle

  /// A file that was opened. `identity` is that of `handle`, taken right after opening.
  public init(path: SourcePath, identity: FileIdentity, handle: any SourceHandle) {
    self.path = path
    self.identity = identity
    self.handle = handle
  }

  /// Size in bytes when it was opened.
  public var size: Int64 { identity.size }
}

/// An open file, read by position only, so that several readers share it without a cursor between them.
public protocol SourceHandle: Sendable {
  /// The descriptor, for code that passes it to the kernel or to another process; it stays open as long as
  /// this handle lives. Nil for a double that has none.
  var descriptor: Int32? { get }

  /// Reads up to `buffer.count` bytes at `offset`. Returns 0 at the end. Blocks: call it off the
  /// cooperative pool.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int

  /// The file's state now. Blocks.
  func currentIdentity() throws(SourceError) -> FileIdentity

  /// Bytes that it takes up on its disk: fewer than its size where it has holes. Nil where that can't be told. Blocks.
  func storedBytes() -> Int64?
}

extension SourceHandle {
  /// It can't be told.
  public func storedBytes() -> Int64? { nil }
}

/// Why a source could not be opened or read.
public struct SourceError: Error, Hashable, Sendable {
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
  }
  /// What it is, for programs.
  public let code: Code
  /// What went wrong and what to do, without the file's name, which the view puts in; one sentence for
  /// people.
  public let message: String

  /// An error. `message` follows the file's name when it is shown: "clip.mp4: it is a folder".
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
