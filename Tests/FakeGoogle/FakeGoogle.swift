import Foundation
import ReelCore
import ReelHTTPFakes
import ReelRemoteStorage
import Synchronization

/// A fake of Google's services: Cloud Storage, Firestore and the token endpoint, on one port of 127.0.0.1. It is strict
/// where the real ones are: tokens, preconditions, checksums, offsets, transactions.
package final class FakeGoogle: Sendable {
  package static let bucket = "my-app.appspot.com"
  package static let project = "my-app"
  package static let email = "reel@my-app.iam.gserviceaccount.com"

  /// Occurs in the address of every upload session.
  package static let sessionMark = "s3cret-session-"

  package let state = Mutex(State())
  let key: TestRSAKey
  let keepsBytes: Bool
  private let server = Mutex<LoopbackServer?>(nil)
  private let proxy = Mutex<Int?>(nil)

  /// The state of the services.
  package struct State {
    package var tokens: [String: Int] = [:]
    /// How often a token is accepted before it expires; nil for no limit.
    package var tokenUses: Int?
    package var tokensGiven = 0
    package var faults: [Fault] = []
    package var objects: [String: Object] = [:]
    /// The objects that were soft-deleted; nil if deleted objects are not kept.
    package var kept: [Kept]?
    package var sessions: [String: Session] = [:]
    package var documents: [String: Document] = [:]
    package var transactions: [String: [String: Int]] = [:]
    /// Advances with everything that is made.
    package var clock = 0
    package var bytesKept = 0
    package var commits = 0

    package mutating func tick() -> Int {
      clock += 1
      return clock
    }
  }

  /// A fault of the nth request (from 1, once) whose method and target contain `words`.
  package struct Fault: Sendable, CustomStringConvertible {
    package enum Effect: Sendable {
      case status(Int, String)
      /// Nothing is done, and the connection ends.
      case reset
      /// It is done, and the client never learns of it.
      case swallow
      /// Only this many bytes of the body arrive, and the connection ends.
      case cut(Int)
      /// A byte of the body changes in transit.
      case corrupt
      /// This change is made first, as if by somebody else.
      case after(@Sendable (inout State) -> Void)
    }
    package var words: String
    package var nth: Int
    package var effect: Effect

    package init(words: String, nth: Int = 1, effect: Effect) {
      (self.words, self.nth, self.effect) = (words, nth, effect)
    }

    package var description: String { "\(effect) at \(nth). \(words)" }
  }

  /// - Parameter keepsBytes: whether it keeps the objects' bytes and computes their checksums. Otherwise it counts them
  ///   and trusts the client's checksum, so as not to be the bottleneck where gigabytes arrive.
  package static func start(
    key: TestRSAKey = TestKey.key, keepsBytes: Bool = true
  ) async throws -> FakeGoogle {
    let fake = FakeGoogle(key, keepsBytes: keepsBytes)
    let server = try await LoopbackServer.start(keepsBodies: keepsBytes) { fake.answer($0) }
    fake.server.withLock { $0 = server }
    return fake
  }

  private init(_ key: TestRSAKey, keepsBytes: Bool) {
    (self.key, self.keepsBytes) = (key, keepsBytes)
  }

  package var port: Int { server.withLock { $0?.port ?? 0 } }
  /// The origin that clients are given.
  package var origin: HTTPOrigin {
    HTTPOrigin(isSecure: false, host: "127.0.0.1", port: proxy.withLock { $0 } ?? port)
  }
  /// From now on clients reach it through what listens at `port`.
  package func stand(behind port: Int) { proxy.withLock { $0 = port } }
  package var requests: [ReceivedRequest] { server.withLock { $0?.requests ?? [] } }

  package func stop() async { await server.withLock { $0 }?.stop() }

  /// Names of objects.
  package var objectNames: [String] { state.withLock { $0.objects.keys.sorted() } }

  package func break_(_ faults: Fault...) { state.withLock { $0.faults += faults } }

  // MARK: Answers

  private func answer(_ request: ReceivedRequest) -> ServerAction {
    state.withLock { state in
      guard let effect = state.fault(for: request) else { return respond(to: request, &state) }
      switch effect {
      case .status(let status, let body): return .reply(status, body: Array(body.utf8))
      case .reset: return .close
      case .swallow:
        _ = respond(to: request, &state)
        return .close
      case .cut(let count):
        _ = respond(to: request.cut(to: count), &state)
        return .close
      case .corrupt: return respond(to: request.corrupted, &state)
      case .after(let change):
        change(&state)
        return respond(to: request, &state)
      }
    }
  }

  private func respond(to request: ReceivedRequest, _ state: inout State) -> ServerAction {
    let path = String(request.target.prefix { $0 != "?" })
    if path == "/token" { return giveToken(request, &state) }
    if path == "/elsewhere" { return .reply(200) }
    guard state.takes(request.header("Authorization")) else {
      return .error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
    }
    if path.hasPrefix("/v1/projects/\(Self.project)/databases/(default)/documents:") {
      return firestore(String(path.drop { $0 != ":" }.dropFirst()), request, &state)
    }
    return storage(path, request, &state)
  }
}

extension FakeGoogle.State {
  mutating func fault(for request: ReceivedRequest) -> FakeGoogle.Fault.Effect? {
    let line = request.method + " " + request.target
    for index in faults.indices where line.contains(faults[index].words) {
      faults[index].nth -= 1
      if faults[index].nth == 0 { return faults.remove(at: index).effect }
    }
    return nil
  }

  mutating func takes(_ authorization: String?) -> Bool {
    guard let authorization, authorization.hasPrefix("Bearer ") else { return false }
    let token = String(authorization.dropFirst(7))
    if token == "owner" { return true }
    guard let uses = tokens[token] else { return false }
    tokens[token] = uses + 1
    return tokenUses.map { uses < $0 } ?? true
  }
}

extension ReceivedRequest {
  /// The decoded value of a name in the query.
  func query(_ name: String) -> String? {
    URLComponents(string: target)?.queryItems?.first { $0.name == name }?.value
  }

  var json: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:]
  }

  var corrupted: ReceivedRequest {
    var body = body
    if !body.isEmpty { body[body.count / 2] ^= 1 }
    return ReceivedRequest(method: method, target: target, headers: headers, body: body)
  }
}

extension ServerAction {
  static func json(_ object: Any, status: Int = 200) -> ServerAction {
    let body = (try? JSONSerialization.data(withJSONObject: object)) ?? Data()
    return .reply(status, headers: [("content-type", "application/json")], body: Array(body))
  }

  static func error(_ code: Int, _ status: String, _ message: String) -> ServerAction {
    json(
      [
        "error": [
          "code": code, "message": message, "status": status, "errors": [["reason": status]],
        ]
      ], status: code)
  }
}
