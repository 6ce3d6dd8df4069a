import HTTPTypes

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
  /// ``HTTPTimeouts/slowest``.
  public var patience: Duration
  /// How much longer than others the reply may take to begin: a store may read an object before it says what it is.
  package var thinking = Duration.zero

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
