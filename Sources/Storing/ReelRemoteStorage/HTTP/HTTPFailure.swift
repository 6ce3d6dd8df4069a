import CCurl
import Glibc
import ReelCore

/// The reason why there is no reply. Reasons are for people, and contain no address but the origin's.
public enum HTTPFailure: Error, Hashable, Sendable {
  /// No connection: refused, no such host, no route.
  case unreachable(String)
  /// The connection was made, but no byte was transferred in either direction for this long.
  case silent(Duration)
  /// The exchange as a whole took too long.
  case timedOut(String)
  /// The connection was made, and broke.
  case broken(String)
  /// TLS: the server is not trusted, or does not speak TLS.
  case untrusted(String)
  /// Plain http to another machine, which was not allowed.
  case plainHTTP(HTTPOrigin)
  /// A credential was about to be sent to an origin that it is not meant for: a bug in this program. Nothing was sent.
  case misdirected(HTTPOrigin)
  /// The reply was longer than the call allows; `limit` is in bytes.
  case replyTooLarge(limit: Int)
  /// The bytes to be sent could not be read, or changed; or the address must not be read from.
  case source(UploadError)
  /// The task was cancelled.
  case cancelled
  /// The reply is not valid HTTP.
  case garbled(String)
  /// The proxy refused to connect, with this status.
  case proxyRefused(status: Int)
  /// libcurl can't be used.
  case noLibrary(String)
}

extension UploadError {
  /// Says what a failed exchange means for an upload.
  /// - Parameter store: the store's settled name, for the sentence.
  public init(_ failure: HTTPFailure, store: some CustomStringConvertible) {
    switch failure {
    case .unreachable(let reason):
      self.init(
        .unavailable,
        "the store \(store) can't be reached (\(reason)): check its address and the network, then try again")
    case .silent(let time):
      self.init(
        .interrupted,
        "the store \(store) does not answer (nothing was received for \(time.formatted)): check its address and the "
          + "network, then try again to resume", silence: time / .seconds(1))
    case .timedOut(let reason):
      self.init(
        .interrupted, "the store \(store) was too slow (\(reason)): try again to resume")
    case .broken(let reason):
      self.init(
        .interrupted,
        "the connection to the store \(store) broke (\(reason)): try again to resume")
    case .untrusted(let reason):
      self.init(
        .storeUnusable, "the store \(store) can't be trusted (\(reason)): " + TLSFault.advice(for: reason))
    case .plainHTTP(let origin):
      self.init(
        .storeUnusable,
        "\(origin) is not encrypted, so what is sent could be read and changed on its way: use https, or allow it "
          + "with \(setting: .insecureHTTP)")
    case .misdirected(let origin):
      self.init(
        .rejected,
        "a credential for the store \(store) was about to be sent to \(origin); nothing was sent: please report this bug"
      )
    case .replyTooLarge(let limit):
      self.init(.rejected, "the store \(store) answered with more than \(limit) bytes: check its address")
    case .source(let error): self = error
    case .cancelled:
      self.init(.cancelled, "cancelled before it was stored; try again to resume")
    case .proxyRefused(let status) where status >= 500:
      self.init(
        .unavailable,
        "the store \(store) can't be reached (the proxy answered \(status)): check the proxy and the store's address, "
          + "then try again")
    case .proxyRefused(let status):
      self.init(
        .storeUnusable,
        "the store \(store) can't be reached (the proxy refused with status \(status)): check the proxy's address and "
          + "its user and password")
    case .noLibrary(let reason):
      self.init(
        .storeUnusable,
        "the store \(store) can't be reached, because libcurl can't be used (\(reason)): install it (Debian and "
          + "Ubuntu: libcurl4; Fedora: libcurl)")
    case .garbled(let reason):
      self.init(
        .rejected,
        "the server at the store \(store) does not speak HTTP (\(reason)): check its address and port"
      )
    }
  }
}

