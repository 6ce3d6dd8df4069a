import CCurl

/// The sockets of connections that libcurl keeps for later, so that one on which something came in the meantime is left
/// alone: a second reply to the last request would be taken for the reply to the next one. (Before 8.1 libcurl itself
/// does not look.) Of a transfer's thread alone.
final class KeptConnections {
  /// What libcurl tells of a connection before a request goes out on it.
  struct Name: Hashable {
    let remote: String
    let remotePort: Int32
    let localPort: Int32
  }
  private var sockets: [Name: Int32] = [:]

  /// Ended ones stay until so many are known. A number that is another file by then does no harm: at worst one
  /// connection more is made.
  private static let limit = 256

  func keep(_ name: Name, _ socket: Int32) {
    if sockets.count >= Self.limit { sockets.removeAll() }
    sockets[name] = socket
  }

  /// Whether something came that nobody asked for, or the end.
  func hasInput(_ name: Name) -> Bool {
    guard let socket = sockets[name] else { return false }
    return reel_curl_has_input(socket) != 0
  }
}
