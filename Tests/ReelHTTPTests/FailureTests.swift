import CCurl
import ReelCore
import Testing

@testable import ReelRemoteStorage

/// Which TLS failures end a run, and which are retried.
@Suite struct TLSFailureTests {
  private static func handshake(_ words: String) -> CurlError {
    CurlError(code: CURLE_SSL_CONNECT_ERROR, host: "h", hasBegun: false, words: words)
  }
  private static func certificate(_ verification: Int) -> CurlError {
    CurlError(
      code: CURLE_PEER_FAILED_VERIFICATION, host: "h", hasBegun: false, verification: verification,
      words: "SSL certificate problem")
  }
  private static func later(_ code: CURLcode, _ words: String, number: Int32 = 0) -> CurlError {
    CurlError(code: code, host: "h", hasBegun: true, number: number, words: words)
  }

  private static let cases: [(CurlError, UploadError.Code)] = [
    (handshake("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to h:443 "), .unavailable),
    (handshake("error:0A000126:SSL routines::unexpected eof while reading"), .unavailable),
    (handshake("OpenSSL SSL_connect: Connection reset by peer in connection to h:443 "), .unavailable),
    (handshake("OpenSSL SSL_connect: SSL_ERROR_ZERO_RETURN in connection to h:443 "), .unavailable),
    (
      later(
        CURLE_RECV_ERROR,
        "OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0"),
      .interrupted
    ),
    (
      later(
        CURLE_RECV_ERROR,
        "OpenSSL SSL_read: error:0A000119:SSL routines::decryption failed or bad record mac, errno 0"),
      .interrupted
    ),
    (later(CURLE_SEND_ERROR, "OpenSSL SSL_write: SSL_ERROR_SYSCALL, errno 32", number: 32), .interrupted),
    (later(CURLE_SEND_ERROR, "SSL_write() returned SYSCALL, errno = 32"), .interrupted),
    (handshake("error:0A00045C:SSL routines::tlsv13 alert certificate required"), .storeUnusable),
    (
      later(
        CURLE_RECV_ERROR,
        "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"),
      .storeUnusable
    ),
    (handshake("error:0A00010B:SSL routines::wrong version number"), .storeUnusable),
    (handshake("error:0A000102:SSL routines::unsupported protocol"), .storeUnusable),
    (handshake("error:0A00042E:SSL routines::tlsv1 alert protocol version"), .storeUnusable),
    (handshake("OpenSSL says something new"), .storeUnusable),
    (certificate(0), .storeUnusable), (certificate(9), .storeUnusable), (certificate(10), .storeUnusable),
    (certificate(18), .storeUnusable), (certificate(20), .storeUnusable), (certificate(66), .storeUnusable),
    (
      CurlError(
        code: CURLE_SSL_CACERT_BADFILE, host: "h", hasBegun: false, words: "error setting certificate file"),
      .storeUnusable
    ),
  ]

  @Test(arguments: cases.indices)
  func meaning(_ index: Int) {
    let (error, code) = Self.cases[index]
    let failure = UploadError(HTTPFailure(error), store: "s3://b")
    #expect(failure.code == code, "\(error): \(failure.message)")
    #expect(!failure.message.contains("SSL"), "\(failure.message)")
  }

  @Test("another certificate authority is advised only where one would help")
  func advice() {
    let words = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"
    let theirs = [
      Self.certificate(0), Self.certificate(9), Self.certificate(10), Self.certificate(66),
      Self.later(CURLE_RECV_ERROR, words),
      Self.handshake("error:0A00010B:SSL routines::wrong version number"),
      Self.handshake("error:0A000102:SSL routines::unsupported protocol"),
    ]
    for error in theirs + [Self.certificate(18), Self.certificate(20)] {
      let failure = UploadError(HTTPFailure(error), store: "s3://b")
      let isTheirs = theirs.contains { $0.words == error.words && $0.verification == error.verification }
      #expect(failure.message.contains("caFile") != isTheirs, "\(failure.message)")
    }
    let early = UploadError(HTTPFailure(Self.certificate(9)), store: "s3://b")
    #expect(early.message.contains("clock"), "\(early.message)")
  }
}

/// The reasons why a connection ended.
@Suite struct BrokenConnectionTests {
  private static let cases: [(CurlError, HTTPFailure)] = [
    (
      CurlError(code: CURLE_COULDNT_CONNECT, host: "h", hasBegun: false, number: 111),
      .unreachable("Connection refused")
    ),
    (
      CurlError(code: CURLE_OPERATION_TIMEDOUT, host: "h", hasBegun: false),
      .unreachable("no connection in time")
    ),
    (
      CurlError(code: CURLE_COULDNT_RESOLVE_HOST, host: "h", hasBegun: false),
      .unreachable("there is no host named h")
    ),
    (CurlError(code: CURLE_GOT_NOTHING, host: "h", hasBegun: true), .broken("it was closed from there")),
    // Reel forbids libcurl to resend such a request.
    (
      CurlError(code: CURLE_ABORTED_BY_CALLBACK, host: "h", hasBegun: true),
      .broken("it was closed from there")
    ),
    (
      CurlError(code: CURLE_SEND_FAIL_REWIND, host: "h", hasBegun: true), .broken("it was closed from there")
    ),
    (
      CurlError(code: CURLE_RECV_ERROR, host: "h", hasBegun: true, number: 104),
      .broken("Connection reset by peer")
    ),
    (
      CurlError(code: CURLE_RECV_ERROR, host: "h", hasBegun: false, proxyStatus: 407),
      .proxyRefused(status: 407)
    ),
    // 7.88 reports an overlong header line as out of memory; 8.6 and later have a separate code.
    (
      CurlError(code: CURLE_OUT_OF_MEMORY, host: "h", hasBegun: true),
      .replyTooLarge(limit: CurlTransfer.headLimit)
    ),
    (
      CurlError(code: CURLcode(rawValue: 100), host: "h", hasBegun: true),
      .replyTooLarge(limit: CurlTransfer.headLimit)
    ),
  ]

  @Test(arguments: cases.indices)
  func meaning(_ index: Int) {
    let (error, failure) = Self.cases[index]
    #expect(HTTPFailure(error) == failure)
  }
}

@Suite struct CurlTests {
  @Test("a missing library is reported with the package to install")
  func missing() {
    let failure = #expect(throws: HTTPFailure.self) { _ = try Curl(opening: "libcurl-that-is-nowhere.so.4") }
    guard case .noLibrary(let reason) = failure else { Issue.record("\(failure as Any)"); return }
    #expect(reason.contains("libcurl-that-is-nowhere.so.4"))
    let error = UploadError(.noLibrary(reason), store: "s3://b")
    #expect(error.code == .storeUnusable && error.message.contains("libcurl4"))
  }

  @Test("a library that is not libcurl is rejected")
  func other() {
    let failure = #expect(throws: HTTPFailure.self) { _ = try Curl(opening: "libc.so.6") }
    #expect(failure == .noLibrary("it has no function curl_global_init"))
  }
}
