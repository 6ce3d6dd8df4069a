import ReelCore

/// Where uploads are created, as the user names it.
public struct TusEndpoint: Hashable, Sendable {
  let url: TusURL

  /// Reads `tus+https://host/path` or `tus+http://host/path`; nil for anything else, for an address with a user, a
  /// password, a query or a fragment in it too.
  public init?(_ text: String) {
    let prefix = "tus+"
    guard text.prefix(prefix.count).lowercased() == prefix, !text.contains("?"), !text.contains("#"),
      let url = TusURL(String(text.dropFirst(prefix.count)))
    else { return nil }
    self.url = url
  }

  /// The server: who hears the token.
  public var origin: HTTPOrigin { url.origin }

  /// One server's one name, with or without a slash at the address's end.
  public var destination: Destination {
    var text = url.text
    while text.hasSuffix("/") { text.removeLast() }
    return Destination("tus+" + text)
  }
}
