import Synchronization

/// A proxy that is asked for tunnels, and leads all of them to one server on 127.0.0.1.
package final class TunnelProxy: Sendable {
  private let listener: WireListener
  private let log: Heads

  /// Where the client is to connect.
  package var port: Int { listener.port }
  /// What it was asked.
  package var heads: [String] { log.all.withLock { $0 } }

  /// - Parameters:
  ///   - target: the server's port.
  ///   - refusal: the status that it answers instead; nil to make the tunnel.
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
