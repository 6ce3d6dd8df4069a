import FoundationEssentials
import ReelCore
import ReelCrypto

/// The address of an upload on its server, and what has been sent of the source: the content of a tus checkpoint.
///
/// Before each part is sent, the hash of all bytes up to its end is recorded. So a process that resumes the upload
/// knows that what the server holds is the beginning of *these* bytes, even if the previous process died in the middle
/// of a part, of a file that was being changed.
struct TusUploadState: Hashable, Sendable {
  /// The upload's own address. Whoever knows it may write to the upload, so it is used only in requests
  /// and checkpoints.
  let url: TusURL
  /// The server holds at most this many bytes.
  let through: Int64
  /// The SHA-256 of the source's first ``through`` bytes.
  let prefix: ContentDigest
  /// Whether the server itself has refused the last part. If it has every byte nevertheless, it refused the
  /// whole upload.
  var isRefused = false

  init(_ url: TusURL, through: Int64, prefix: ContentDigest) {
    self.url = url
    self.through = through
    self.prefix = prefix
  }

  /// Nil if `text` was not made by ``text``.
  init?(_ text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 4, Self.kinds.contains(parts[0]), let through = Int64(parts[1]), through >= 0,
      let prefix = ContentDigest(hex: String(parts[2])), let url = TusURL(String(parts[3]))
    else { return nil }
    self.init(url, through: through, prefix: prefix)
    isRefused = parts[0] == Self.kinds[1]
  }

  /// The state in one line.
  var text: String { "\(Self.kinds[isRefused ? 1 : 0]) \(through) \(prefix.hex) \(url.text)" }

  private static let kinds: [Substring] = ["tus1", "tus1-refused"]
}

/// The address of an upload: an origin and a request target.
struct TusURL: Hashable, Sendable {
  let origin: HTTPOrigin
  /// The path and query, percent-encoded.
  let target: String

  init(origin: HTTPOrigin, target: String) {
    self.origin = origin
    self.target = target
  }

  /// Parses an absolute http or https address without a user, a password or a fragment.
  init?(_ text: String) {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = parts.host, !host.isEmpty,
      host.utf8.allSatisfy({ $0 < 0x80 }),
      parts.percentEncodedUser == nil, parts.percentEncodedPassword == nil,
      parts.percentEncodedFragment == nil, parts.port.map({ (1...65_535).contains($0) }) ?? true
    else { return nil }
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    let path = parts.percentEncodedPath
    self.init(
      origin: HTTPOrigin(isSecure: scheme == "https", host: bare, port: parts.port),
      target: (path.isEmpty ? "/" : path) + (parts.percentEncodedQuery.map { "?" + $0 } ?? ""))
  }

  /// Resolves a server's Location against `base` (RFC 3986, 5.2; RFC 9110, 10.2.2). Nil if it is not an address.
  init?(location: String, from base: TusURL) {
    let text = location.prefix { $0 != "#" }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.isEmpty else { return nil }
    if let absolute = TusURL(String(text)) {
      self = absolute
    } else if text.hasPrefix("//") {
      guard let url = TusURL((base.origin.isSecure ? "https:" : "http:") + text) else { return nil }
      self = url
    } else if text.hasPrefix("/") {
      self.init(origin: base.origin, target: String(text))
    } else {
      // A name beside, or below, the collection. A name with a scheme of its own is not supported.
      guard !text.prefix(while: { $0 != "/" }).contains(":"), !text.contains("..") else { return nil }
      let folder = base.target.prefix { $0 != "?" }.reversed().drop { $0 != "/" }.reversed()
      self.init(origin: base.origin, target: String(folder) + text)
    }
  }

  var text: String { origin.description + target }

  /// The name that the server gave the upload: what follows the last slash of the path.
  var id: String {
    let path = target.prefix { $0 != "?" }
    return path.split(separator: "/").last.map(String.init) ?? ""
  }
}

/// The algorithms of tus's checksum extension, best first. Every server with the extension supports `sha1`.
///
/// They protect against damage in transit. That the bytes are the right ones is checked here, by their SHA-256.
enum TusChecksum: String, CaseIterable, Sendable {
  case sha256, sha512, sha1, md5

  /// Returns the value of Upload-Checksum for these bytes.
  func field(of bytes: [UInt8]) -> String {
    rawValue + " " + digest(of: bytes).base64EncodedString()
  }

  private func digest(of bytes: [UInt8]) -> Data {
    switch self {
    case .sha256: Data(SHA256.hash(data: bytes))
    case .sha512: Data(SHA512.hash(data: bytes))
    case .sha1: Data(Insecure.SHA1.hash(data: bytes))
    case .md5: Data(Insecure.MD5.hash(data: bytes))
    }
  }
}
