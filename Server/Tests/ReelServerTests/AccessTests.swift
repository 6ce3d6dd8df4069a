import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import ReelServer

@Suite struct AccessKeyTests {
  private let now = Date(timeIntervalSince1970: 1_800_000_000)

  private func key(_ text: String = "0123456789abcdef0123456789abcdef") throws -> AccessKey {
    try #require(AccessKey(text))
  }

  @Test func opensItsOwnAddresses() throws {
    let ticket = UploadTicket(author: "ada", maxSize: 5, expires: now.addingTimeInterval(60))
    let path = try ticket.path(signedWith: key())
    let token = path.dropFirst("/u/".count)
    #expect(try key().ticket(token, now: now) == ticket)
  }

  @Test func refusesWhatIsForged() throws {
    let ticket = UploadTicket(author: "ada", maxSize: 5, expires: now.addingTimeInterval(60))
    let token = try key().sign(ticket)
    let other = try key("another key, which is long enough, too")
    for (index, character) in token.enumerated() {
      var forged = Array(token)
      forged[index] = character == "A" ? "B" : "A"
      #expect(throws: Problem.self, "\(index)") { _ = try key().ticket(String(forged), now: now) }
    }
    for text in ["", ".", token + "=", token + ".", String(token.dropLast()), other.sign(ticket)] {
      #expect(throws: Problem.self) { _ = try key().ticket(text, now: now) }
    }
  }

  @Test func endsInTime() throws {
    let token = try key().sign(UploadTicket(author: nil, maxSize: nil, expires: now))
    #expect { _ = try key().ticket(token, now: now) } throws: { ($0 as? Problem)?.status == 410 }
    _ = try key().ticket(token, now: now.addingTimeInterval(-1))
  }

  @Test func isLongEnough() { #expect(AccessKey("short") == nil) }

  @Test func isBorneAsItIs() throws {
    let key = try key()
    for scheme in ["Bearer", "bearer"] { #expect(key.isBearer(scheme + " 0123456789abcdef0123456789abcdef")) }
    for header in [
      nil, "", "Bearer ", "Bearer 0123456789abcdef0123456789abcdeF", "Basic 0123456789abcdef0123456789abcdef",
    ] {
      #expect(!key.isBearer(header))
    }
  }

  @Test func isKeptWhereNobodyElseReadsIt() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(throws: StartFailure.self) { _ = try AccessKey.read(path) }
    try AccessKey.make(at: path)
    _ = try AccessKey.read(path)
    try FileManager.default.createSymbolicLink(atPath: path + "-link", withDestinationPath: path)
    defer { try? FileManager.default.removeItem(atPath: path + "-link") }
    _ = try AccessKey.read(path + "-link")
    #expect(throws: StartFailure.self) { try AccessKey.make(at: path) }
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    #expect(throws: StartFailure.self) { _ = try AccessKey.read(path) }
  }
}

@Suite struct AccessTests {
  private func request(_ authority: String?, _ headers: HTTPFields = [:]) -> Request {
    Request(
      head: HTTPRequest(
        method: .post, scheme: "http", authority: authority, path: "/videos", headerFields: headers),
      body: RequestBody(buffer: ByteBuffer()))
  }

  @Test(arguments: ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "LOCALHOST"])
  func answersThisMachine(authority: String) throws {
    try Access(key: nil, origins: []).checkSender(request(authority))
    try Access(key: nil, origins: []).checkSender(request(authority, [.origin: "http://\(authority)"]))
  }

  @Test(arguments: [nil, "", "evil.example", "127.0.0.1.evil.example:80", "[::2]"])
  func answersNobodyElse(authority: String?) {
    #expect(throws: Problem.self) { try Access(key: nil, origins: []).checkSender(request(authority)) }
  }

