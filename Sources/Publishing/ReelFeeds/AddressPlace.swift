import Glibc
import ReelCore

/// The parts of a source's or store's address that say where it leads.
struct AddressPlace: Hashable, Sendable {
  let scheme: String
  /// A host with its port, or an Amazon S3 bucket.
  let authority: String
  /// The path, beginning with its slash.
  let path: String

  /// Nil if `text` is not an address.
  init?(_ text: String) {
    guard let mark = text.firstRange(of: "://"), !text[..<mark.lowerBound].isEmpty else { return nil }
    scheme = text[..<mark.lowerBound].lowercased()
    let rest = text[mark.upperBound...].prefix { $0 != "?" && $0 != "#" }
    authority = rest.prefix { $0 != "/" }.lowercased()
    path = String(rest.drop { $0 != "/" })
    // Reject anything that a client may read as another host: a user name, percent-encoding, non-ASCII digits.
    guard !authority.isEmpty,
      authority.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "-._:[]".utf8.contains($0) })
    else { return nil }
  }

  /// The host, and its port if one is given.
  var host: (name: String, port: Int?) {
    if scheme == "s3" { return ("s3.amazonaws.com", 443) }
    if authority.hasPrefix("[") {
      let name = authority.dropFirst().prefix { $0 != "]" }
      return (String(name), Int(authority.dropFirst(name.count + 3)))
    }
    let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    return (String(parts[0]), parts.count > 1 ? Int(parts[1]) : nil)
  }

  /// What belongs to one owner: a host, together with the bucket if it is an S3 store.
  var owner: String {
    guard scheme.hasPrefix("s3+") else { return "\(scheme)://\(authority)" }
    return "\(scheme)://\(authority)/" + (path.split(separator: "/").first.map(String.init) ?? "")
  }

  /// Whether `other` is in this place. The last path component must match as a whole.
  func holds(_ other: AddressPlace) -> Bool {
    guard scheme == other.scheme, authority == other.authority else { return false }
    if path.isEmpty || path == "/" || other.path == path { return true }
    guard other.path.hasPrefix(path.hasSuffix("/") ? path : path + "/") else { return false }
    // Reject components that a server may follow out of the place.
    let steps = other.path.lowercased().replacing("%2e", with: ".").replacing("%2f", with: "/")
      .replacing("%5c", with: "/").replacing("\\", with: "/").split(separator: "/")
    return !steps.contains { $0 == "." || $0 == ".." }
  }

  // MARK: The network

  /// The addresses that the host's name resolves to; empty if it can't be resolved.
  private var addresses: [SocketAddress] {
    let (name, port) = host
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let service = String(port ?? (scheme.hasSuffix("http") ? 80 : 443))
    guard getaddrinfo(name, service, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var found: [SocketAddress] = []
    var next = list
    while let one = next {
      if let bytes = one.pointee.ai_addr {
        found.append(SocketAddress(UnsafeRawBufferPointer(start: bytes, count: Int(one.pointee.ai_addrlen))))
      }
      next = one.pointee.ai_next
    }
    return found
  }

  /// Whether it leads to this machine or to a network that is not public.
  var isPrivate: Bool {
    // Loopback, whatever the name resolves to (RFC 6761).
    let name = host.name.hasSuffix(".") ? host.name.dropLast() : host.name[...]
    return name == "localhost" || name.hasSuffix(".localhost") || addresses.contains(where: \.isPrivate)
  }

  /// Whether something accepts a connection there within 5 seconds. Blocks.
  var isReachable: Bool { addresses.contains { $0.answers(within: 5000) } }
}

/// A socket address to connect to.
private struct SocketAddress {
  private let bytes: [UInt8]

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

  private var family: Int32 { Int32(bytes.withUnsafeBytes { $0.loadUnaligned(as: sa_family_t.self) }) }

  var isPrivate: Bool {
    bytes.withUnsafeBytes { IPAddress(socketAddress: $0) }?.isPublic != true
  }

  func answers(within milliseconds: Int32) -> Bool {
    let raw = socket(family, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC, 0)
    guard raw >= 0 else { return false }
    defer { close(raw) }
    let result = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map {
        connect(raw, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      } ?? -1
    }
    if result == 0 { return true }
    guard errno == EINPROGRESS else { return false }
    var waiting = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
    // Anew after a signal: no answer would speak against the network.
    var ready = poll(&waiting, 1, milliseconds)
    while ready < 0, errno == EINTR { ready = poll(&waiting, 1, milliseconds) }
    guard ready == 1 else { return false }
    var (error, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    return getsockopt(raw, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0
  }
}
