import FoundationEssentials
import ReelCore

/// A scheme, a host and a port (RFC 6454): what a connection is made to, and what a credential is meant for.
public struct HTTPOrigin: Hashable, Sendable {
  /// Whether the origin is reached over TLS.
  public let isSecure: Bool
  /// A name or address in lower case; an IPv6 address without brackets.
  public let host: String
  /// The port; 443 or 80 if none was given.
  public let port: Int

  /// Creates an origin from its parts. If `port` is nil, it is the scheme's default.
  public init(isSecure: Bool, host: String, port: Int? = nil) {
    self.isSecure = isSecure
    self.host = host.lowercased()
    self.port = port ?? Self.standardPort(isSecure)
  }

  /// `host`, with the port unless it is the scheme's default: the value of the Host field (RFC 9110, 7.2).
  public var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == Self.standardPort(isSecure) ? name : "\(name):\(port)"
  }

  /// Whether what is sent stays on this machine: `localhost` and names below it (RFC 6761), 127.0.0.0/8, ::1.
  public var isLoopback: Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || numbers?.first == 127
  }

  /// Whether no router forwards what is sent (RFC 3927, RFC 4291): 169.254.0.0/16, fe80::/10.
  var isLinkLocal: Bool {
    numbers?.prefix(2) == [169, 254]
      || host.contains(":") && ["fe8", "fe9", "fea", "feb"].contains(host.prefix(3))
  }

  /// Whether the host is an address, not a name.
  var isAddress: Bool { numbers != nil || host.contains(":") }

  /// The numbers of an IPv4 address; nil for a name.
  private var numbers: [UInt8]? {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { UInt8($0) }
    return parts.count == 4 && numbers.count == 4 ? numbers : nil
  }

  /// Returns an origin of the same scheme and port, with another host.
  public func with(host: String) -> HTTPOrigin { HTTPOrigin(isSecure: isSecure, host: host, port: port) }

  private static func standardPort(_ isSecure: Bool) -> Int { isSecure ? 443 : 80 }
}

extension HTTPOrigin: CustomStringConvertible {
  /// Such as `https://store.example:9000`.
  public var description: String { (isSecure ? "https://" : "http://") + authority }
}

/// An address as a user writes it: an origin, and a path below it.
public struct HTTPAddress: Hashable, Sendable {
  /// The origin to connect to.
  public let origin: HTTPOrigin
  /// The path, percent-encoded. Either empty, or begins with a slash and does not end with one.
  public let path: String

  /// Reads `https://host:port/path` or `http://…`.
  /// - Throws: ``HTTPAddressError`` if it is something else, or contains a user, a password, a query or a fragment.
  public init(parsing text: String) throws(HTTPAddressError) {
    let authority = text.firstRange(of: "://").map { text[$0.upperBound...].prefix { !"/?#".contains($0) } }
    guard authority?.utf8.allSatisfy({ $0 < 0x80 }) ?? true else {
      throw HTTPAddressError("its host contains letters beyond ASCII: write the host as xn--… (in Punycode)")
    }
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = parts.host, !host.isEmpty
    else { throw HTTPAddressError("it is written like https://host or http://127.0.0.1:9000") }
    guard parts.percentEncodedUser == nil, parts.percentEncodedPassword == nil else {
      throw HTTPAddressError("it contains a user or a password: put those into the environment or a file")
    }
    guard parts.percentEncodedQuery == nil, parts.percentEncodedFragment == nil else {
      throw HTTPAddressError("it contains a query or a fragment (? or #): leave it out")
    }
    guard parts.port.map({ (1...65_535).contains($0) }) ?? true else {
      throw HTTPAddressError("its port is not a number from 1 to 65535")
    }
    guard host.utf8.allSatisfy(Self.isAllowed) else {
      throw HTTPAddressError("its host contains characters that no host name has")
    }
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    origin = HTTPOrigin(isSecure: scheme == "https", host: bare, port: parts.port)
    path =
      parts.percentEncodedPath.hasSuffix("/")
      ? String(parts.percentEncodedPath.dropLast()) : parts.percentEncodedPath
  }

  /// Letters, digits and the punctuation of host names; colons within brackets (RFC 3986, 3.2.2).
  private static func isAllowed(_ byte: UInt8) -> Bool {
    byte.isASCIIAlphanumeric || "-._:[]".utf8.contains(byte)
  }
}

/// The reason why an address can't be used. The address itself is not repeated, as it may contain a password.
public struct HTTPAddressError: Error, Hashable, Sendable {
  /// What is wrong, or what to write instead; the end of a sentence.
  public let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// A value that must not be seen: a key, a token, a signature. Printing, interpolating or dumping it, or what contains
/// it, shows dots. Only ``revealed`` is the value itself, and is used only where a secret leaves this process.
public struct Secret: Hashable, Sendable {
  /// The value itself.
  public let revealed: String

  /// Wraps `value`.
  public init(_ value: String) { revealed = value }

  /// Whether the value is empty.
  public var isEmpty: Bool { revealed.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always the same dots, whatever the length.
  public var description: String { "•••" }

  /// As ``description``.
  public var debugDescription: String { description }

  /// No children, for `dump`.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
