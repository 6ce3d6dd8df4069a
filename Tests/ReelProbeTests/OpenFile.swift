import Foundation
import Glibc
import ReelCore
import ReelProbe

extension ReadingLimits {
  /// With more time than a file needs, because a machine that has much to do may stand still for a while.
  static let patient = ReadingLimits(seconds: 600)
}

/// A file opened for a test, closed when it goes.
final class OpenFile {
  let descriptor: Int32
  let size: Int64

  /// Nil when there is no such file.
  init?(_ path: String) {
    descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0 else { return nil }
    size = Int64(status.st_size)
  }

  /// A file without a name that holds `bytes`.
  init?(holding bytes: [UInt8]) {
    var name = Array((NSTemporaryDirectory() + "/reel-probe-test-XXXXXX").utf8CString)
    descriptor = mkstemp(&name)
    unlink(name)
    guard descriptor >= 0, pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else { return nil }
    size = Int64(bytes.count)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Every byte.
  var allBytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(size))
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(0, count)))
  }

  /// What the first bytes show; nil for what is none of Reel's containers.
  var sniffed: MediaContainer? {
    var head = [UInt8](repeating: 0, count: Sniffer.headLength)
    let count = pread(descriptor, &head, head.count, 0)
    guard
      case .container(let container) = Sniffer.verdict(head: Array(head.prefix(max(0, count))), size: size)
    else { return nil }
    return container
  }

  func read(
    as container: MediaContainer, limits: ReadingLimits = .patient, alwaysFull: Bool = false,
    by ways: Set<ProbeMethod>? = nil
  ) throws(ProbeError) -> Reading {
    try FFmpegReader(limits: limits, ways: ways ?? (alwaysFull ? [.full] : FFmpegReader.quickWays)).read(
      .descriptor(descriptor), size: size, container: container)
  }
  /// As a worker reads a file that it has no descriptor of.
  func readFromAfar(as container: MediaContainer) throws(ProbeError) -> Reading {
    let descriptor = descriptor
    return try FFmpegReader(limits: .patient).read(
      .asking { buffer, offset, _ in pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) },
      size: size, container: container)
  }
}
