import Glibc

/// The reader of what we print went away.
struct OutputClosed: Error {}

/// A descriptor that text goes to.
struct OutputStream: Sendable {
  let descriptor: Int32

  static let standardOutput = OutputStream(descriptor: STDOUT_FILENO)
  static let standardError = OutputStream(descriptor: STDERR_FILENO)

  /// Writes all of `text`. Blocks as long as the reader does.
  /// - Throws: ``OutputClosed`` when nobody reads any more; ``CommandFailure`` when it can't be written.
  func write(_ text: String) throws {
    var text = text
    try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
  }

  /// Writes all of `bytes`.
  func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try write($0) }
  }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        waitUntilWritable()
      } else if errno != EINTR {
        throw failure(errno)
      }
    }
  }

  /// Somebody else may have made the descriptor they share with us non-blocking.
  private func waitUntilWritable() {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }

  private func failure(_ code: Int32) -> any Error {
    if code == EPIPE { return OutputClosed() }
    return CommandFailure(.couldNotRun, "the output can't be written: \(String(cString: strerror(code)))")
  }
}
