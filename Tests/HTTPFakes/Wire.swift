import CWire
import Glibc
import ReelCore
import Synchronization

/// A TCP connection on this machine. Its calls block. It ends when its last reference is released.
package final class Wire: Sendable {
  private let socket: Descriptor
  private let tls: TLSSession?

  init(_ socket: Descriptor, _ tls: TLSSession? = nil) { (self.socket, self.tls) = (socket, tls) }

  deinit { tls?.end() }

  /// A connection to a server on 127.0.0.1.
  package init(to port: Int) throws {
    let socket = try Descriptor.tcpSocket()
    var address = sockaddr_in.loopback(port: port)
    try withUnsafePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = try retryingInterrupts("connect") {
          connect(socket.rawValue, address, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    socket.sendAtOnce()
    (self.socket, tls) = (socket, nil)
  }

  /// The next bytes; none at the end of the connection, however it comes about.
  package func read() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
      if let tls {
        count = tls.read(UnsafeMutableRawBufferPointer(buffer))
      } else {
        repeat {
          count = recv(socket.rawValue, buffer.baseAddress, buffer.count, 0)
        } while count < 0
          && errno == EINTR
        count = max(0, count)
      }
    }
  }

  /// Sends all of `bytes`.
  /// - Throws: ``WireEnded`` when the other side takes nothing more.
  package func write(_ bytes: [UInt8]) throws(WireEnded) {
    if let tls { return try tls.write(bytes) }
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(socket.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno != EINTR { throw WireEnded() }
      sent += max(0, count)
    }
  }

  /// Sends nothing more; what comes can still be read.
  package func endSending() { _ = shutdown(socket.rawValue, Int32(SHUT_WR)) }

  /// Ends the connection in both directions, so that a reader gets the end. May be called from any thread.
  package func shut() { _ = shutdown(socket.rawValue, Int32(SHUT_RDWR)) }

  /// Makes the connection end with RST, by a linger time of zero.
  package func willReset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      socket.rawValue, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  /// Waits until the other side has ended it, without reading.
  package func awaitEnd() { reel_wire_await_end(socket.rawValue) }

  func secured(by identity: TLSIdentity) -> Wire? {
    identity.session(on: socket.rawValue).map { Wire(socket, $0) }
  }
}

/// The other side takes nothing more.
package struct WireEnded: Error {}

/// Listens on a free port of 127.0.0.1, with a thread for every connection.
package final class WireListener: Sendable {
  package let port: Int
  private let socket: Descriptor
  private let open = OpenWires()

  /// The number of open connections.
  package var count: Int { open.count }

  /// Waits until every connection that was made before has been served. For use after the client is gone.
  package func settle() async throws {
    // Connections are accepted in order: when this one has ended, none of those before waits for it.
    let last = try Wire(to: port)
    last.endSending()
    try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
      do {
        try onThread {
          last.awaitEnd()
          ended.resume()
        }
      } catch {
        ended.resume(throwing: error)
      }
    }
    while count > 0 { try await Task.sleep(for: .milliseconds(2)) }
  }

  /// - Parameters:
  ///   - identity: for TLS; nil for plain connections.
  ///   - serve: called with each connection, on a thread of its own; when it returns, the connection ends.
  package init(_ identity: TLSIdentity? = nil, serve: @escaping @Sendable (Wire) -> Void) throws {
    socket = try Descriptor.tcpSocket()
    port = try socket.listenOnLoopback(backlog: 256)
    try onThread { [socket, open] in
      while true {
        let accepted = reel_wire_accept(socket.rawValue)
        guard accepted >= 0, let number = open.add(accepted) else { return }
        do {
          try onThread {
            open.use(number) { plain in
              guard let identity else { return serve(plain) }
              if let wire = plain.secured(by: identity) { serve(wire) }
            }
            open.remove(number)
          }
        } catch {
          // A connection for which no thread can be had just ends.
          open.remove(number)
        }
      }
    }
  }

  deinit { stop() }

  /// Ends it, and every connection.
  package func stop() {
    _ = shutdown(socket.rawValue, Int32(SHUT_RDWR))
    open.close()
  }
}

