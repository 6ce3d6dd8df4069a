#if HTTP
  import NIOCore
  import NIOSSL
  import ReelModel
  import Testing

  @testable import ReelHTTP

  /// What of TLS ends a run, and what is tried again.
  @Suite struct TLSFailureTests {
    private static let cases: [(any Error & Sendable, UploadError.Code)] = [
      (NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])), .unavailable),
      (
        NIOSSLError.handshakeFailed(.sslError([.eofDuringAdditionalCertficiateChainValidation])), .unavailable
      ),
      (NIOSSLError.handshakeFailed(.syscallError), .unavailable),
      (NIOSSLError.handshakeFailed(.zeroReturn), .unavailable),
      (NIOSSLError.uncleanShutdown, .interrupted), (NIOSSLError.readInInvalidTLSState, .interrupted),
      (NIOSSLError.shutdownFailed(.syscallError), .interrupted),
      (BoringSSLError.sslError([]), .interrupted), (BoringSSLError.syscallError, .interrupted),
      (NIOSSLError.handshakeFailed(.sslError([])), .storeUnusable),
      (NIOSSLError.unableToValidateCertificate, .storeUnusable),
      (NIOSSLError.noCertificateToValidate, .storeUnusable),
      (NIOSSLExtraError.failedToValidateHostname, .storeUnusable),
    ]

    @Test(arguments: cases.indices)
    func meaning(_ index: Int) {
      let (error, code) = Self.cases[index]
      let failure = UploadError(HTTPFailure(error, idle: .seconds(1), answer: .seconds(1)), store: "s3://b")
      #expect(failure.code == code, "\(error): \(failure.message)")
      #expect(!failure.message.contains("SSL"), "\(failure.message)")
    }
  }

  /// A connection that was closed at our end.
  @Suite struct ClosedConnectionTests {
    @Test(
      "for silence after a body, and when it was not that",
      arguments: [
        (nil, false), (Duration.milliseconds(999), false), (.milliseconds(1000), true), (.seconds(60), true),
      ])
    func silence(_ sinceBody: Duration?, _ isSilence: Bool) {
      let failure = HTTPFailure(
        ChannelError.ioOnClosedChannel, idle: .seconds(1), answer: .seconds(20), sinceBody: sinceBody)
      #expect(failure == (isSilence ? .silent(.seconds(1)) : .broken("it was closed")))
    }
  }
#endif
