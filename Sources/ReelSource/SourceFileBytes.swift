import FoundationEssentials
import ReelModel

/// A source file's bytes, as an uploader reads them.
public struct SourceFileBytes: ByteSource {
  private let file: SourceFile
  /// True when the file had been left alone for 2 seconds when hashing began.
  public let changesShow: Bool

  /// - Parameter hashedFrom: when hashing began, this time or, for a digest that was remembered, then.
  public init(_ file: SourceFile, hashedFrom: Date) {
    self.file = file
    changesShow = file.identity.isSettled(by: hashedFrom)
  }

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
