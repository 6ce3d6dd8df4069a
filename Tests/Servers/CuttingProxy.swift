import Foundation
import Glibc
import Synchronization
import Testing

/// Stands between a client and PostgreSQL, on a port of 127.0.0.1, and on demand cuts the connection around a commit: a
/// COMMIT, or a statement that writes and is a transaction of its own.
package final class CuttingProxy: Sendable {
  /// What happens around the next commit, once.
  package enum Fault: CaseIterable, Sendable {
    /// The server never receives it.
    case before
    /// The server carries it out, and the client never learns of that.
    case after
    /// The client is cut off; the server receives it only when ``release()`` is called.
    case late
  }

  private struct State {
    var fault: Fault?
    var held: (bytes: [UInt8], server: Int32)?
    var cuts = 0
    var isRefusing = false
    var refused = 0
  }

  package let port: Int
  private let listener: Int32
  private let server: Int
  private let state = Mutex(State())

  /// - Parameter server: the port of the server.
  package init(to server: Int) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = Self.address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(listener, pointer, length) == 0 && listen(listener, 128) == 0
          && getsockname(listener, pointer, &length) == 0
      }
    }
    try #require(bound)
    (self.listener, self.server) = (listener, server)
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in accept() }
  }

  /// The number of connections that were cut by a fault.
  package var cuts: Int { state.withLock { $0.cuts } }

  /// The number of connections that were refused.
  package var refused: Int { state.withLock { $0.refused } }

  /// Makes the next commit meet this fault.
  package func arm(_ fault: Fault) { state.withLock { $0.fault = fault } }

  /// Sends what was held back; false when nothing was.
  package func release() -> Bool {
    let held = state.withLock { state in state.held.take() }
    guard let held else { return false }
    _ = Self.write(held.bytes, to: held.server)
    // Nobody gets the server's answer. Its socket is closed once the answer has been read.
    Thread.detachNewThread {
      while Self.read(held.server) != nil {}
      close(held.server)
    }
    // The server ends the session when the client's direction ends, after what it was sent before.
    shutdown(held.server, Int32(SHUT_WR))
    return true
  }

  /// Runs `body`, whose next commit meets `fault`. A late commit is released once it is held, as `body` may be waiting
  /// for it, or else when `body` is done.
  package func cutting<Value: Sendable>(
    _ fault: Fault, _ body: @Sendable @escaping () throws -> Value
  ) async throws -> Value {
    let cuts = cuts
    arm(fault)
    let value = try await withCheckedThrowingContinuation { continuation in
      let isDone = Mutex(false)
      Thread.detachNewThread {
        continuation.resume(with: Result { try body() })
        isDone.withLock { $0 = true }
      }
      Thread.detachNewThread { [self] in
        while fault == .late, !release(), !isDone.withLock({ $0 }) { usleep(1000) }
        _ = release()
      }
    }
    #expect(self.cuts == cuts + 1)
    return value
  }

  /// Refuses all connections from now on, or accepts them again.
  package func refuse(_ isRefusing: Bool) { state.withLock { $0.isRefusing = isRefusing } }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      if client < 0 { break }
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      let isRefused = state.withLock { state in
        if state.isRefusing { state.refused += 1 }
        return state.isRefusing
      }
      if isRefused {
        close(client)
        continue
      }
      let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var address = Self.address(self.server)
      let connected = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      guard connected else {
        close(client)
        close(server)
        continue
      }
      let pair = Pair(client: client, server: server)
      Thread.detachNewThread { [self] in forward(pair) }
      Thread.detachNewThread {
        while let bytes = Self.read(pair.server), !pair.isCut.load(ordering: .acquiring) {
          if !Self.write(bytes, to: pair.client) { break }
        }
        shutdown(pair.client, Int32(SHUT_RDWR))
        pair.leave()
      }
    }
    close(listener)
  }

  /// Two sockets that are closed when both directions have ended.
  private final class Pair: Sendable {
    let client: Int32
    let server: Int32
    let isCut = Atomic(false)
    private let left = Atomic(2)

    init(client: Int32, server: Int32) { (self.client, self.server) = (client, server) }

    func leave() {
      guard left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
      close(client)
      close(server)
    }
  }

  private func forward(_ pair: Pair) {
    var session = Session()
    while let bytes = Self.read(pair.client) {
      let fault = session.commits(bytes) ? state.withLock { state in state.fault.take() } : nil
      guard let fault else {
        if !Self.write(bytes, to: pair.server) { break }
        continue
      }
      pair.isCut.store(true, ordering: .releasing)
      switch fault {
      case .before: break
      case .after:
        _ = Self.write(bytes, to: pair.server)
      // The answer is the last thing that the other direction reads.
      case .late:
        // The other direction has to close the server's end first, so keep a duplicate.
        let server = dup(pair.server)
        state.withLock { $0.held = (bytes, server) }
        state.withLock { $0.cuts += 1 }
        shutdown(pair.client, Int32(SHUT_RDWR))
        pair.leave()
        return
      }
      state.withLock { $0.cuts += 1 }
      if fault == .before { shutdown(pair.server, Int32(SHUT_RDWR)) }
      shutdown(pair.client, Int32(SHUT_RDWR))
      pair.leave()
      return
    }
    shutdown(pair.server, Int32(SHUT_WR))
    pair.leave()
  }

  /// What a client has sent (PostgreSQL, "Message Formats"). It sends a statement with all that belongs to it at once.
  private struct Session {
    private var isInTransaction = false
    private var isWriting: [String: Bool] = [:]

    /// Whether `bytes` ask the server to commit something.
    mutating func commits(_ bytes: [UInt8]) -> Bool {
      // The first message of a session has no type.
      guard bytes.first != 0 else { return false }
      var (rest, commits, bound) = (bytes[...], false, "")
      while rest.count >= 5 {
        let length = rest.dropFirst().prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard length >= 4, rest.count > length else { break }
        let texts = rest.dropFirst(5).prefix(length - 4).split(separator: 0, omittingEmptySubsequences: false)
          .map { String(decoding: $0, as: UTF8.self) }
        switch rest.first {
        case UInt8(ascii: "Q"):
          if texts[0].hasPrefix("BEGIN") { isInTransaction = true }
          if ["COMMIT", "ROLLBACK", "END"].contains(texts[0]) { isInTransaction = false }
          if texts[0] == "COMMIT" { commits = true }
        case UInt8(ascii: "P") where texts.count > 1:
          isWriting[texts[0]] = ["INSERT ", "UPDATE ", "DELETE "].contains { texts[1].contains($0) }
        case UInt8(ascii: "B") where texts.count > 1: bound = texts[1]
        case UInt8(ascii: "E"): if !isInTransaction, isWriting[bound] == true { commits = true }
        default: break
        }
        rest = rest.dropFirst(length + 1)
      }
      return commits
    }
  }

  private static func read(_ file: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(file, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  private static func write(_ bytes: [UInt8], to file: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }
}