/// The open connections of a listener, which other threads can end. Nobody else keeps them: one that is no longer
/// counted is closed.
private final class OpenWires: Sendable {
  private struct State: Sendable {
    var wires: [Int: Wire] = [:]
    /// How many are being closed.
    var ending = 0
    var next = 0
    var isClosed = false
  }
  private let state = Mutex(State())

  var count: Int { state.withLock { $0.wires.count + $0.ending } }

  /// Adopts the socket of a connection. Nil when the listener is closed.
  func add(_ socket: Int32) -> Int? {
    let client = Descriptor(adopting: socket)
    client.sendAtOnce()
    return state.withLock { state in
      guard !state.isClosed else { return nil }
      state.next += 1
      state.wires[state.next] = Wire(client)
      return state.next
    }
  }

  func use(_ number: Int, _ body: (Wire) -> Void) {
    if let wire = state.withLock({ $0.wires[number] }) { body(wire) }
  }

  func remove(_ number: Int) {
    take(number)
    state.withLock { $0.ending -= 1 }
  }

  /// Releases it, though not under the lock, as that closes the connection.
  private func take(_ number: Int) {
    _ = state.withLock { state in
      state.ending += 1
      return state.wires.removeValue(forKey: number)
    }
  }

  func close() {
    let open = state.withLock { state in
      state.isClosed = true
      return Array(state.wires.values)
    }
    for wire in open { wire.shut() }
  }
}

/// Runs `body` on a thread that blocks all signals.
package func onThread(_ body: @escaping @Sendable () -> Void) throws {
  let work = Unmanaged.passRetained(Work(body))
  var thread = pthread_t()
  let code = pthread_create(
    &thread, nil,
    { context in
      var all = sigset_t()
      sigfillset(&all)
      pthread_sigmask(SIG_BLOCK, &all, nil)
      if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
      return nil
    }, work.toOpaque())
  guard code == 0 else {
    work.release()
    throw SystemError(code: code, call: "pthread_create")
  }
  pthread_detach(thread)
}

private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

// MARK: Sockets

extension Descriptor {
  fileprivate static func tcpSocket() throws -> Descriptor {
    Descriptor(
      adopting: try retryingInterrupts("socket") {
        Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      })
  }

  fileprivate func sendAtOnce() {
    var on: Int32 = 1
    setsockopt(rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Starts listening, and returns the port.
  fileprivate func listenOnLoopback(backlog: Int32) throws -> Int {
    var on: Int32 = 1
    setsockopt(rawValue, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in.loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = try retryingInterrupts("bind") { bind(rawValue, address, length) }
        _ = try retryingInterrupts("listen") { listen(rawValue, backlog) }
        _ = try retryingInterrupts("getsockname") { getsockname(rawValue, address, &length) }
      }
    }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}

extension sockaddr_in {
  fileprivate static func loopback(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }
}

// MARK: TLS

/// A server's certificate and its key.
package final class TLSIdentity: @unchecked Sendable {
  // Sendable: OpenSSL's contexts may be used by several threads once they are made.
  private let server: UnsafeMutableRawPointer

  /// - Parameter isOld: whether it speaks nothing newer than TLS 1.1.
  package init(certificate: String, key: String, isOld: Bool = false) throws {
    guard let server = reel_tls_server(certificate, key, isOld ? 1 : 0) else { throw Unusable() }
    self.server = server
  }

  deinit { reel_tls_server_free(server) }

  fileprivate func session(on socket: Int32) -> TLSSession? {
    reel_tls_accept(server, socket).map { TLSSession($0) }
  }

  private struct Unusable: Error {}
}

/// A TLS session on a connection, used by one thread.
final class TLSSession: @unchecked Sendable {
  // Sendable: only the thread that made the handshake uses it.
  private let session: UnsafeMutableRawPointer

  fileprivate init(_ session: UnsafeMutableRawPointer) { self.session = session }

  deinit { reel_tls_free(session) }

  fileprivate func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let start = buffer.baseAddress else { return 0 }
    return reel_tls_read(session, start, buffer.count)
  }

  fileprivate func write(_ bytes: [UInt8]) throws(WireEnded) {
    if reel_tls_write(session, bytes, bytes.count) == 0 { throw WireEnded() }
  }

  fileprivate func end() { reel_tls_end(session) }
}