extension HTTPFailure {
  /// The bytes to be sent can't be read.
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

/// What libcurl reports about a transfer that failed.
struct CurlError: Sendable {
  let code: CURLcode
  let host: String
  /// Whether the request was about to be sent, over an established connection.
  let hasBegun: Bool
  /// Whether the reply's head was complete, and how much of it had arrived.
  var isHeadWhole = false
  var headLength = 0
  /// The `errno` of the system call that failed; 0 if none did.
  var number: Int32 = 0
  /// OpenSSL's verdict on the certificate (`X509_V_…`); 0 if its chain was valid.
  var verification = 0
  /// The proxy's reply to CONNECT; 0 if no proxy was asked.
  var proxyStatus = 0
  var words = ""
}

extension HTTPFailure {
  /// Classifies libcurl's error.
  init(_ error: CurlError) {
    // The code for a proxy's refusal depends on libcurl's version.
    if error.proxyStatus >= 400, !error.hasBegun {
      self = .proxyRefused(status: error.proxyStatus)
      return
    }
    // In TLS 1.3 this alert arrives after the handshake.
    if error.words.contains("alert certificate required") {
      self = .untrusted(TLSFault.asksForCertificate.rawValue)
      return
    }
    switch error.code {
    case CURLE_COULDNT_RESOLVE_HOST: self = .unreachable("there is no host named \(error.host)")
    case CURLE_COULDNT_RESOLVE_PROXY: self = .unreachable("there is no host with the proxy's name")
    case CURLE_COULDNT_CONNECT:
      let reason = error.number == 0 ? "no connection" : SystemError(code: error.number, call: "").reason
      self = .unreachable(reason)
    case CURLE_OPERATION_TIMEDOUT: self = .unreachable("no connection in time")
    case CURLE_PROXY: self = .unreachable("the proxy does not connect")
    case CURLE_PEER_FAILED_VERIFICATION: self = .untrusted(error.certificateReason)
    case CURLE_SSL_CONNECT_ERROR: self.init(handshake: error)
    case CURLE_SSL_CACERT_BADFILE: self = .untrusted("the certificates to trust can't be read")
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_USE_SSL_FAILED:
      self = .untrusted(error.handshakeReason)
    // The server speaks HTTP/0.9 at best.
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: self = .garbled(error.words)
    // libcurl's own limit for a line of the head; 100 is CURLE_TOO_LARGE in newer versions.
    case CURLE_OUT_OF_MEMORY where error.hasBegun && !error.isHeadWhole, CURLcode(rawValue: 100):
      self = .replyTooLarge(limit: CurlTransfer.headLimit)
    default: self.init(broken: error)
    }
  }

  /// Classifies the failure of a connection.
  private init(broken error: CurlError) {
    if error.words.contains("oo large response headers") {
      self = .replyTooLarge(limit: CurlTransfer.headLimit)
    } else if !error.hasBegun {
      self = .unreachable("it was closed while the connection was made")
    } else if let reason = error.systemReason {
      self = .broken(reason)
    } else if error.words.contains("SSL") {
      self = .broken("TLS was cut off")
    } else {
      switch error.code {
      // The first two: a request that may be sent only once was about to be sent again.
      case CURLE_ABORTED_BY_CALLBACK, CURLE_SEND_FAIL_REWIND, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
        CURLE_SEND_ERROR, CURLE_RECV_ERROR:
        self = .broken("it was closed from there")
      default: self = .broken(error.words)
      }
    }
  }

  /// Classifies a failed handshake. A connection that ends in the middle of one says nothing about trust.
  private init(handshake error: CurlError) {
    let cut = [
      "SSL_ERROR_SYSCALL", "unexpected eof", "SSL_ERROR_ZERO_RETURN", "Connection reset", "Broken pipe",
    ]
    if cut.contains(where: { error.words.contains($0) }) {
      self = .unreachable("it was closed during the TLS handshake")
    } else if ["wrong version number", "http request", "packet length too long"].contains(where: {
      error.words.contains($0)
    }) {
      self = .untrusted(TLSFault.noTLS.rawValue)
    } else if ["unsupported protocol", "alert protocol version", "version too low"].contains(where: {
      error.words.contains($0)
    }) {
      self = .untrusted(TLSFault.old.rawValue)
    } else {
      self = .untrusted(error.handshakeReason)
    }
  }
}

/// A fault of the server itself: trusting another authority would not remedy it.
enum TLSFault: String, CaseIterable {
  case otherName = "its certificate is for another name"
  case expired = "its certificate has expired"
  case notYet = "its certificate is not valid yet"
  case weak = "its certificate, or one above it, is too weak"
  case noTLS = "it does not speak TLS"
  case old = "it speaks no TLS version above 1.1, which is not safe"
  case asksForCertificate = "it requires a client certificate, which Reel does not support"

  static func advice(for reason: String) -> ErrorMessage {
    switch TLSFault(rawValue: reason) {
    case nil: "give the certificate of its authority with \(setting: .caFile), or correct the address"
    case .notYet: "check this machine's clock"
    default: "correct the address, or have the server's operator fix this"
    }
  }
}

extension CurlError {
  /// OpenSSL's message has the form `error:NUMBER:SSL routines::why`.
  fileprivate var handshakeReason: String {
    guard let why = words.firstRange(of: "::").map({ words[$0.upperBound...] }) else {
      return "the TLS handshake failed"
    }
    return "the TLS handshake failed: \(why)"
  }

  /// OpenSSL verifies the chain before the name.
  fileprivate var certificateReason: String {
    switch verification {
    // The chain was not verified yet, or is valid.
    case 0, 1: TLSFault.otherName.rawValue
    // X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED.
    case 9: TLSFault.notYet.rawValue
    case 10: TLSFault.expired.rawValue
    // X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK.
    case 66...68: TLSFault.weak.rawValue
    default: "its certificate was not issued by an authority that this machine trusts, or has expired"
    }
  }

  fileprivate var systemReason: String? {
    [ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN].contains(number)
      ? SystemError(code: number, call: "").reason : nil
  }
}
