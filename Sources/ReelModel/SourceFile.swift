/// A file that was opened once and is held open: what is hashed is what is probed is what is uploaded,
/// whatever happens to its name meanwhile.
public struct SourceFile: Sendable {
  /// The path as the user or the walk named it; for people, never opened again.
  public let path: SourcePath
  /// The state of the file when it was opened.
  public let identity: FileIdentity
  /// The open file.
  public let handle: any SourceHandle

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
}

/// Why a source could not be opened or read.
public struct SourceError: Error, Hashable, Sendable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// No such file.
    case notFound
    /// No permission to open or read it.
    case denied
    /// A directory where a file was expected.
    case isDirectory
    /// A FIFO, socket or device.
    case notRegular
    /// A symbolic link, and links are not followed.
    case isLink
    /// A chain of links that never ends, or a path that leaves the given root.
    case outsideRoot
    /// The file changed between opening and publishing.
    case sourceChanged
    /// The disk or the file system gave an error.
    case unreadable
    /// No descriptors left in this process or on this machine.
    case tooManyOpenFiles
    /// A name that no file system call accepts (too long, or an embedded NUL).
    case invalidName
    /// A sidecar or caption list that is not what it should be.
    case sidecarInvalid
  }
  public let code: Code
  /// What went wrong, with which file, and what to do; one sentence for people.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
