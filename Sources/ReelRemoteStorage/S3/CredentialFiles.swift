import Glibc
import ReelCore

/// Reads the small files that credentials lie in.
struct CredentialFiles: Sendable {
  private let queue = BlockingQueue(label: "reel.s3-credentials", width: 1)

  /// Nil when there is no such file; at most a mebibyte of it.
  func text(of path: String) async throws(SystemError) -> String? {
    try await queue.run { () throws(SystemError) in try Self.contents(of: path) }
  }

  private static func contents(of path: String) throws(SystemError) -> String? {
    let descriptor: Descriptor
    do throws(SystemError) {
      descriptor = Descriptor(
        adopting: try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) })
    } catch  where error.code == ENOENT || error.code == ENOTDIR {
      return nil
    } catch {
      throw error
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
    defer { buffer.deallocate() }
    var filled = 0
    while filled < buffer.count {
      let count = try retryingInterrupts("read") {
        read(descriptor.rawValue, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
      }
      if count == 0 { break }
      filled += count
    }
    return String(decoding: buffer[..<filled], as: UTF8.self)
  }
}
