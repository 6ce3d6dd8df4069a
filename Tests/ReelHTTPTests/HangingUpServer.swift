import ReelHTTPFakes

/// A server that closes each connection as soon as the first bytes arrive.
final class HangingUpServer: Sendable {
  private let listener: WireListener

  var port: Int { listener.port }

  init() throws {
    listener = try WireListener { _ = $0.read() }
  }

  func stop() { listener.stop() }
}
