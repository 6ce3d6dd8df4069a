import FoundationEssentials
import HTTPTypes
import ReelCore

/// Sends requests: the interface that every uploader over HTTP is built on. ``CurlTransport`` is the real
/// implementation; a test's stands in for a store.
///
/// A transport follows no redirect and retries nothing: it returns each reply as it came, and the uploader decides. It
/// sends a credential only to the credential's own origin, and uses plain http only where that was allowed.
public protocol HTTPTransport: Sendable {
  /// Sends `call` and returns the reply, whatever its status, with its body.
  /// - Throws: ``HTTPFailure`` if no complete reply arrives.
  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply

  /// Sends `call`, and folds the body of a 2xx reply piece by piece, however long it is, unless the call limits it. The
  /// body of any other reply is in the reply.
  /// - Throws: ``HTTPFailure`` if no complete reply arrives.
  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value)
}

/// The time limits of requests.
public struct HTTPTimeouts: Hashable, Sendable {
  /// The limit for making a connection, including TLS.
  public var connect: Duration
  /// The limit without a byte in either direction, also for the reply after the last byte was sent.
  public var idle: Duration
  /// The limit for the beginning of a reply to a request without a body, which leaves the server little to do.
  public var answer: Duration
  /// The minimum average rate of a body in bytes a second. A call that is slower, with ``HTTPCall/patience`` added,
  /// is abandoned.
  public var slowest: Int64

  /// 10 s, 50 s, 20 s, and 1 KiB/s: many uploads may share a slow line.
  public init(
    connect: Duration = .seconds(10), idle: Duration = .seconds(50), answer: Duration = .seconds(20),
    slowest: Int64 = 1 << 10
  ) {
    self.connect = connect
    self.idle = idle
    self.answer = answer
    self.slowest = max(1, slowest)
  }

  /// Returns the limit for `call` as a whole.
  /// - Parameters:
  ///   - rate: the limit in bytes a second for all calls together, which must not count against the server.
  ///   - received: the number of bytes received so far of a body that is fetched; nil for a reply that is kept whole. A
  ///     body earns its time by the bytes that have arrived, whatever length it claims, so a server that trickles is
  ///     abandoned after minutes.
  func limit(for call: HTTPCall, at rate: Int64?, received: Int? = nil) -> Duration {
    let sending = rate.map { min(slowest, max(1, $0 / Self.callsAtOnce)) } ?? slowest
    let thinking = call.thinking + .seconds(call.body.length / sending)
    let whole = call.patience + thinking + .seconds(min(call.replyLimit, 1 << 20) / Self.slowestReply)
    guard let received else { return whole }
    return min(whole, Self.grace + thinking + .seconds(received / Self.slowestReply))
  }

  /// Returns the limit until the reply to `call` begins; nil for a call with a body, which may be sent as slowly as
  /// it must.
  func answerLimit(for call: HTTPCall) -> Duration? {
    if case .none = call.body { return answer + call.thinking }
    return nil
  }

  /// Returns the limit without a byte in either direction, while a server processes the body it received, or until it
  /// answers a request without one.
  func idleLimit(for call: HTTPCall) -> Duration {
    guard call.thinking > .zero else { return idle }
    return answerLimit(for: call).map { max(idle, $0) } ?? idle + call.thinking
  }

  /// The minimum average rate of a reply in bytes a second.
  private static let slowestReply = 16 << 10
  /// How long a reply may take before that rate applies.
  private static let grace = Duration.seconds(120)

  /// More calls than really share a rate at once. Each call is assumed to get at least this fraction of it.
  private static let callsAtOnce: Int64 = 256
}

/// The rules for connections.
public struct HTTPRules: Hashable, Sendable {
  /// Whether plain http is allowed to other machines, too: what is sent can be read and changed on its way. Loopback is
  /// always allowed.
  public var allowsPlainHTTP: Bool
  /// A PEM file with certificates that are trusted in addition to the system's.
  public var extraCertificates: String?
  /// The time limits.
  public var timeouts: HTTPTimeouts
  /// The maximum number of connections at once; further calls wait for one.
  public var connections: Int
  /// The proxy's address, such as `http://proxy.example:3128`; nil for the one named in the environment (`https_proxy`,
  /// `http_proxy`, `all_proxy`, except for hosts in `no_proxy`). Requests that stay on this machine or on its link use
  /// no proxy.
  public var proxy: String?
  /// Whether a proxy is used at all.
  public var usesProxy: Bool

  /// By default: TLS with the system's certificates, or loopback.
  public init(
    allowsPlainHTTP: Bool = false, extraCertificates: String? = nil, timeouts: HTTPTimeouts = HTTPTimeouts(),
    connections: Int = 32, proxy: String? = nil, usesProxy: Bool = true
  ) {
    self.allowsPlainHTTP = allowsPlainHTTP
    self.extraCertificates = extraCertificates
    self.timeouts = timeouts
    self.connections = max(1, connections)
    self.proxy = proxy
    self.usesProxy = usesProxy
  }

