import FoundationEssentials
import HTTPTypes
import ReelCore

/// Sends requests to one of Google's services, each with the access token, which goes to no other origin.
struct GoogleClient: Sendable {
  let origin: HTTPOrigin
  let transport: any HTTPTransport
  let tokens: any TokenSource
  /// The store's settled name, for messages.
  let store: Destination
  let clock: any WallClock

  func call(_ method: HTTPRequest.Method, _ target: String) -> HTTPCall { HTTPCall(method, origin, target) }

  func call(
    _ method: HTTPRequest.Method, _ target: String, json: some Encodable
  ) throws(UploadError) -> HTTPCall {
    var call = call(method, target)
    call.fields[.contentType] = "application/json; charset=utf-8"
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    let data = try rethrowing(
      as: { UploadError(.rejected, "what \(store) is to be told can't be written as JSON: \($0)") }
    ) { try encoder.encode(json) }
    call.body = .bytes(Array(data))
    return call
  }

  /// Returns the reply, whatever its status. If the token is refused, it is renewed and the request repeated, once.
  func send(_ call: HTTPCall) async throws(UploadError) -> HTTPReply {
    try await authorized(call) { call throws(HTTPFailure) in try await transport.send(call) }
  }

  /// Returns the reply, and the folded body if it is a 2xx.
  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(UploadError) -> (reply: HTTPReply, value: Value) {
    var value = initial
    let reply = try await authorized(call) { call throws(HTTPFailure) in
      let fetched = try await transport.fetch(call, into: initial, update)
      value = fetched.value
      return fetched.reply
    }
    return (reply, value)
  }

  /// Returns what an unsuccessful reply means.
  func failure(_ reply: HTTPReply, _ task: String, permission: String) -> UploadError {
    GoogleFailure(reply).error(reply, store: store, task: task, permission: permission, now: clock.now())
  }

  /// - Throws: `interrupted` if the body is not as expected: a proxy's page, or truncated.
  func decoded<Value: Decodable>(
    _ type: Value.Type, _ reply: HTTPReply, _ task: String
  ) throws(UploadError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: Data(reply.body))
    } catch {
      throw UploadError(
        .interrupted,
        "the store \(store) answered the request to \(task) with something that can't be understood: try again"
      )
    }
  }

  private func authorized(
    _ call: HTTPCall, _ exchange: (HTTPCall) async throws(HTTPFailure) -> HTTPReply
  ) async throws(UploadError) -> HTTPReply {
    let token = try await tokens.token()
    let reply = try await exchanged(call, token, exchange)
    guard reply.status.code == 401 else { return reply }
    await tokens.forget(token)
    let fresh = try await tokens.token()
    return fresh == token ? reply : try await exchanged(call, fresh, exchange)
  }

  private func exchanged(
    _ call: HTTPCall, _ token: Secret, _ exchange: (HTTPCall) async throws(HTTPFailure) -> HTTPReply
  ) async throws(UploadError) -> HTTPReply {
    var call = call
    call.credentials = [HTTPCredential(.authorization, Secret("Bearer " + token.revealed), for: origin)]
    return try await rethrowing(as: { UploadError($0, store: store) }) { () async throws(HTTPFailure) in
      try await exchange(call)
    }
  }
}

extension GoogleClient: CustomReflectable {
  /// No children, for `dump`: the transport would reveal what is sent.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The error in a Google API's refusal (https://cloud.google.com/apis/design/errors#http_mapping): a canonical status
/// from Firestore, reasons from Cloud Storage.
struct GoogleFailure: Hashable, Sendable {
  /// The canonical status, such as `ABORTED`; nil if there is none.
  let status: String?
  /// The reasons, such as `rateLimitExceeded`.
  let reasons: [String]
  /// A message for people, of any length and content.
  let message: String?

  /// Reads a reply's body. Firestore's streams (`:batchGet`) wrap the error in an array.
  init(_ reply: HTTPReply) {
    let body = Data(reply.body)
    let said =
      (try? JSONDecoder().decode(Body.self, from: body))
      ?? (try? JSONDecoder().decode([Body].self, from: body))?.first
    status = said?.error.status
    reasons = said?.error.errors?.compactMap(\.reason) ?? []
    message = said?.error.message
  }

  private struct Body: Decodable {
    struct Said: Decodable {
      struct Detail: Decodable {
        let reason: String?
      }
      let status: String?
      let message: String?
      let errors: [Detail]?
    }
    let error: Said
  }

  /// - Parameters:
  ///   - task: what was requested, such as "store abc.mp4".
  ///   - permission: the role that allows it.
  ///   - now: this machine's clock.
  func error(
    _ reply: HTTPReply, store: Destination, task: String, permission: String, now: Date
  ) -> UploadError {
    let said = message.map { ": " + HTTPReply.oneLine($0) } ?? ""
    switch reply.status.code {
    case 401:
      return UploadError(
        .denied,
        "the store \(store) did not \(task) (401\(said)): it does not take the token; see the service account's key"
      )
    case 403 where reasons.contains { $0.lowercased().contains("ratelimit") }:
      return UploadError(
        .unavailable, "the store \(store) did not \(task) (403\(said)): it is asked too often",
        retryAfter: reply.retryAfter(now: now))
    case 403:
      return UploadError(
        .denied,
        "the store \(store) did not \(task) (403\(said)): give the service account the role \(permission)")
    default: return reply.failure(store: store, task: task, reason: message, now: now)
    }
  }
}
