import Glibc

/// The service manager that started this process and wants to know its state: systemd, by sd_notify(3).
package struct ServiceManager: Sendable {
  private let socket: String?
  private let watchdog: Duration?

  private static let alive = "WATCHDOG=1"
  /// The environment variables that it reads.
  package static let variables = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"]

  package init(environment: [String: String]) {
    socket = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
    let isOurs = environment["WATCHDOG_PID"].flatMap { Int32($0) }.map { $0 == getpid() } ?? true
    watchdog = isOurs ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.map { .microseconds($0) } : nil
  }

  package static var monotonicMicroseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }

  /// Starts reporting that the process is alive, twice per watchdog interval; nil if no service manager asked for it.
  package func beginWatchdog() -> Task<Void, Never>? {
    guard let watchdog, watchdog > .zero, socket != nil else { return nil }
    return Task {
      while !Task.isCancelled {
        tell(Self.alive)
        _ = try? await Task.sleep(for: watchdog / 2)
      }
    }
  }

  /// Sends one datagram. While the receiver's queue is full, retries for one second; a sign of life is not retried.
  package func tell(_ words: String) {
    guard let socket else { return }
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(socket.utf8)
    // A leading @ stands for an abstract socket, whose name begins with a null byte (unix(7)).
    if path.first == UInt8(ascii: "@") { path[0] = 0 }
    guard path.count <= MemoryLayout.size(ofValue: address.sun_path) else { return }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let length = MemoryLayout<sa_family_t>.size + path.count
    let bytes = Array(words.utf8)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        for _ in 0..<(words == Self.alive ? 1 : 100) {
          let sent = sendto(
            descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, socklen_t(length))
          guard sent < 0, errno == EAGAIN else { return }
          usleep(10_000)
        }
      }
    }
  }
}
