#if HTTP
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
#endif
