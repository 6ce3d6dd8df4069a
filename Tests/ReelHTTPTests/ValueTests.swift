import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelRemoteStorage
import Testing

@Suite struct HTTPAddressTests {
  @Test(arguments: [
    ("https://Store.Example", "https://store.example", ""),
    ("http://127.0.0.1:9000/", "http://127.0.0.1:9000", ""),
    ("https://h:443/a/b/", "https://h", "/a/b"),
    ("http://[::1]:80/x%20y", "http://[::1]", "/x%20y"),
  ])
  func reads(_ text: String, _ origin: String, _ path: String) throws {
    let address = try HTTPAddress(parsing: text)
    #expect(address.origin.description == origin)
    #expect(address.path == path)
  }

  @Test(arguments: [
    "", "store.example", "ftp://h", "https://", "https://u:hunter2@h", "https://u@h", "https://h?x=1",
    "https://h#f",
    "https://h:0", "https://h:99999",
  ])
  func refuses(_ text: String) throws {
    let error = #expect(throws: HTTPAddressError.self) { try HTTPAddress(parsing: text) }
    #expect(error?.reason.contains("hunter2") == false)
  }

  @Test(
    "a host name beyond ASCII must be written in Punycode",
    arguments: ["https://münchen.example/", "https://例え.jp:9000", "https://b\u{FC}cket.example/a?x"])
  func internationalNames(_ text: String) {
    let error = #expect(throws: HTTPAddressError.self) { try HTTPAddress(parsing: text) }
    #expect(error?.reason.contains("xn--") == true, "\(error?.reason ?? "")")
  }

  @Test(arguments: [
    ("localhost", true), ("a.localhost", true), ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true),
    ("128.0.0.1", false), ("127.0.0.1.example", false), ("127.0.0", false), ("localhost.example", false),
    ("10.0.0.1", false),
  ])
  func loopback(_ host: String, _ isLoopback: Bool) {
    #expect(HTTPOrigin(isSecure: false, host: host).isLoopback == isLoopback)
  }

  @Test("plain http is limited to this machine unless it is allowed")
  func plainHTTP() throws {
    let (here, there) = (
      HTTPOrigin(isSecure: false, host: "127.0.0.1"), HTTPOrigin(isSecure: false, host: "h.example")
    )
    try HTTPRules().check(here)
    try HTTPRules().check(HTTPOrigin(isSecure: true, host: "h.example"))
    try HTTPRules(allowsPlainHTTP: true).check(there)
    #expect(throws: HTTPFailure.plainHTTP(there)) { try HTTPRules().check(there) }
  }
}

@Suite struct RefusalWordsTests {
  @Test(
    "a server's human-readable words are quoted in the message",
    arguments: [
      ("ERR_MAX_SIZE_EXCEEDED: maximum size exceeded\n", "ERR_MAX_SIZE_EXCEEDED: maximum size exceeded"),
      (#"{"message": "upload rejected by server"}"#, "upload rejected by server"),
      (#"{"error": {"code": 3, "message": "no room"}}"#, "no room"), (#"{"error": "no room"}"#, "no room"),
      (#"{"detail": "not today", "status": 400}"#, "not today"),
      ("<html><head><title>Blocked by policy</title></head></html>", "Blocked by policy"),
      ("<html><head><title>400 Bad Request</title></head></html>", nil), ("<html></html>", nil),
      (#"{"a": 1}"#, nil), ("{", nil), ("", nil), ("\u{1B}[2Ja\nb", "[2Ja b"),
    ] as [(String, String?)])
  func words(_ body: String, _ words: String?) {
    let reply = HTTPReply(status: .badRequest, body: Array(body.utf8))
    let error = reply.failure(store: "S", task: "do it", now: Date(timeIntervalSince1970: 0))
    #expect(
      error.message
        == "the store S did not do it (400\(words.map { ": " + $0 } ?? "")): check the store and its address")
  }
}

@Suite struct SecretTests {
  @Test("printing a secret, or a value that contains one, prints dots")
  func dots() throws {
    let secret = Secret("hunter2")
    let credential = HTTPCredential(.authorization, secret, for: HTTPOrigin(isSecure: true, host: "h"))
    var dumped = ""
    dump(credential, to: &dumped)
    for text in [
      "\(secret)", String(reflecting: secret), "\(credential)", String(reflecting: [secret]), dumped,
    ] {
      #expect(!text.contains("hunter2"))
    }
    #expect("\(secret)" == "•••")
    #expect(secret.revealed == "hunter2")
  }

  @Test("a credential is sent to its own origin only")
  func misdirected() throws {
    let home = HTTPOrigin(isSecure: true, host: "home.example")
    for other in [
      HTTPOrigin(isSecure: true, host: "evil.example"), HTTPOrigin(isSecure: false, host: "home.example"),
      HTTPOrigin(isSecure: true, host: "home.example", port: 8443),
    ] {
      var call = HTTPCall(.get, other, "/")
      call.credentials = [HTTPCredential(.authorization, Secret("hunter2"), for: home)]
      #expect(throws: HTTPFailure.misdirected(other)) { try call.fieldsOnWire() }
      call.origin = home
      #expect(try call.fieldsOnWire()[.authorization] == "hunter2")
    }
  }
}

@Suite struct HTTPReplyMeaningTests {
  private let now = Date(timeIntervalSince1970: 1_000_000)

  @Test(
    arguments: [
      (401, UploadError.Code.denied), (403, .denied), (400, .rejected), (404, .rejected), (408, .unavailable),
      (409, .unavailable), (412, .alreadyExists), (413, .tooLarge), (429, .unavailable), (500, .unavailable),
      (501, .rejected), (503, .unavailable), (507, .storeFull), (301, .rejected),
    ] as [(Int, UploadError.Code)])
  func codes(_ status: Int, _ code: UploadError.Code) {
    let reply = HTTPReply(status: .init(code: status))
    #expect(reply.failure(store: "s3://b", task: "store a.mp4", now: now).code == code)
  }

  @Test(
    arguments: [
      ("7", nil, 7), ("0", nil, 0), ("1.5", nil, 1.5), ("-3", nil, nil), ("soon", nil, nil),
      ("inf", nil, nil), ("0x10", nil, nil), ("1e3", nil, nil), ("", nil, nil),
      ("Sun, 06 Nov 1994 08:49:47 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 10),
      ("Sun, 06 Nov 1994 08:49:17 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 0),
    ] as [(String, String?, Double?)])
  func retryAfter(_ text: String, _ date: String?, _ seconds: Double?) {
    var fields: HTTPFields = [.retryAfter: text]
    fields[.date] = date
    let reply = HTTPReply(status: .serviceUnavailable, fields: fields)
    #expect(reply.retryAfter(now: now) == seconds)
    #expect(reply.failure(store: "s", task: "t", now: now).retryAfter == seconds)
  }

  @Test("an error that is not worth a retry has no retry delay")
  func noRetry() {
    let reply = HTTPReply(status: .forbidden, fields: [.retryAfter: "7"])
    #expect(reply.failure(store: "s", task: "t", now: now).retryAfter == nil)
  }

  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 GMTx", nil), ("", nil),
      ("12", nil),
    ] as [(String, Double?)])
  func dates(_ text: String, _ seconds: Double?) {
    #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == seconds)
  }

  @Test("a store's words are put on one line, without control characters")
  func words() {
    #expect(HTTPReply.oneLine("a\u{1B}[2J\r\nb \u{202E} c\u{2028}d") == "a [2J b c d")
    #expect(HTTPReply.oneLine(String(repeating: "x", count: 1000)).count == 300)
  }
}
