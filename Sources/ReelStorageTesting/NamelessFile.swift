import Glibc

/// A file without a name: it is gone when nobody holds it any more.
final class NamelessFile: Sendable {
  let descriptor: Int32

  init(_ bytes: [UInt8], in folder: String) throws {
    var template = Array((folder + "/reel-promise-XXXXXX").utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Difference(detail: "no file can be made in \(folder)") }
    unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      guard count > 0 else { throw Difference(detail: "no file can be written in \(folder)") }
      written += count
    }
  }

  deinit {
    close(descriptor)
  }
}
