import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Reel

/// The secret of a server: who has it may do everything here, and signs addresses for those who have not.
public struct AccessKey: Sendable {
  /// Fewer characters could be guessed.
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
  /// - Throws: a sentence for whoever starts the server.
  public static func read(_ path: String) throws -> AccessKey {
    guard let key = AccessKey(try SecretFile.read(path, "the key", maker: "new-key")) else {
      throw StartFailure(
        "the key in \(path) is shorter than \(shortest) characters: `reel-serve new-key FILE` makes a better one"
      )
    }
    return key
  }

  /// Makes a file with a new key (0600). Blocks.
  /// - Throws: a sentence, where there is a file already, too.
  public static func make(at path: String) throws {
    try SecretFile.make(
      at: path, SymmetricKey(size: .bits256).withUnsafeBytes { Base64.encodeForURL(Array($0)) })
  }

  /// Compared by digests, so that the time it takes says nothing.
  func isBearer(_ header: String?) -> Bool {
    guard let header, header.prefix(7).lowercased() == "bearer " else { return false }
    return SHA256.hash(data: Data(header.dropFirst(7).utf8)) == bearer
  }

  /// Not to be taken for anything else that is signed with the key one day.
  private static let purpose = "reel upload address 1\n"

  func sign(_ ticket: UploadTicket) -> String {
    let claims = Base64.encodeForURL(ticket.claims)
    let code = HMAC<SHA256>.authenticationCode(for: Data((Self.purpose + claims).utf8), using: secret)
    return claims + "." + Base64.encodeForURL(code)
  }

  /// - Throws: a 403 for what was not signed with this key, a 410 for what is over.
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

/// What an address for one upload says, signed.
public struct UploadTicket: Hashable, Sendable, Codable {
  private enum CodingKeys: String, CodingKey {
    case id, author
    case maxSize = "max"
    case end
  }
  /// The upload that it is for: there is one, and no other.
  let id: UploadID
  /// Whose the post is to be; nil: nobody's.
  let author: String?
  /// Bytes at most; nil for as many as the server takes.
  let maxSize: Int64?
  /// Seconds since 1970.
  private let end: Int64

  var expires: Date { Date(timeIntervalSince1970: Double(end)) }

  /// A ticket for an upload that is not there yet.
  public init(author: String?, maxSize: Int64?, expires: Date) {
    (id, self.author, self.maxSize) = (UploadID(), author, maxSize)
    end = Int64(expires.timeIntervalSince1970)
  }

  /// Bytes of an author's id: a catalog that servers share has room for no more (docs/fleet.md).
  public static let longestAuthor = 2_000

  /// - Throws: a 400.
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
    // Texts and numbers: nothing in it can fail.
    return (try? encoder.encode(self)).map { Array($0) } ?? []
  }

  /// The address's path.
  public func path(signedWith key: AccessKey) -> String { "/u/" + key.sign(self) }
}

/// Who may do what.
struct Access: Sendable {
  let key: AccessKey?
  /// Of pages whose scripts may use this server: `https://app.example`.
  let origins: Set<String>

  /// Without a key whoever reaches the server owns it. It listens on this machine alone then, and this keeps out whom a
  /// browser or a proxy lets in from elsewhere.
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

  /// Whether a proxy says that it has handed the request on.
  static func isOfProxy(_ headers: HTTPFields) -> Bool {
    headers.contains {
      let name = $0.name.canonicalName
      return ["via", "forwarded", "x-real-ip"].contains(name) || name.hasPrefix("x-forwarded-")
    }
  }

  /// - Throws: a 401 for who has not the key.
  func checkOwner(_ request: Request) throws(Problem) {
    guard let key else { return }
    guard key.isBearer(request.headers[.authorization]) else {
      throw Problem(.unauthorized, "key", "this takes the server's key: Authorization: Bearer …")
    }
  }

  /// Of a `Host`, with or without a port.
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
      // With those that are refused here: who may not send them does not hear why.
      .accessControlAllowHeaders:
        "Authorization, Content-Type, Prefer, Tus-Resumable, Upload-Length, Upload-Offset, Upload-Metadata, Upload-Checksum, Upload-Concat, Upload-Defer-Length, Upload-Complete, Upload-Incomplete, Upload-Draft-Interop-Version, X-HTTP-Method-Override, X-Request-ID, traceparent, tracestate",
      .accessControlMaxAge: "86400",
    ]
  }
}
