import Glibc
import ReelCore

/// A regular file that is open for reading.
public final class OpenedFile: SourceHandle {
  private let open: Descriptor

  init(descriptor: Descriptor) {
    open = descriptor
  }

  /// Open as long as this lives.
  public var descriptor: Int32? { open.rawValue }

  /// Fills `buffer` as far as the file goes: it gives less than `buffer.count` only at the end. Blocks.
  /// - Throws: `unreadable` when the disk fails.
  public func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(SourceError) -> Int {
    var filled = 0
    do {
      while filled < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        let count = try open.holding { number throws(SystemError) in
          try retryingInterrupts("pread") {
            pread(number, rest.baseAddress, rest.count, off_t(offset) + filled)
          }
        }
        if count == 0 { break }
        filled += count
      }
    } catch {
      throw SourceError(error)
    }
    return filled
  }

  /// Blocks, as long as `fstat` does.
  public func currentIdentity() throws(SourceError) -> FileIdentity {
    try FileStatus(of: open).identity
  }

  /// By `fstat`, in blocks of 512 bytes. Blocks.
  public func storedBytes() -> Int64? {
    var status = stat()
    guard open.holding({ fstat($0, &status) }) == 0 else { return nil }
    return Int64(status.st_blocks) * 512
  }

  /// Tells the kernel that the file will be read from its beginning to its end.
  func willBeReadInOrder() {
    open.holding { _ = posix_fadvise($0, 0, 0, POSIX_FADV_SEQUENTIAL) }
  }
}

extension SourceHandle {
  /// The first `count` bytes, or all when there are fewer. Blocks.
  func head(_ count: Int) throws(SourceError) -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled throws(SourceError) in
      filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
    }
  }
}
