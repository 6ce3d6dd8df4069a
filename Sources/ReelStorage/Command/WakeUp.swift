import CReel
import Glibc
import ReelCore

/// Wakes a thread that waits in poll(2), from any other.
final class WakeUp: Sendable {
  /// Readable once ``ring()`` was called.
  let readable: Descriptor
  private let writable: Descriptor

  init() throws(SystemError) {
    (readable, writable) = try Channel.pipe()
  }

  /// Whether it was rung.
  var hasRung: Bool {
    var request = pollfd(fd: readable.rawValue, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, 0) > 0
  }

  /// May be called often, from anywhere.
  func ring() {
    var byte: UInt8 = 1
    _ = write(writable.rawValue, &byte, 1)
  }
}

/// Pairs of descriptors, closed on exec.
enum Channel {
  static func pipe() throws(SystemError) -> (reading: Descriptor, writing: Descriptor) {
    try make(bothWays: false, "pipe2")
  }

  static func sockets() throws(SystemError) -> (Descriptor, Descriptor) {
    try make(bothWays: true, "socketpair")
  }

  private static func make(
    bothWays: Bool, _ call: String
  ) throws(SystemError) -> (Descriptor, Descriptor) {
    var ends: [Int32] = [-1, -1]
    let error = reel_command_channel(bothWays ? 1 : 0, &ends)
    guard error == 0 else { throw SystemError(code: -error, call: call) }
    return (Descriptor(adopting: ends[0]), Descriptor(adopting: ends[1]))
  }
}
