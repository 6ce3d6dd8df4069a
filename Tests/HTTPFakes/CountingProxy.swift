import Synchronization

/// Stands between a client and a server on 127.0.0.1, counts what the client sends, and stops passing it on when a test
/// asks for that.
/// test wants that.
package final class CountingProxy: Sendable {
  private let listener: WireListener
  private let meter: Meter

  /// The port for the client to connect to.
  package var port: Int { listener.port }
  /// The number of bytes from the client, including heads, on all connections so far.
  package var sent: Int { meter.state.withLock { $0.sent } }

  /// Passes on at most `limit` bytes in all; nil for no limit. A connection on which something was held back passes on
  /// nothing more, even without a limit: a server never sees bytes that follow bytes it did not get.
  package func stall(after limit: Int?) { meter.state.withLock { $0.limit = limit } }

  /// - Parameter target: the server's port.
  package static func start(to target: Int) async throws -> CountingProxy {
    let meter = Meter()
    let listener = try WireListener { client in
      guard let server = try? Wire(to: target) else { return }
      var gate = Gate(meter)
      pass(between: client, server) { gate.passes($0) }
    }
    return CountingProxy(listener, meter)
  }

  private init(_ listener: WireListener, _ meter: Meter) { (self.listener, self.meter) = (listener, meter) }

  package func stop() async { listener.stop() }
}

/// Passes on what either side sends, until one of them ends the connection.
/// - Parameter passes: whether this many bytes of the client may pass; once they may not, nothing more of the client's
///   does.
package func pass(between client: Wire, _ server: Wire, _ passes: (Int) -> Bool = { _ in true }) {
  do {
    try onThread {
      while true {
        let bytes = server.read()
        guard !bytes.isEmpty, (try? client.write(bytes)) != nil else { break }
      }
      client.shut()
    }
  } catch {
    return
  }
  while true {
    let bytes = client.read()
    guard !bytes.isEmpty else { break }
    guard passes(bytes.count) else {
      client.awaitEnd()
      break
    }
    guard (try? server.write(bytes)) != nil else { break }
  }
  server.shut()
}

/// Counts the bytes of all connections.
package final class Meter: Sendable {
  fileprivate struct State: Sendable {
    var sent = 0
    var limit: Int?
  }
  fileprivate let state = Mutex(State())

  package init(limit: Int? = nil) { state.withLock { $0.limit = limit } }

  /// Counts these bytes, if they may pass. Returns whether they may.
  fileprivate func count(_ bytes: Int) -> Bool {
    state.withLock { state in
      if let limit = state.limit, state.sent + bytes > limit { return false }
      state.sent += bytes
      return true
    }
  }
}

/// Counts the bytes of one connection.
package struct Gate {
  private let meter: Meter
  private var holdsBack = false

  package init(_ meter: Meter) { self.meter = meter }

  /// Whether these bytes may pass. Once some may not, none do: a small rest could pass where earlier bytes did not.
  package mutating func passes(_ bytes: Int) -> Bool {
    guard !holdsBack, meter.count(bytes) else {
      holdsBack = true
      return false
    }
    return true
  }
}
