import Glibc
import Reel

/// The configuration of a server.
public struct ServerConfiguration: Sendable {
  /// The library's folder.
  public var library: String
  /// Where videos go, as for `reel --to`: a folder or a bucket; nil for the library's own folder.
  public var to: String?
  /// `postgres://…`, where several servers share a catalog; nil for the library's own.
  public var catalog: String?
  /// A policy as for `reel --policy`; nil for the built-in one.
  public var policy: String?
  /// The webhook that is notified of posts.
  public var webhook: (address: String, secret: WebhookSecret)?
  /// The address to listen on.
  public var address: ListenAddress
  /// The key that permits everything; nil if everybody who can reach the server may do everything.
  public var key: AccessKey?
  /// The origins of pages whose scripts may use the server, such as `https://app.example`.
  public var origins: Set<String> = []
  /// The URL by which clients call the server, without a slash at its end; empty if they reach it directly.
  public var publicURL = ""
  /// The URL that viewers put before the name of a video; nil for its address in the store.
  public var mediaURL: String?
  /// The size of the largest video, in bytes.
  public var maxSize: Int64 = 4_000_000_000
  /// Seconds for which an unfinished upload is kept after its last byte, and the verdict on a finished one.
  public var lifetime: Int64 = 86_400
  /// The lowest average rate of a sender, in bytes per second.
  public var leastRate: Int64 = 500
  /// Seconds for which a sender may pause.
  public var patience: Int64 = 30
  /// Whether posts get posters.
  public var posters = false
  /// The number of videos judged at once.
  public var judgedAtOnce = 8
  /// The number of connections at once, as far as descriptors allow; others wait.
  public var connections = 4_096
  /// The number of connections at once of one address other than this machine's; 0 for no limit.
  public var connectionsOfAddress = 128

  /// Creates the configuration of a server with `library` at `address`.
  public init(library: String, address: ListenAddress) { (self.library, self.address) = (library, address) }

  /// - Throws: a sentence about settings that do not go together.
  func check() throws {
    guard key != nil || address.isLoopback else {
      throw StartFailure(
        "without a key, whoever reaches the server may do everything: make one with `reel-serve new-key FILE` and say --key-file FILE, or listen on 127.0.0.1 alone"
      )
    }
    guard catalog == nil || to != nil else {
      throw StartFailure(
        "servers that share a catalog share a store, too: say which with --to (s3://bucket/prefix, or a folder that all of them have)"
      )
    }
    if let problem = ShellWord.unexpandedHome(in: library) {
      throw StartFailure("--library \(library) names no folder: \(problem)")
    }
    for origin in origins where Self.origin(origin) == nil {
      throw StartFailure(
        "--allow-origin \(origin) is no page's origin: it is a scheme and a host, maybe with a port, such as https://app.example"
      )
    }
    if !publicURL.isEmpty { _ = try Self.publicURL(publicURL) }
  }

  /// An origin as browsers send it: in lower case, and without the default port of its scheme (RFC 6454, 6.2). Nil for
  /// what no browser sends.
  static func origin(_ text: String) -> String? {
    let text = text.lowercased()
    guard
      let parts = text.wholeMatch(
        of: #/(?<scheme>[a-z][a-z0-9+.-]*)://(?<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?<port>:[0-9]{1,5})?/#)
    else { return nil }
    let isUsual = ["http:80", "https:443"].contains("\(parts.scheme)\(parts.port ?? "")")
    return isUsual ? "\(parts.scheme)://\(parts.host)" : text
  }

  /// The URL by which clients call a server, without a slash at its end.
  /// - Throws: a sentence for what is not a URL, or has a query.
  public static func publicURL(_ text: String) throws -> String {
    guard
      text.wholeMatch(of: #/(?i)https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(/[!-~&&[^?#]]*)?/#)
        != nil
    else {
      throw StartFailure(
        "--url \(text) is not what clients could call this server: it begins with https:// (or http://), such as https://upload.example"
      )
    }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  /// The number of connections for which so many descriptors are enough: an upload takes three, and some are shared.
  func connections(withDescriptors limit: Int) -> Int {
    min(connections, max(1, (limit - Self.sharedDescriptors) / 3))
  }

  /// The descriptors of the catalog, the readers of videos and the event loops.
  private static let sharedDescriptors = 40
}

/// A host and a port to listen on.
public struct ListenAddress: Hashable, Sendable {
  let host: String
  let port: Int

  /// An address that only this machine can reach.
  public static let standard = ListenAddress(host: "127.0.0.1", port: 8080)

  private init(host: String, port: Int) { (self.host, self.port) = (host, port) }

  /// Parses `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`; port 0 is any that is free. Nil for anything else.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      return nil
    }
    var host = text[..<colon]
    if host.hasPrefix("[") {
      guard host.hasSuffix("]") else { return nil }
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    // The resolver takes * for loopback.
    guard !host.isEmpty, host != "*" else { return nil }
    (self.host, self.port) = (String(host), Int(port))
  }

  /// Why the server can't listen there; nil for any other error.
  func failure(_ code: Int32) -> StartFailure? {
    switch code {
    case EADDRINUSE:
      StartFailure("another program has port \(port): stop it, or name another port with --listen")
    case EACCES:
      StartFailure(
        "this user may not listen on port \(port): take one from 1024 on, or give it CAP_NET_BIND_SERVICE")
    case EADDRNOTAVAIL: StartFailure(isNotHere)
    default: nil
    }
  }

  var isNotHere: String { "--listen \(host):\(port): \(host) is no address of this machine" }

  /// Whether only this machine can reach it.
  var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
