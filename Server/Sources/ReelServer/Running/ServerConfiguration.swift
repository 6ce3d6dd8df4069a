import Glibc
import Reel

/// How a server is run.
public struct ServerConfiguration: Sendable {
  /// The library's folder.
  public var library: String
  /// Where videos go, as `reel --to` takes it: a folder or a bucket; nil for the library's own folder.
  public var to: String?
  /// `postgres://…`, where several servers share a catalog; nil for the library's own.
  public var catalog: String?
  /// A policy as `reel --policy` takes it; nil for the built-in one.
  public var policy: String?
  /// Who is told of posts.
  public var webhook: (address: String, secret: WebhookSecret)?
  /// Where it listens.
  public var address: ListenAddress
  /// Who has it may do everything; nil: everybody may who reaches the server.
  public var key: AccessKey?
  /// Of pages whose scripts may use the server, such as `https://app.example`.
  public var origins: Set<String> = []
  /// What clients call the server, without a slash at its end; empty where they see it as it is.
  public var publicURL = ""
  /// What viewers put before the name of a video; nil for its address in the store.
  public var mediaURL: String?
  /// Bytes of the largest video.
  public var maxSize: Int64 = 4_000_000_000
  /// Seconds that an unfinished upload is kept after its last byte, and the verdict of one that is finished.
  public var lifetime: Int64 = 86_400
  /// Bytes a second that a sender must bring, on average.
  public var leastRate: Int64 = 500
  /// Seconds that a sender may say nothing.
  public var patience: Int64 = 30
  /// Whether posts get posters.
  public var posters = false
  /// Videos that are judged at once.
  public var judgedAtOnce = 8
  /// Connections at once, as far as descriptors allow; others wait.
  public var connections = 4_096
  /// Connections of one address at once, but for this machine's; 0 for as many as it likes.
  public var connectionsOfAddress = 128

  /// A server of `library` at `address`.
  public init(library: String, address: ListenAddress) { (self.library, self.address) = (library, address) }

  /// - Throws: a sentence about what does not go together.
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

  /// As browsers send it: in lower case, and without the port that its scheme has anyway (RFC 6454, 6.2). Nil for what no
  /// browser sends.
  static func origin(_ text: String) -> String? {
    let text = text.lowercased()
    guard
      let parts = text.wholeMatch(
        of: #/(?<scheme>[a-z][a-z0-9+.-]*)://(?<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?<port>:[0-9]{1,5})?/#)
    else { return nil }
    let isUsual = ["http:80", "https:443"].contains("\(parts.scheme)\(parts.port ?? "")")
    return isUsual ? "\(parts.scheme)://\(parts.host)" : text
  }

  /// What clients call a server, without a slash at its end.
  /// - Throws: a sentence for what is no address, or has a query.
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

  /// How many connections a process may have that has so many descriptors: an upload takes three, and some are everybody's.
  func connections(withDescriptors limit: Int) -> Int {
    min(connections, max(1, (limit - Self.sharedDescriptors) / 3))
  }

  /// Of catalog, readers of videos, event loops.
  private static let sharedDescriptors = 40
}

/// A host and a port to listen on.
public struct ListenAddress: Hashable, Sendable {
  let host: String
  let port: Int

  /// On this machine alone.
  public static let standard = ListenAddress(host: "127.0.0.1", port: 8080)

  private init(host: String, port: Int) { (self.host, self.port) = (host, port) }

  /// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`; port 0 is any that is free. Nil for anything else.
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
    guard !host.isEmpty else { return nil }
    (self.host, self.port) = (String(host), Int(port))
  }

  /// Why nobody can listen there; nil for any other error.
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

  /// Whether only this machine gets there.
  var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
