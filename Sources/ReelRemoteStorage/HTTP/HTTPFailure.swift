import ReelCore

/// Why there is no reply. Reasons are for people, and hold no address but the origin's.
public enum HTTPFailure: Error, Hashable, Sendable {
  /// No connection: refused, no such host, no way there.
  case unreachable(String)
  /// The connection was there, and nothing came or went for so long.
  case silent(Duration)
  /// Too slow in all.
  case timedOut(String)
  /// The connection was there, and broke.
  case broken(String)
  /// TLS: who answers is not trusted, or speaks none.
  case untrusted(String)
  /// Plain http to another machine, and nobody allowed it.
  case plainHTTP(HTTPOrigin)
  /// A credential was to be sent to an origin that it is not meant for. A mistake in this program; nothing was sent.
  case misdirected(HTTPOrigin)
  /// The reply's body is longer than it may be.
  case replyTooLarge(limit: Int)
  /// The bytes to be sent could not be read, or changed.
  case source(UploadError)
  /// The task was cancelled.
  case cancelled
  /// What answers speaks no HTTP that could be understood.
  case garbled(String)
  /// The proxy lets nothing through, and answered with that status.
  case proxyRefused(status: Int)
  /// libcurl can't be used.
  case noLibrary(String)
}

extension UploadError {
  /// What a failed exchange means for an upload.
  /// - Parameter store: the store's settled name, for the sentence.
  public init(_ failure: HTTPFailure, store: some CustomStringConvertible) {
    switch failure {
    case .unreachable(let reason):
      self.init(
        .unavailable,
        "the store \(store) can't be reached (\(reason)): check its address and the network, then run the same "
          + "command again")
    case .silent(let time):
      self.init(
        .interrupted,
        "the store \(store) gives no answer (\(time.formatted) passed without any): check its address and the network, "
          + "then run the same command again to go on", silence: time / .seconds(1))
    case .timedOut(let reason):
      self.init(
        .interrupted, "the store \(store) was too slow (\(reason)): run the same command again to go on")
    case .broken(let reason):
      self.init(
        .interrupted,
        "the connection to the store \(store) broke (\(reason)): run the same command again to go on")
    case .untrusted(let reason):
      self.init(
        .storeUnusable,
        "the store \(store) can't be trusted (\(reason)): give the certificate of its authority with --ca-file, "
          + "or correct the address")
    case .plainHTTP(let origin):
      self.init(
        .storeUnusable,
        "\(origin) is not encrypted, so what is sent could be read and changed on its way: use https, or allow it "
          + "with --insecure-http")
    case .misdirected(let origin):
      self.init(
        .rejected, "a credential of the store \(store) was to be sent to \(origin), and was not: report this")
    case .replyTooLarge(let limit):
      self.init(.rejected, "the store \(store) answered with more than \(limit) bytes: check its address")
    case .source(let error): self = error
    case .cancelled:
      self.init(.cancelled, "cancelled before it was stored; run the same command again to go on")
    case .proxyRefused(let status) where status >= 500:
      self.init(
        .unavailable,
        "the store \(store) can't be reached (the proxy answered \(status)): check the proxy and the store's address, "
          + "then run the same command again")
    case .proxyRefused(let status):
      self.init(
        .storeUnusable,
        "the store \(store) can't be reached (the proxy refused with status \(status)): check the proxy's address and "
          + "its user and password")
    case .noLibrary(let reason):
      self.init(
        .storeUnusable,
        "the store \(store) can't be spoken to, as libcurl can't be used (\(reason)): install it (Debian and Ubuntu: "
          + "libcurl4; Fedora: libcurl)")
    case .garbled(let reason):
      self.init(
        .rejected, "what answers at the store \(store) speaks no HTTP (\(reason)): check its address and port"
      )
    }
  }
}

extension HTTPFailure {
  /// What was to be sent can't be read.
  init(reading error: UploadError) { self = error.code == .cancelled ? .cancelled : .source(error) }
}

extension Duration {
  /// Such as `20 seconds`.
  fileprivate var formatted: String {
    let seconds = self / .seconds(1)
    return seconds == 1
      ? "1 second" : "\(seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)") seconds"
  }
}