  @Test(
    arguments: [
      [.origin: "https://evil.example"], [.origin: "null"], [.named("X-Forwarded-For"): "1.2.3.4"],
      [.named("forwarded"): "for=1.2.3.4"], [.named("X-FORWARDED-HOST"): "x"], [.named("X-Real-IP"): "x"],
      [.via: "1.1 x"],
    ] as [HTTPFields])
  func answersNoPageAndNoProxy(headers: HTTPFields) {
    #expect(throws: Problem.self) {
      try Access(key: nil, origins: []).checkSender(request("localhost", headers))
    }
  }

  @Test func answersThePagesThatWereNamed() throws {
    let access = Access(key: nil, origins: ["https://app.example"])
    try access.checkSender(request("localhost", [.origin: "https://app.example"]))
    #expect(access.headers(for: "https://app.example")[.accessControlAllowOrigin] == "https://app.example")
    #expect(access.headers(for: "https://evil.example").isEmpty)
    // Every header that a page's client may send or read must be listed. Otherwise the browser only reports a failure.
    let headers = access.headers(for: "https://app.example")
    func names(_ field: HTTPField.Name) -> Set<String> {
      Set(
        (headers[field] ?? "").split(separator: ",").map { $0.lowercased().trimmingPrefix(" ") }.map(
          String.init))
    }
    #expect(
      names(.accessControlAllowHeaders).isSuperset(of: [
        "upload-concat", "upload-defer-length", "upload-complete", "upload-draft-interop-version",
        "x-request-id",
        "traceparent",
      ]))
    #expect(
      names(.accessControlExposeHeaders).isSuperset(of: [
        "upload-offset", "upload-complete", "upload-draft-interop-version", "upload-limit", "retry-after",
      ]))
  }

  @Test(
    arguments: [
      ("https://app.example", "https://app.example"), ("HTTPS://App.Example", "https://app.example"),
      ("https://app.example:443", "https://app.example"),
      ("http://app.example:443", "http://app.example:443"),
      ("http://[::1]:8080", "http://[::1]:8080"), ("capacitor://localhost", "capacitor://localhost"),
      ("https://app.example/", nil), ("https://app.example/x", nil), ("*", nil), ("https://*.example", nil),
      ("app.example", nil), ("null", nil), ("https://u@app.example", nil), ("https://ü.example", nil),
      ("", nil),
    ] as [(String, String?)])
  func anOriginIsWhatBrowsersSend(said: String, origin: String?) throws {
    #expect(ServerConfiguration.origin(said) == origin)
    var configuration = ServerConfiguration(library: "/nowhere", address: .standard)
    configuration.origins = [said]
    if origin == nil {
      #expect(throws: StartFailure.self) { try configuration.check() }
    } else {
      try configuration.check()
    }
  }

  @Test(
    arguments: [(EADDRINUSE, "--listen"), (EACCES, "1024"), (EADDRNOTAVAIL, "no address"), (EIO, nil)]
      as [(Int32, String?)])
  func whereNobodyCanListenIsTold(code: Int32, words: String?) throws {
    let failure = ListenAddress.standard.failure(code)
    #expect((failure == nil) == (words == nil))
    if let words { #expect(failure?.description.contains(words) == true) }
  }

  @Test func aLibraryThatNoShellHasExpandedIsNone() throws {
    #expect(throws: StartFailure.self) {
      try ServerConfiguration(library: "~/library", address: .standard).check()
    }
    try ServerConfiguration(library: "./~", address: .standard).check()
  }

  @Test(
    arguments: [
      ("https://upload.example/", "https://upload.example"),
      ("http://[::1]:8080/up/", "http://[::1]:8080/up"),
      ("HTTPS://upload.example", "HTTPS://upload.example"), ("upload.example", nil),
      ("upload.example:8080", nil),
      ("ftp://upload.example", nil), ("https://upload.example?a", nil), ("https://upload.example/ a", nil),
      ("https://", nil), ("", nil),
    ] as [(String, String?)])
  func anAddressOfTheServerIsOne(said: String, address: String?) throws {
    #expect((try? ServerConfiguration.publicURL(said)) == address)
    var configuration = ServerConfiguration(library: "/nowhere", address: .standard)
    configuration.publicURL = said
    if address == nil, !said.isEmpty { #expect(throws: StartFailure.self) { try configuration.check() } }
  }

  @Test(arguments: [(0, 1), (40, 1), (64, 8), (1_024, 328), (1 << 20, 4_096), (.max, 4_096)] as [(Int, Int)])
  func connectionsAreAsManyAsDescriptorsAllow(limit: Int, connections: Int) {
    let configuration = ServerConfiguration(library: "/nowhere", address: .standard)
    #expect(configuration.connections(withDescriptors: limit) == connections)
  }

  @Test func withoutAKeyItListensOnThisMachineAlone() throws {
    for (text, isLoopback) in [
      ("127.0.0.1:80", true), ("[::1]:0", true), ("localhost:1", true), ("0.0.0.0:80", false),
      ("[::]:80", false),
    ] {
      let address = try #require(ListenAddress(text))
      #expect(address.isLoopback == isLoopback)
      let configuration = ServerConfiguration(library: "/nowhere", address: address)
      if isLoopback {
        try configuration.check()
      } else {
        #expect(throws: StartFailure.self) { try configuration.check() }
      }
    }
    for text in ["", ":80", "*:80", "localhost", "localhost:99999", "::1:80", "[::1:80"] {
      #expect(ListenAddress(text) == nil)
    }
  }
}
