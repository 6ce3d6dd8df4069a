import Crypto
import FoundationEssentials
import Glibc
import HTTPTypes
import Reel

/// The secret shared with a webhook's receiver (Standard Webhooks, "Signature scheme": symmetric).
public struct WebhookSecret: Sendable {
  private static let prefix = "whsec_"
  private let key: SymmetricKey

  /// Nil for anything but `whsec_` and 24 to 64 bytes in Base64.
  init?(_ text: some StringProtocol) {
    let text = String(text).filter { !$0.isWhitespace }
    guard text.hasPrefix(Self.prefix), let bytes = Base64.decode(text.dropFirst(Self.prefix.count)),
      (24...64).contains(bytes.count)
    else { return nil }
    key = SymmetricKey(data: bytes)
  }

  /// Reads the file. Blocks.
  /// - Throws: a sentence for the user who starts the server.
  public static func read(_ path: String) throws -> WebhookSecret {
    let text = try SecretFile.read(path, "the webhook's secret", maker: "new-webhook-secret")
    guard let secret = WebhookSecret(text) else {
      throw StartFailure(
        "\(path) holds no secret of a webhook (whsec_ and 24 bytes or more in Base64): `reel-serve new-webhook-secret FILE` makes one"
      )
    }
    return secret
  }

  /// Creates a file with a new secret (0600). Blocks.
  /// - Throws: a sentence for the user, also if the file exists.
  public static func make(at path: String) throws {
    let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    try SecretFile.make(at: path, prefix + Base64.encode(bytes))
  }

  func signature(of body: [UInt8], id: String, at seconds: Int64) -> String {
    let code = HMAC<SHA256>.authenticationCode(for: Data("\(id).\(seconds).".utf8) + body, using: key)
    return "v1," + Base64.encode(code)
  }
}

/// A webhook's answer to an event.
enum WebhookAnswer: Hashable, Sendable {
  case taken
  /// It does not accept this event.
  case refused(reason: String)
  /// It takes nothing at present; `seconds` is the pause that it asks for, if any.
  case away(reason: String, seconds: Double?)
}

/// A program that is notified of posts.
struct Webhook: Sendable {
  private let origin: HTTPOrigin
  /// Path and query.
  private let target: String
  private let secret: WebhookSecret
  private let transport: any HTTPTransport
  private let clock: any WallClock

  /// How long it may take to answer.
  private static let patience = Duration.seconds(20)

  /// - Throws: a sentence for the user who starts the server: over the network the address has to be https.
  init(_ address: String, secret: WebhookSecret, extraCertificates: String?) throws {
    let rules = HTTPRules(extraCertificates: extraCertificates, connections: 4)
    do {
      try self.init(address, secret: secret, transport: try CurlTransport(rules), clock: SystemWallClock())
      try rules.check(origin)
    } catch let error as HTTPAddressError {
      throw StartFailure("the webhook's address can't be used: \(error.reason)")
    } catch HTTPFailure.plainHTTP(let origin) {
      throw StartFailure(
        "a webhook on another machine (\(origin)) needs https: what is sent could be read and changed on its way"
      )
    }
  }

  /// - Throws: `HTTPAddressError`, or a sentence about the query.
  init(_ address: String, secret: WebhookSecret, transport: any HTTPTransport, clock: any WallClock) throws {
    // Some webhooks take their key in the query.
    let parts = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let base = try HTTPAddress(parsing: String(parts[0]))
    let query = parts.count > 1 ? "?" + parts[1] : ""
    guard query.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
      throw StartFailure(
        "the webhook's address can't be used: its query holds characters that have to be percent-encoded")
    }
    (origin, target) = (base.origin, (base.path.isEmpty ? "/" : base.path) + query)
    (self.secret, self.transport, self.clock) = (secret, transport, clock)
  }

  /// Its address without the path, which may be as good as a key.
  var name: String { origin.description }

  func send(_ event: OutgoingEvent, _ body: [UInt8]) async -> WebhookAnswer {
    let (answers, answer) = AsyncStream.makeStream(of: WebhookAnswer.self)
    return await withTaskGroup(of: Void.self) { group in
      group.addTask { answer.yield(await self.answer(to: event, body) { answer.yield(.taken) }) }
      group.addTask {
        try? await Task.sleep(for: Self.patience)
        answer.yield(
          .away(reason: "it did not answer within \(Self.patience / .seconds(1)) s", seconds: nil))
      }
      defer { group.cancelAll() }
      for await said in answers { return said }
      return .away(reason: "it was not asked", seconds: nil)
    }
  }

  /// - Parameter isTaken: called as soon as the body of a success begins. The body means nothing here, and need not
  ///   end.
  private func answer(
    to event: OutgoingEvent, _ body: [UInt8], isTaken: @escaping @Sendable () -> Void
  ) async -> WebhookAnswer {
    let now = clock.now()
    let seconds = Int64(now.timeIntervalSince1970)
    var call = HTTPCall(.post, origin, target, body: .bytes(body))
    call.fields = [
      .contentType: "application/json", .userAgent: "reel-serve/\(ReelVersion.current)",
      .webhookID: event.id, .webhookTimestamp: "\(seconds)",
      .webhookSignature: secret.signature(of: body, id: event.id, at: seconds),
    ]
    do {
      let reply = try await transport.fetch(call, into: 0) { _, _ in isTaken() }.reply
      if reply.isSuccess { return .taken }
      let reason = "it answers with \(reply.status.code)"
      return switch reply.status.code {
      // The webhook, or a proxy before it, asks for a pause.
      case 429, 502, 503, 504: .away(reason: reason, seconds: reply.retryAfter(now: now))
      default: .refused(reason: reason)
      }
    } catch .replyTooLarge {
      return .refused(reason: "its answer is too long")
    } catch {
      return .away(reason: "\(error)", seconds: nil)
    }
  }
}
