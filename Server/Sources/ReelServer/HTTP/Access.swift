import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Reel

/// The secret of a server: whoever has it may do everything, and can sign addresses for those who do not have it.
public struct AccessKey: Sendable {
  /// A shorter key could be guessed.
  private static let shortest = 32
  private let secret: SymmetricKey
  private let bearer: SHA256Digest

  /// Nil when `text` is too short.
  init?(_ text: some StringProtocol) {
    let text = String(text).filter { !$0.isWhitespace }
    guard text.utf8.count >= Self.shortest else { return nil }
    secret = SymmetricKey(data: Data(text.utf8))
    bearer = SHA256.hash(data: Data(text.utf8))
  }

  /// Reads the file. Blocks.
  /// - Throws: a sentence for the user who starts the server.
  public static func read(_ path: String) throws -> AccessKey {
    guard let key = AccessKey(try SecretFile.read(path, "the key", maker: "new-key")) else {
      throw StartFailure(
        "the key in \(path) is shorter than \(shortest) characters: `reel-serve new-key FILE` makes a better one"
      )
    }
    return key
  }

  /// Creates a file with a new key (0600). Blocks.
  /// - Throws: a sentence for the user, also if the file exists.
  public static func make(at path: String) throws {
    try SecretFile.make(
      at: path, SymmetricKey(size: .bits256).withUnsafeBytes { Base64.encodeForURL(Array($0)) })
  }

  /// Whether the header has the key. Digests are compared, so that the time it takes reveals nothing.
  func isBearer(_ header: String?) -> Bool {
    guard let header, header.prefix(7).lowercased() == "bearer " else { return false }
    return SHA256.hash(data: Data(header.dropFirst(7).utf8)) == bearer
  }

  /// Keeps these signatures apart from any others that the key may make one day.
  private static let purpose = "reel upload address 1\n"

  func sign(_ ticket: UploadTicket) -> String {
    let claims = Base64.encodeForURL(ticket.claims)
    let code = HMAC<SHA256>.authenticationCode(for: Data((Self.purpose + claims).utf8), using: secret)
    return claims + "." + Base64.encodeForURL(code)
  }

  /// - Throws: a 403 for a ticket that was not signed with this key, a 410 for one that has expired.
  func ticket(_ text: some StringProtocol, now: Date) throws(Problem) -> UploadTicket {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let code = Base64.decodeFromURL(parts[1]),
      HMAC<SHA256>.isValidAuthenticationCode(
        code, authenticating: Data((Self.purpose + parts[0]).utf8), using: secret),
      let claims = Base64.decodeFromURL(parts[0]), let ticket = UploadTicket(claims: claims)
    else { throw Problem(.forbidden, "address", "this is no address that this server has made") }
    guard ticket.expires > now else {
      throw Problem(.gone, "expired", "this address was not used in time: ask for another")
    }
    return ticket
  }
}

/// What an address for one upload permits; part of the address, and signed.
public struct UploadTicket: Hashable, Sendable, Codable {
  private enum CodingKeys: String, CodingKey {
    case id, author
    case maxSize = "max"
    case end
  }
  /// The only upload that it is for.
  let id: UploadID
  /// The author of the post; nil for none.
  let author: String?
  /// The largest number of bytes; nil for the server's own limit.
  let maxSize: Int64?
  /// In seconds since 1970.
  private let end: Int64

  var expires: Date { Date(timeIntervalSince1970: Double(end)) }

  /// Creates a ticket for a new upload.
  public init(author: String?, maxSize: Int64?, expires: Date) {
    (id, self.author, self.maxSize) = (UploadID(), author, maxSize)
    end = Int64(expires.timeIntervalSince1970)
  }

  /// The most bytes of an author's id: a catalog that servers share has room for no more (docs/fleet.md).
  public static let longestAuthor = 2_000

  /// - Throws: a 400 for an author's id that is too long.
  static func check(author: String?) throws(Problem) {
    guard (author?.utf8.count ?? 0) <= longestAuthor else {
      throw .badRequest("author is longer than \(longestAuthor) bytes")
    }
  }

  fileprivate init?(claims: [UInt8]) {
    guard let ticket = try? JSONDecoder().decode(UploadTicket.self, from: Data(claims)) else { return nil }
    self = ticket
  }

  fileprivate var claims: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // Texts and numbers always encode.
    return (try? encoder.encode(self)).map { Array($0) } ?? []
  }

  /// The path of the address.
  public func path(signedWith key: AccessKey) -> String { "/u/" + key.sign(self) }
}

/// Who may do what.
struct Access: Sendable {
  let key: AccessKey?
  /// The origins of pages whose scripts may use this server: `https://app.example`.
  let origins: Set<String>

  /// Without a key, whoever reaches the server owns it. The server then listens on this machine alone, and this check
  /// rejects clients that a browser or a proxy lets in from elsewhere.
  /// - Throws: a 403.
  func checkSender(_ request: Request) throws(Problem) {
    guard key == nil else { return }
    guard !Self.isOfProxy(request.headers) else {
      throw Problem(.forbidden, "noKey", "a server without a key answers nobody who comes through a proxy")
    }
    guard Self.isLoopback(request.head.authority) else {
      throw Problem(.forbidden, "noKey", "a server without a key answers only to this machine's own name")
    }
    if let origin = request.headers[.origin], !origins.contains(origin),
      origin != "http://\(request.head.authority ?? "")"
    {
      throw Problem(.forbidden, "origin", "pages of \(SourcePath(origin).text) may not use this server")
    }
  }

  /// Whether a proxy states that it has forwarded the request.
  static func isOfProxy(_ headers: HTTPFields) -> Bool {
    headers.contains {
      let name = $0.name.canonicalName
      return ["via", "forwarded", "x-real-ip"].contains(name) || name.hasPrefix("x-forwarded-")
    }
  }

  /// - Throws: a 401 for a client that does not have the key.
  func checkOwner(_ request: Request) throws(Problem) {
    guard let key else { return }
    guard key.isBearer(request.headers[.authorization]) else {
      throw Problem(.unauthorized, "key", "this takes the server's key: Authorization: Bearer …")
    }
  }

  /// Whether a `Host`, with or without a port, names this machine.
  static func isLoopback(_ authority: String?) -> Bool {
    guard let authority else { return false }
    let host =
      authority.hasPrefix("[")
      ? authority.prefix { $0 != "]" }.dropFirst() : authority.prefix { $0 != ":" }
    return ["localhost", "127.0.0.1", "::1"].contains(host.lowercased())
  }

  /// The headers by which a browser lets the scripts of `origin` read an answer.
  func headers(for origin: String?) -> HTTPFields {
    guard let origin, origins.contains(origin) else { return [:] }
    return [
      .accessControlAllowOrigin: origin, .vary: "Origin",
      .accessControlExposeHeaders:
        "Location, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Expires, Upload-Complete, Upload-Draft-Interop-Version, Upload-Limit, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, Tus-Checksum-Algorithm, Retry-After, Reel-Verdict, Reel-Post",
      .accessControlAllowMethods: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
      // Includes those that are refused here: a page that may not send them would not learn why.
      .accessControlAllowHeaders:
        "Authorization, Content-Type, Prefer, Tus-Resumable, Upload-Length, Upload-Offset, Upload-Metadata, Upload-Checksum, Upload-Concat, Upload-Defer-Length, Upload-Complete, Upload-Incomplete, Upload-Draft-Interop-Version, X-HTTP-Method-Override, X-Request-ID, traceparent, tracestate",
      .accessControlMaxAge: "86400",
    ]
  }
}
