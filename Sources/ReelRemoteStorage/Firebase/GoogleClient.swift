import FoundationEssentials
import HTTPTypes
import ReelCore

/// Sends requests to one of Google's services, each with the access token, and to no other origin.
struct GoogleClient: Sendable {
  let origin: HTTPOrigin
  let transport: any HTTPTransport
  let tokens: any TokenSource
  /// The store's settled name, for sentences.
  let store: Destination
  let clock: any WallClock

  /// A request for this service.
  func call(_ method: HTTPRequest.Method, _ target: String) -> HTTPCall { HTTPCall(method, origin, target) }

  /// A request with a JSON body.
  func call(
    _ method: HTTPRequest.Method, _ target: String, json: some Encodable
  ) throws(UploadError) -> HTTPCall {
    var call = call(method, target)
    call.fields[.contentType] = "application/json; charset=utf-8"
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
      call.body = .bytes(Array(try encoder.encode(json)))
    } catch {
      throw UploadError(.rejected, "what \(store) is to be told can't be written as JSON: \(error)")
    }
    return call
  }

  /// The reply, whatever its status. A token that is refused is renewed once.
  func send(_ call: HTTPCall) async throws(UploadError) -> HTTPReply {
    try await authorized(call) { call throws(HTTPFailure) in try await transport.send(call) }
  }

  /// The reply, with the body of a 2xx one folded.
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

  /// What a reply without success means.
  func failure(_ reply: HTTPReply, _ task: String, permission: String) -> UploadError {
    GoogleFailure(reply).error(reply, store: store, task: task, permission: permission, now: clock.now())
  }

  /// - Throws: `interrupted` when the body is not what it should be: a proxy's page, or half of it.
  func decoded<Value: Decodable>(
    _ type: Value.Type, _ reply: HTTPReply, _ task: String
  ) throws(UploadError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: Data(reply.body))
    } catch {
      throw UploadError(
        .interrupted, "the store \(store) did \(task), but what it answered can't be understood: try again")
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
    do throws(HTTPFailure) {
      return try await exchange(call)
    } catch {
      throw UploadError(error, store: store)
    }
  }
}

extension GoogleClient: CustomReflectable {
  /// Nothing inside, for `dump`: the transport shows what is on the wire.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}
