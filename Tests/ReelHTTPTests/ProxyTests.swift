import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelRemoteStorage
import ReelTestSupport
import Testing

@Suite("over a proxy", .shortTime)
struct ProxyTests {
  private func transport(_ proxy: String, certificates: String? = nil) throws -> CurlTransport {
    try CurlTransport(
      HTTPRules(
        allowsPlainHTTP: true, extraCertificates: certificates, timeouts: .patient(), proxy: proxy))
  }

  private func call(_ origin: HTTPOrigin) -> HTTPCall {
    var call = HTTPCall(.put, origin, "/a%20b?x=1", body: .bytes([1, 2, 3]))
    call.credentials = [HTTPCredential(.authorization, Secret("hunter2"), for: origin)]
    return call
  }

  @Test("an unencrypted request names its whole address to the proxy")
  func plain() async throws {
    let proxy = try await LoopbackServer.start { _ in .reply(204) }
    let transport = try transport("http://127.0.0.1:\(proxy.port)")
    let origin = HTTPOrigin(isSecure: false, host: "store.example", port: 9000)
    #expect(try await transport.send(call(origin)).status.code == 204)
    let request = try #require(proxy.requests.first)
    #expect(request.target == "http://store.example:9000/a%20b?x=1")
    #expect(request.header("host") == "store.example:9000")
    #expect(request.body == [1, 2, 3])
    await proxy.stop()
  }

  @Test("a request to a service of the machine itself uses no proxy")
  func unused() async throws {
    let proxy = try await LoopbackServer.start { _ in .reply(204) }
    var rules = HTTPRules(
      allowsPlainHTTP: true, timeouts: HTTPTimeouts(connect: .milliseconds(200)),
      proxy: "http://127.0.0.1:\(proxy.port)")
    rules.usesProxy = false
    // A name that never resolves (RFC 6761).
    let origin = HTTPOrigin(isSecure: false, host: "store.invalid", port: 9000)
    await #expect(throws: HTTPFailure.self) { try await CurlTransport(rules).send(call(origin)) }
    #expect(proxy.requests.isEmpty)
    await proxy.stop()
  }

  @Test(
    "an encrypted request goes through a tunnel: the proxy learns only the host's name, the store nothing of the proxy",
    .needsOpenSSL)
  func tunnel() async throws {
    let authority = try await TestAuthority(for: "store.example")
    let store = try await authority.serve { _ in .reply(204) }
    let proxy = try await TunnelProxy.start(to: store.port)
    let transport = try transport(
      "http://user:pass@127.0.0.1:\(proxy.port)", certificates: authority.certificate)
    let origin = HTTPOrigin(isSecure: true, host: "store.example")
    for _ in 0..<2 { #expect(try await transport.send(call(origin)).status.code == 204) }
    let head = try #require(proxy.heads.first)
    #expect(proxy.heads.count == 1, "the tunnel was not kept")
    #expect(head.hasPrefix("CONNECT store.example:443 HTTP/1.1\r\n"))
    #expect(head.contains("Proxy-Authorization: Basic dXNlcjpwYXNz"))
    #expect(!head.contains("hunter2") && !head.lowercased().contains("\nauthorization"))
    let request = try #require(store.requests.first)
    #expect(request.target == "/a%20b?x=1" && request.header("authorization") == "hunter2")
    #expect(request.header("proxy-authorization") == nil)
    await proxy.stop()
    await store.stop()
  }

  @Test("a proxy's refusal is reported as such, and the store's certificate is verified through the tunnel")
  func refused() async throws {
    for (status, code) in [(407, UploadError.Code.storeUnusable), (403, .storeUnusable), (503, .unavailable)]
    {
      let proxy = try await TunnelProxy.start(to: 1, refusal: status)
      let failure = await #expect(throws: HTTPFailure.self) {
        _ = try await transport("http://user:pass@127.0.0.1:\(proxy.port)").send(
          call(HTTPOrigin(isSecure: true, host: "store.example")))
      }
      #expect(failure == .proxyRefused(status: status))
      let error = try #require(failure.map { UploadError($0, store: "s3://b") })
      #expect(error.code == code && error.message.contains("proxy"))
      #expect(!error.message.contains("pass@"))
      await proxy.stop()
    }
  }

  @Test(
    "only supported proxy addresses are accepted",
    arguments: [
      ("http://proxy.example:3128", true), ("proxy.example:3128", true), ("https://u:p@h", true),
      ("socks5h://127.0.0.1:1080", true), ("[::1]:3128", true), ("ftp://h", false), ("", false),
      ("http://", false), ("http://h?x", false),
    ])
  func addresses(_ text: String, _ isKnown: Bool) {
    #expect(HTTPRules(proxy: text).knowsProxy == isKnown)
  }

  @Test("a missing proxy is reported")
  func nobody() async throws {
    let failure = await #expect(throws: HTTPFailure.self) {
      _ = try await transport("http://127.0.0.1:1").send(
        call(HTTPOrigin(isSecure: true, host: "store.example")))
    }
    #expect(failure == .unreachable("Connection refused"))
  }

  @Test("requests to the loopback address use no proxy")
  func loopback() async throws {
    let server = try await LoopbackServer.start { _ in .reply(204) }
    let transport = try transport("http://127.0.0.1:1")
    let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: server.port)
    #expect(try await transport.send(call(origin)).status.code == 204)
    await server.stop()
  }
}
