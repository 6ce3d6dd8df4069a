#if HTTP
  import AsyncHTTPClient
  import Glibc
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
  import ReelModel
  import ReelSystem

  extension HTTPFailure {
    /// Sorts what async-http-client and SwiftNIO throw.
    /// - Parameters:
    ///   - idle: how long nothing may come or go.
    ///   - answer: how long the reply may take to begin.
    ///   - sinceBody: how long ago the last of the body was the connection's; nil before that.
    init(_ error: any Error, idle: Duration, answer: Duration, sinceBody: Duration? = nil) {
      switch error {
      // async-http-client waits for `idle` from there, and then closes the connection before it tells why: where the
      // end of the body is still to be written, that is what fails (HTTP1ClientChannelHandler, `sendRequestEnd`).
      case ChannelError.ioOnClosedChannel where sinceBody.map({ $0 >= idle }) ?? false: self = .silent(idle)
      case let failure as HTTPFailure: self = failure
      case let error as UploadError: self = error.code == .cancelled ? .cancelled : .source(error)
      case is CancellationError: self = .cancelled
      case let error as HTTPClientError where error == .readTimeout: self = .silent(idle)
      case let error as HTTPClientError where error == .deadlineExceeded: self = .silent(answer)
      case let error as HTTPClientError: self.init(error)
      case let error as NIOConnectionError: self = .unreachable(Self.reason(error))
      case let error as IOError: self.init(error)
      case let error as ChannelError: self.init(error)
      case let error as NIOSSLError: self.init(error)
      // Of a record that can't be read, on a connection that was trusted: the handshake's are told as such.
      case is BoringSSLError: self = .broken("what came over TLS could not be read")
      case let error as NIOSSLExtraError where error == .failedToValidateHostname:
        self = .untrusted("its certificate is for another name")
      case let error as NIOSSLExtraError: self = .untrusted("\(error)")
      case HTTPParserError.invalidEOFState: self = .broken("it was closed from there")
      case is HTTPParserError: self = .garbled("\(error)")
      default: self = .broken("\(error)")
      }
    }

    private init(_ error: HTTPClientError) {
      switch error {
      case .cancelled, .requestStreamCancelled: self = .cancelled
      case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
        self = .unreachable("no connection in time")
      case .remoteConnectionClosed, .uncleanShutdown: self = .broken("it was closed from there")
      default: self = .broken(error.shortDescription)
      }
    }

    private init(_ error: ChannelError) {
      if case .connectTimeout = error {
        self = .unreachable("no connection in time")
      } else {
        self = .broken("it was closed")
      }
    }

    /// connect(2) and bind(2) speak of a connection that never was.
    private init(_ error: IOError) {
      let reason = SystemError(code: error.errnoCode, call: "").reason
      let isEarly = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, EADDRNOTAVAIL]
      self = isEarly.contains(error.errnoCode) ? .unreachable(reason) : .broken(reason)
    }

    /// A connection that ends in the middle of TLS says nothing about who is trusted.
    private init(_ error: NIOSSLError) {
      switch error {
      case .handshakeFailed(let reason) where Self.isCut(reason):
        self = .unreachable("it was closed during the TLS handshake")
      case .uncleanShutdown, .writeDuringTLSShutdown, .shutdownFailed, .readInInvalidTLSState:
        self = .broken("TLS was cut off")
      default: self = .untrusted(Self.reason(error))
      }
    }

    private static func isCut(_ error: BoringSSLError) -> Bool {
      switch error {
      case .syscallError, .zeroReturn: true
      case .sslError(let stack), .unknownError(let stack):
        stack.contains { $0 == .eofDuringHandshake || $0 == .eofDuringAdditionalCertficiateChainValidation }
      default: false
      }
    }

    /// The name was resolved but nobody answered, or it was not.
    private static func reason(_ error: NIOConnectionError) -> String {
      if let first = error.connectionErrors.first {
        if let error = first.error as? IOError { return SystemError(code: error.errnoCode, call: "").reason }
        return "no connection in time"
      }
      return "there is no host named \(error.host)"
    }

    private static func reason(_ error: NIOSSLError) -> String {
      switch error {
      case .handshakeFailed(let reason): words(reason)
      case .unableToValidateCertificate: "its certificate is for another name"
      case .noCertificateToValidate: "it shows no certificate"
      default: "\(error)"
      }
    }

    private static func words(_ error: BoringSSLError) -> String {
      let text = "\(error)"
      if text.contains("CERTIFICATE_VERIFY_FAILED") {
        return "its certificate comes from nobody that this machine trusts, or is out of date"
      }
      if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST") { return "it speaks no TLS" }
      return "the TLS handshake failed: \(text)"
    }
  }
#endif
