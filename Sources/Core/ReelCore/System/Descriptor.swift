import Glibc

/// A file descriptor that is closed when the last reference to this object is released.
package final class Descriptor: Sendable {
  /// The number, which is valid as long as this object lives. Pass the object, not the number, to anything that
  /// outlives a call.
  package let rawValue: Int32

  /// Takes ownership of `rawValue`, which is closed with this object.
  package init(adopting rawValue: Int32) {
    self.rawValue = rawValue
  }

  deinit {
    close(rawValue)
  }
}

extension Descriptor {
  /// Opens `path` with close-on-exec, so that no program that this process starts inherits it. Blocks.
  /// - Parameters:
  ///   - mode: The mode of a file that is created.
  ///   - folder: The descriptor of the folder to which a relative path refers; nil for the working directory.
  package convenience init(
    opening path: String, _ flags: Int32, mode: mode_t = 0, in folder: Int32? = nil
  ) throws(SystemError) {
    let flags = flags | O_CLOEXEC
    let number =
      if let folder {
        try retryingInterrupts("openat") { openat(folder, path, flags, mode) }
      } else {
        try retryingInterrupts("open") { open(path, flags, mode) }
      }
    self.init(adopting: number)
  }

  /// How many descriptors this process may have open at once (`RLIMIT_NOFILE`).
  package static var limit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }
}

extension Descriptor {
  /// Reads from the current position to the end of the file. Blocks.
  /// - Parameter limit: The maximum number of bytes to read.
  package func readToEnd(limit: Int = .max) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: min(limit, 1 << 16))
    while bytes.count < limit {
      let count = try retryingInterrupts("read") {
        read(rawValue, &chunk, min(chunk.count, limit - bytes.count))
      }
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  /// Blocks until all of `bytes` is written.
  package func write(all bytes: some Collection<UInt8>) throws(SystemError) {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = try retryingInterrupts("write") {
        rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
      }
      // Some FUSE file systems accept nothing and report no error.
      guard count > 0 else { throw SystemError(code: EIO, call: "write") }
      rest = rest.dropFirst(count)
    }
  }

  /// The result of fstat(2) for the open file. Blocks.
  package func status() throws(SystemError) -> stat {
    var status = stat()
    _ = try retryingInterrupts("fstat") { fstat(rawValue, &status) }
    return status
  }

  /// Makes the bytes of the open file durable. Blocks.
  package func sync() throws(SystemError) {
    _ = try retryingInterrupts("fsync") { fsync(rawValue) }
  }

  /// Makes the names in an open folder durable. Blocks. A file system that cannot sync a folder (EINVAL: some
  /// network file systems) has nothing to make durable.
  package func syncFolder() throws(SystemError) {
    do {
      try sync()
    } catch  where error.code == EINVAL {
    }
  }
}

/// Fills `buffer` from an open file, starting at `offset`. Returns the number of bytes, which is less than fits
/// only at the end of the file. Blocks.
package func readFully(
  _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
) throws(SystemError) -> Int {
  var filled = 0
  while filled < buffer.count {
    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
    let count = try retryingInterrupts("pread") {
      pread(file, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
    }
    if count == 0 { break }
    filled += count
  }
  return filled
}

/// Writes all of `bytes` to an open file, starting at `offset`. Blocks.
package func writeFully(
  _ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
) throws(SystemError) {
  var done = 0
  while done < bytes.count {
    let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
    let count = try retryingInterrupts("pwrite") {
      pwrite(file, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
    }
    guard count > 0 else { throw SystemError(code: EIO, call: "pwrite") }
    done += count
  }
}
