import Glibc
import ReelCore

/// A file that holds a key: nobody but its owner may read it. Its calls block.
struct KeyFile {
  let path: String

  /// Bytes of the largest one; Google's have less than three thousand.
  private static let largest = 64 << 10

  /// - Throws: `storeUnusable`.
  func contents() throws(UploadError) -> [UInt8] {
    let descriptor: Descriptor
    var status = stat()
    do throws(SystemError) {
      descriptor = Descriptor(
        adopting: try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) })
      _ = try retryingInterrupts("fstat") { fstat(descriptor.rawValue, &status) }
    } catch {
      throw error.code == ENOENT
        ? .badKey(path, "is not there: name another with --service-account") : unreadable(error)
    }
    if let objection = objection(to: status) { throw .badKey(path, objection) }
    do throws(SystemError) {
      return try read(descriptor)
    } catch {
      throw unreadable(error)
    }
  }

  private func objection(to status: stat) -> String? {
    guard status.st_mode & S_IFMT == S_IFREG else { return "is not a regular file" }
    guard status.st_mode & 0o077 == 0 else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      return "can be read or changed by others (its mode is \(mode)): make it yours alone with chmod 600"
    }
    return status.st_size > Self.largest ? "has \(status.st_size) bytes, which no key has" : nil
  }

  private func unreadable(_ error: SystemError) -> UploadError {
    .badKey(path, "can't be read (\(error.reason)): check its owner and its mode")
  }

  private func read(_ descriptor: Descriptor) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
    defer { piece.deallocate() }
    while bytes.count < Self.largest {
      let count = try retryingInterrupts("read") {
        Glibc.read(descriptor.rawValue, piece.baseAddress, piece.count)
      }
      if count == 0 { break }
      bytes += piece[..<count]
    }
    return bytes
  }
}

extension UploadError {
  /// - Parameter reason: the end of a sentence that begins with the file; nothing of what is in it.
  static func badKey(_ path: String, _ reason: String) -> UploadError {
    UploadError(.storeUnusable, "the service account key \(path) \(reason)")
  }
}
