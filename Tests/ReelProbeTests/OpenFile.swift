import Foundation
import Glibc
import ReelCore
import ReelProbe

extension ReadingLimits {
  /// More time than a file needs, because a busy machine may stall for a while.
  static let patient = ReadingLimits(seconds: 600)
}

/// An open file for a test, closed with this value.
final class OpenFile {
  let descriptor: Int32
  let size: Int64

  /// Nil if there is no such file.
  init?(_ path: String) {
    descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0 else { return nil }
    size = Int64(status.st_size)
  }

  /// An unnamed file that contains `bytes`.
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

  /// By which other programs can open it, too.
  var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

  /// All bytes of the file.
  var allBytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(size))
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(0, count)))
  }

  /// The container that the first bytes reveal; nil if Reel does not support it.
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
  /// Reads the file as a worker without its descriptor does.
  func readFromAfar(as container: MediaContainer) throws(ProbeError) -> Reading {
    let descriptor = descriptor
    return try FFmpegReader(limits: .patient).read(
      .asking { buffer, offset, _ in pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) },
      size: size, container: container)
  }
}
