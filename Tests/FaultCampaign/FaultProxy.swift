import Glibc
import ReelHTTPFakes
import Synchronization

/// Stands between a client and a store on 127.0.0.1, passes HTTP/1.1 on unchanged, including signatures, numbers the
/// requests, and applies the planned fault to them.
package final class FaultProxy: Sendable {
  /// The port for the client to connect to.
  package var port: Int { listener.port }
  private let script: FaultScript
  private let listener: WireListener

  /// The shapes of the requests since the fault was planned (`WireHead.shape`).
  package var requests: [String] { script.state.withLock { $0.shapes } }
  /// The number of requests that the fault has struck.
  package var struck: Int { script.state.withLock { $0.struck } }

  /// Applies `fault` from now on, or nothing when it is nil, and numbers requests from 1 again.
  /// - Parameter spares: the requests, by their shapes, that the fault leaves alone.
  package func plan(_ fault: Fault?, sparing spares: @escaping @Sendable (String) -> Bool = { _ in false }) {
    script.state.withLock { $0 = FaultScript.State(fault: fault, spares: spares) }
  }

  /// - Parameters:
  ///   - target: the store's port.
  ///   - elsewhere: the port of another server, to which redirects lead.
  package static func start(to target: Int, elsewhere: Int) async throws -> FaultProxy {
    let script = FaultScript()
    let connection = ProxyConnection(target: target, elsewhere: elsewhere, script: script)
    return FaultProxy(try WireListener { connection.serve($0) }, script)
  }

  private init(_ listener: WireListener, _ script: FaultScript) {
    (self.listener, self.script) = (listener, script)
  }

  /// Waits until every connection, and every request on it, has ended. For use after the client is gone.
  package func settle() async throws { try await listener.settle() }

  /// Ends the proxy and every connection through it.
  package func stop() async {
    listener.stop()
    while listener.count > 0 { try? await Task.sleep(for: .milliseconds(2)) }
  }
}

/// The plan, and how far it has come.
final class FaultScript: Sendable {
  struct State: Sendable {
    var fault: Fault?
    var spares: @Sendable (String) -> Bool = { _ in false }
    var shapes: [String] = []
    var struck = 0
  }
  let state = Mutex(State())

  /// What to do to the next request.
  func effect(on head: WireHead) -> FaultKind.Effect? {
    state.withLock { state in
      state.shapes.append(head.shape)
      guard let fault = state.fault, state.shapes.count >= fault.request, !state.spares(head.shape) else {
        return nil
      }
      let strikes =
        switch fault.reach {
        case .once: state.shapes.count == fault.request
        case .always: true
        case .alike: head.shape == state.shapes[fault.request - 1]
        }
      if strikes { state.struck += 1 }
      return strikes ? fault.kind.effect : nil
    }
  }
}
