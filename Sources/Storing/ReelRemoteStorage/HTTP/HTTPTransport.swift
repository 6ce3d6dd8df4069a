import FoundationEssentials
import HTTPTypes

/// Sends requests: the port that every uploader over HTTP stands on. ``CurlTransport`` is the real one; a test's
/// plays a store's part.
///
/// A transport follows no redirect and retries nothing: a reply is given as it came, and the uploader decides. It sends
/// a credential only to its own origin, and plain http only where it was allowed.
public protocol HTTPTransport: Sendable {
  /// Sends `call` and gives the reply, whatever its status, with its body.
  /// - Throws: ``HTTPFailure`` when there is no whole reply.
  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply

  /// Sends `call`, and folds the body of a 2xx reply piece by piece, however long it is, unless the call has a limit for
  /// that; the body of any other reply is in the reply.
  /// - Throws: ``HTTPFailure`` when there is no whole reply.
  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value)
}

/// How long is waited.
public struct HTTPTimeouts: Hashable, Sendable {
  /// For a connection, TLS included.
  public var connect: Duration
  /// With no byte in either direction, and for a reply after the last byte was sent.
  public var idle: Duration
  /// For the beginning of a reply to a request that sends nothing: there is little to think about.
  public var answer: Duration
  /// Bytes a second of a body: who is slower than this on average, with ``HTTPCall/patience`` on top, is given up.
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

  /// What `call` may take in all.
  /// - Parameters:
  ///   - rate: bytes a second that all calls together are held to, which is not a fault of the other side's.
  ///   - received: bytes that have come of a body that is fetched; nil for a reply that is kept whole. A body earns its
  ///     time by what has come of it, whatever length it claims: a server that trickles is given up after minutes.
  func limit(for call: HTTPCall, at rate: Int64?, received: Int? = nil) -> Duration {
    let sending = rate.map { min(slowest, max(1, $0 / Self.callsAtOnce)) } ?? slowest
    let thinking = call.thinking + .seconds(call.body.length / sending)
    let whole = call.patience + thinking + .seconds(min(call.replyLimit, 1 << 20) / Self.slowestReply)
    guard let received else { return whole }
    return min(whole, Self.grace + thinking + .seconds(received / Self.slowestReply))
  }

  /// Until the reply to `call` has to begin; nil for one with a body, which goes out as slowly as it must.
  func answerLimit(for call: HTTPCall) -> Duration? {
    if case .none = call.body { return answer + call.thinking }
    return nil
  }

  /// That may pass without a byte, either way: while a server thinks about the body that it got, or until it answers a
  /// question without one.
  func idleLimit(for call: HTTPCall) -> Duration {
    guard call.thinking > .zero else { return idle }
    return answerLimit(for: call).map { max(idle, $0) } ?? idle + call.thinking
  }

  /// Bytes a second of a reply, on average,
  private static let slowestReply = 16 << 10
  /// and what passes before that counts.
  private static let grace = Duration.seconds(120)

  /// More than share a rate in earnest: with all of them a call has this part of it.
  private static let callsAtOnce: Int64 = 256
}

/// What a connection must be like.
public struct HTTPRules: Hashable, Sendable {
  /// Plain http to other machines, too: what is sent can be read and changed on its way. Loopback is always allowed.
  public var allowsPlainHTTP: Bool
  /// A PEM file with certificates that are trusted beside the system's.
  public var extraCertificates: String?
  /// How long is waited.
  public var timeouts: HTTPTimeouts
  /// Connections at once; more calls wait for one.
  public var connections: Int
  /// The proxy's address, such as `http://proxy.example:3128`; nil for the one that the environment names
  /// (`https_proxy`, `http_proxy`, `all_proxy`, but for hosts in `no_proxy`). What stays on this machine or on its link
  /// goes through none.
  public var proxy: String?
  /// Whether a proxy is used at all.
  public var usesProxy: Bool

  /// TLS with the system's certificates, or loopback.
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

