import ReelCore

/// A source of bytes in memory, which a test can let change or fail.
package struct MemoryBytes: ByteSource {
  package let bytes: [UInt8]
  package var hasChanged: Bool
  package var failsAt: Int64?
  package var descriptor: Int32? { nil }
  package var isPrivate: Bool { false }

  /// - Parameters:
  ///   - hasChanged: whether it reports that it has changed meanwhile.
  ///   - failsAt: the offset beyond which nothing can be read.
  package init(bytes: [UInt8], hasChanged: Bool = false, failsAt: Int64? = nil) {
    (self.bytes, self.hasChanged, self.failsAt) = (bytes, hasChanged, failsAt)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    if let failsAt, offset + Int64(buffer.count) > failsAt {
      throw SourceError(.unreadable, "the disk (a test)")
    }
    let part = bytes.dropFirst(Int(offset)).prefix(buffer.count)
    buffer.copyBytes(from: part)
    return part.count
  }

  package func checkUnchanged() throws(SourceError) {
    if hasChanged { throw SourceError(.sourceChanged, "the file changed (a test)") }
  }
}