  /// Whether requests to `origin` may go through a proxy, an explicit one or the environment's.
  func mayUseProxy(for origin: HTTPOrigin) -> Bool {
    !bypassesProxies(origin) && (proxy != nil || ProxyEnvironment.namesProxy(forHTTPS: origin.isSecure))
  }

  /// Whether requests to `origin` use no proxy, whatever the environment names.
  func bypassesProxies(_ origin: HTTPOrigin) -> Bool { !usesProxy || origin.isLoopback || origin.isLinkLocal }

  /// Whether ``proxy`` is a valid address: a host, optionally with a scheme, a port, and a user and password.
  public var knowsProxy: Bool {
    guard let proxy else { return true }
    let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    let parts = URLComponents(string: proxy.contains("://") ? proxy : "http://" + proxy)
    guard let parts, let scheme = parts.scheme?.lowercased(), let host = parts.host else { return false }
    return schemes.contains(scheme) && !host.isEmpty && parts.query == nil && parts.fragment == nil
  }

  /// Checks whether `origin` may be contacted at all.
  /// - Throws: ``HTTPFailure/plainHTTP(_:)``.
  public func check(_ origin: HTTPOrigin) throws(HTTPFailure) {
    guard origin.isSecure || origin.isLoopback || allowsPlainHTTP else { throw .plainHTTP(origin) }
  }
}

extension HTTPCall {
  /// Returns all fields as they are sent, including secrets.
  /// - Throws: ``HTTPFailure/misdirected(_:)`` if a credential is not for this call's origin.
  public func fieldsOnWire() throws(HTTPFailure) -> HTTPFields {
    var all = fields
    // Without this field, a server may compress its reply and leave out the length (RFC 9110, 12.5.3).
    if all[.acceptEncoding] == nil { all[.acceptEncoding] = "identity" }
    for credential in credentials {
      guard credential.origin == origin else { throw .misdirected(origin) }
      all[credential.name] = credential.value.revealed
    }
    return all
  }
}

/// One request.
public struct HTTPCall: Sendable {
  /// GET, PUT, …
  public var method: HTTPRequest.Method
  /// The origin that the request is sent to.
  public var origin: HTTPOrigin
  /// Path and query, percent-encoded, exactly as they are sent; begins with a slash.
  public var target: String
  /// The fields that are not secret. The transport adds Host and Content-Length.
  public var fields: HTTPFields
  /// The fields that are secret.
  public var credentials: [HTTPCredential]
  /// The body to send.
  public var body: HTTPBody
  /// The maximum number of bytes of a reply's body that are kept. A longer one is
  /// ``HTTPFailure/replyTooLarge(limit:)``.
  public var replyLimit: Int
  /// How long the whole exchange may take, in addition to the time that its bytes need at ``HTTPTimeouts/slowest``. A
  /// body that is fetched must also arrive at 16 KiB a second on average.
  public var patience: Duration
  /// How much longer than usual the reply may take to begin: a store may read an object before it describes it.
  package var thinking = Duration.zero
  /// The maximum number of bytes of a 2xx reply's body that a fetch takes. A longer one is
  /// ``HTTPFailure/replyTooLarge(limit:)``.
  package var fetchLimit = Int.max
  /// Whether only the head of the reply is wanted: a transport need not read the body.
  package var endsAtHead = false

  /// Creates a request without credentials. A reply's body may have 1 MiB.
  public init(
    _ method: HTTPRequest.Method, _ origin: HTTPOrigin, _ target: String, fields: HTTPFields = [:],
    body: HTTPBody = .none
  ) {
    self.method = method
    self.origin = origin
    self.target = target
    self.fields = fields
    self.body = body
    credentials = []
    replyLimit = 1 << 20
    patience = .seconds(120)
  }

  /// The whole URL, to be sent. It may contain a signature, so it must not appear in a message.
  var url: String { origin.description + target }
}

/// A secret field, and the only origin that it may be sent to.
public struct HTTPCredential: Sendable {
  /// The name of the field, such as Authorization.
  public let name: HTTPField.Name
  /// Its value.
  public let value: Secret
  /// The origin that it is meant for. A transport refuses to send it to any other.
  public let origin: HTTPOrigin

  /// Creates a secret field for `origin`.
  public init(_ name: HTTPField.Name, _ value: Secret, for origin: HTTPOrigin) {
    self.name = name
    self.value = value
    self.origin = origin
  }
}

/// A server's reply.
public struct HTTPReply: Sendable {
  /// 200, 404, …
  public let status: HTTPResponse.Status
  /// The reply's fields.
  public let fields: HTTPFields
  /// The body, at most ``HTTPCall/replyLimit`` bytes; empty if it was folded or not wanted.
  public let body: [UInt8]

  /// A reply.
  public init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// Whether the status is 2xx.
  public var isSuccess: Bool { status.kind == .successful }

  /// Whether something was done that needs no words, such as a removal: a success with an empty body. A proxy or login
  /// page that answers 200 in a store's place sends a body.
  public var isDone: Bool { isSuccess && body.isEmpty }
}

extension HTTPField.Name {
  /// Returns a field name that is written in this program, and therefore valid.
  static func ours(_ name: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(name) else { preconditionFailure("no field's name") }
    return name
  }
}
