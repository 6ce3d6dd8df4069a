import ReelCore

/// A source file's bytes, as an uploader reads them.
public struct SourceFileBytes: ByteSource {
  private let file: SourceFile

  /// The bytes of `file`, which anybody may change.
  public init(_ file: SourceFile) {
    self.file = file
  }

  /// No.
  public var isPrivate: Bool { false }

  /// The source file itself.
  public var descriptor: Int32? { file.handle.descriptor }

  /// Gives less than `buffer.count` only at the end. Blocks.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    try file.handle.read(into: buffer, at: offset)
  }

  /// Throws `sourceChanged` when inode, size or a time of the file is another than when it was opened.
  /// Blocks.
  public func checkUnchanged() throws(SourceError) {
    guard try file.handle.currentIdentity() == file.identity else { throw .changed }
  }
}
