import Glibc

/// A file descriptor that closes itself when nobody holds it any more.
package final class Descriptor: Sendable {
  /// The number; good as long as this object lives, so pass the object, not the number, to what outlives a
  /// call.
  package let rawValue: Int32

  /// Takes `rawValue` over: it is closed when this goes.
  package init(adopting rawValue: Int32) {
    self.rawValue = rawValue
  }

  deinit {
    close(rawValue)
  }
}

extension Descriptor {
  /// Opens `path`, for this process alone: no program that it starts inherits it. Blocks.
  /// - Parameters:
  ///   - mode: of a file that is made.
  ///   - folder: the number of the open folder that a relative path begins in; the working folder's otherwise.
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

  /// How many this process may have open at once (`RLIMIT_NOFILE`).
  package static var limit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }
}

extension Descriptor {
  /// From where it stands to the end of the file. Blocks.
  /// - Parameter limit: in bytes; of more only so many are read.
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
      // Some of FUSE take nothing and say no error.
      guard count > 0 else { throw SystemError(code: EIO, call: "write") }
      rest = rest.dropFirst(count)
    }
  }

  /// What fstat(2) says of the open file. Blocks.
  package func status() throws(SystemError) -> stat {
    var status = stat()
    _ = try retryingInterrupts("fstat") { fstat(rawValue, &status) }
    return status
  }

  /// Makes the bytes of the open file durable. Blocks.
  package func sync() throws(SystemError) {
    _ = try retryingInterrupts("fsync") { fsync(rawValue) }
  }

  /// Makes the names in an open folder durable. Blocks. A file system that can't sync a folder (EINVAL: some of a
  /// network) has nothing to make durable.
  package func syncFolder() throws(SystemError) {
    do {
      try sync()
    } catch  where error.code == EINVAL {
    }
  }
}

/// Fills `buffer` from `offset` of an open file on; gives how many bytes, fewer than fit only at the end. Blocks.
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

/// Writes all of `bytes` from `offset` of an open file on. Blocks.
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
