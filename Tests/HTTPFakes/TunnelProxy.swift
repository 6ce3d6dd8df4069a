import Synchronization

/// A proxy that makes tunnels, all of which lead to one server on 127.0.0.1.
package final class TunnelProxy: Sendable {
  private let listener: WireListener
  private let log: Heads

  /// The port for the client to connect to.
  package var port: Int { listener.port }
  /// The heads of the requests that it got.
  package var heads: [String] { log.all.withLock { $0 } }

  /// - Parameters:
  ///   - target: the server's port.
  ///   - refusal: the status to answer with instead; nil to make the tunnel.
  package static func start(to target: Int, refusal: Int? = nil) async throws -> TunnelProxy {
    let log = Heads()
    let listener = try WireListener { client in
      var reader = WireReader(client)
      guard let head = reader.head() else { return }
      log.all.withLock { $0.append(String(decoding: head, as: UTF8.self)) }
      guard refusal == nil, let server = try? Wire(to: target) else {
        try? client.write(Array("HTTP/1.1 \(refusal ?? 502) No\r\ncontent-length: 0\r\n\r\n".utf8))
        return
      }
      guard (try? client.write(Array("HTTP/1.1 200 Tunnel\r\n\r\n".utf8))) != nil else { return }
      pass(between: client, server)
    }
    return TunnelProxy(listener, log)
  }

  private init(_ listener: WireListener, _ log: Heads) { (self.listener, self.log) = (listener, log) }

  package func stop() async { listener.stop() }

  private final class Heads: Sendable {
    let all = Mutex<[String]>([])
  }
}