  /// Whether ``proxy`` is an address that can be one: a host, maybe with a scheme, a port, and a user and password.
  public var knowsProxy: Bool {
    guard let proxy else { return true }
    let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    let parts = URLComponents(string: proxy.contains("://") ? proxy : "http://" + proxy)
    guard let parts, let scheme = parts.scheme?.lowercased(), let host = parts.host else { return false }
    return schemes.contains(scheme) && !host.isEmpty && parts.query == nil && parts.fragment == nil
  }

  /// Whether `origin` may be spoken to at all.
  /// - Throws: ``HTTPFailure/plainHTTP(_:)``.
  public func check(_ origin: HTTPOrigin) throws(HTTPFailure) {
    guard origin.isSecure || origin.isLoopback || allowsPlainHTTP else { throw .plainHTTP(origin) }
  }
}

extension HTTPCall {
  /// All fields as they go on the wire, secrets among them.
  /// - Throws: ``HTTPFailure/misdirected(_:)`` when a credential is not for this call's origin.
  public func fieldsOnWire() throws(HTTPFailure) -> HTTPFields {
    var all = fields
    // Who does not say so may be given anything compressed, and no length of it (RFC 9110, 12.5.3).
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
  /// Where it goes.
  public var origin: HTTPOrigin
  /// Path and query, percent-encoded, exactly as they are sent; begins with a slash.
  public var target: String
  /// What is not secret. Host and Content-Length are put in by the transport.
  public var fields: HTTPFields
  /// What is one.
  public var credentials: [HTTPCredential]
  /// What is sent.
  public var body: HTTPBody
  /// Bytes of a reply's body that are kept; a longer one is ``HTTPFailure/replyTooLarge(limit:)``.
  public var replyLimit: Int
  /// How long the whole exchange may take, beside the time that its bytes need at
  /// ``HTTPTimeouts/slowest``. A body that is fetched has to come at 16 KiB a second on average, too.
  public var patience: Duration
  /// How much longer than others the reply may take to begin: a store may read an object before it says what it is.
  package var thinking = Duration.zero
  /// Bytes of a 2xx reply's body that a fetch takes; a longer one is ``HTTPFailure/replyTooLarge(limit:)``.
  package var fetchLimit = Int.max
  /// Whether the head of the reply is all that is wanted: a transport may leave the body where it is.
  package var endsAtHead = false

  /// A request. It has no credentials, and a reply's body may have 1 MiB.
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

  /// The whole address, for the wire. It may hold a signature: never for a message.
  var url: String { origin.description + target }
}

/// A field that is secret, and the one origin that it may be sent to.
public struct HTTPCredential: Sendable {
  /// Such as Authorization.
  public let name: HTTPField.Name
  /// Its value.
  public let value: Secret
  /// Whom it is meant for. A transport refuses to send it to anybody else.
  public let origin: HTTPOrigin

  /// A secret field for `origin`.
  public init(_ name: HTTPField.Name, _ value: Secret, for origin: HTTPOrigin) {
    self.name = name
    self.value = value
    self.origin = origin
  }
}

/// What a store says.
public struct HTTPReply: Sendable {
  /// 200, 404, …
  public let status: HTTPResponse.Status
  /// The reply's fields.
  public let fields: HTTPFields
  /// The body, at most ``HTTPCall/replyLimit`` bytes; empty where it was read elsewhere.
  public let body: [UInt8]

  /// A reply.
  public init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// Whether the status is 2xx.
  public var isSuccess: Bool { status.kind == .successful }

  /// Whether something is done that there is nothing to say about, such as a removal. What stands before a store and
  /// answers 200 itself (a proxy, a page to log in) has something to say.
  public var isDone: Bool { isSuccess && body.isEmpty }
}

extension HTTPField.Name {
  /// A name that is written here, and so is one.
  static func ours(_ name: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(name) else { preconditionFailure("no field's name") }
    return name
  }
}
