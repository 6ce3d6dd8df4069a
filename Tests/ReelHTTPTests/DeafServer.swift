import Glibc
import ReelCore

/// A server whose connections the kernel accepts, but from which nothing is ever read.
final class DeafServer: Sendable {
  let port: Int
  private let descriptor: Descriptor

  init() throws {
    let descriptor = Descriptor(
      adopting: try retryingInterrupts("socket") { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) })
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let raw = descriptor.rawValue
        _ = try retryingInterrupts("bind") { bind(raw, address, length) }
        _ = try retryingInterrupts("listen") { listen(raw, 8) }
        _ = try retryingInterrupts("getsockname") { getsockname(raw, address, &length) }
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    self.descriptor = descriptor
  }
}
