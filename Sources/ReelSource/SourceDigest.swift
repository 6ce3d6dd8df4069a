import ReelCore
import ReelCrypto

/// The SHA-256 of a file's bytes.
public enum SourceDigest {
  /// How much is read at a time, in bytes: enough that system calls cost nothing beside hashing, and no more
  /// than stays in a core's cache.
  private static let chunk = 256 * 1024

  /// Reads the whole file. Blocks, for as long as the disk takes.
  ///
  /// - Parameters:
  ///   - isCancelled: asked before each chunk.
  ///   - progress: called after each chunk with the number of bytes read so far.
  /// - Returns: nil when it was cancelled.
  /// - Throws: `sourceChanged` when the file is not what it was when it was opened; `unreadable`.
  public static func sha256(
    of file: SourceFile, isCancelled: () -> Bool = { false }, progress: (Int64) -> Void = { _ in }
  ) throws(SourceError) -> ContentDigest? {
    if file.size > Int64(chunk) { (file.handle as? OpenedFile)?.willBeReadInOrder() }
    // Most files that are not videos are small: no more memory than the file is long.
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(min(Int64(chunk), max(1, file.size + 1))), alignment: 64)
    defer { buffer.deallocate() }
    var hasher = SHA256()
    var offset: Int64 = 0
    while !isCancelled() {
      let count = try file.handle.read(into: buffer, at: offset)
      guard count > 0 else { return try digest(hasher.finalize(), of: file, length: offset) }
      hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      guard offset <= file.size else { throw .changed }
      progress(offset)
    }
    return nil
  }

  private static func digest(
    _ hash: [UInt8], of file: SourceFile, length: Int64
  ) throws(SourceError) -> ContentDigest? {
    guard length == file.size, try file.handle.currentIdentity() == file.identity else { throw .changed }
    return ContentDigest(sha256: hash)
  }
}
