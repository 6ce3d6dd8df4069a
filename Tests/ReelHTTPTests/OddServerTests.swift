import FoundationEssentials
import Glibc
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

@Suite("servers that break the rules of HTTP", .shortTime)
struct OddServerTests {
  private func serve(
    _ answer: @escaping @Sendable (ReceivedRequest) -> ServerAction,
    _ body: (LoopbackServer, CurlTransport, HTTPOrigin) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.start(answer)
    let transport = try CurlTransport.patient()
    try await body(server, transport, HTTPOrigin(isSecure: false, host: "127.0.0.1", port: server.port))
    await server.stop()
  }

  private static func raw(_ text: String, thenClose: Bool = false) -> ServerAction {
    .raw(Array(text.utf8), thenClose: thenClose)
  }

  @Test("a server may end each connection after one reply without announcing it")
  func oneReply() async throws {
    try await serve { _ in
      Self.raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", thenClose: true)
    } _: { server, transport, origin in
      for number in 1...10 {
        let call = HTTPCall(.put, origin, "/\(number)", body: .bytes([1]))
        #expect(try await transport.send(call).body == Array("ok".utf8))
        while server.connections > 0 { try await Task.sleep(for: .milliseconds(1)) }
      }
      #expect(server.requests.count == 10)
    }
  }

  @Test(
    "a request on a connection that ends is not sent again, whatever its method",
    arguments: ["GET", "PUT", "POST"])
  func notAgain(_ method: String) async throws {
    try await serve {
      $0.target == "/first" ? .reply(200) : .close
    } _: { server, transport, origin in
      _ = try await transport.send(HTTPCall(.get, origin, "/first"))
      let body: HTTPBody =
        method == "PUT" ? .source(SourceBody(whole: TestSource(size: 3 << 20).upload)) : .none
      let call = HTTPCall(
        try #require(HTTPRequest.Method(rawValue: method)), origin, "/second", body: body)
      let failure = await #expect(throws: HTTPFailure.self) { _ = try await transport.send(call) }
      #expect(failure == .broken("it was closed from there"))
      #expect(server.requests.map(\.target) == ["/first", "/second"])
    }
  }

  @Test("a second reply is never taken for the reply to the next request")
  func twoReplies() async throws {
    let isHeard = Mutex(false)
    let isRepeated = Mutex(false)
    let listener = try WireListener { wire in
      var reader = WireReader(wire)
      while let head = reader.request() {
        let reply = WireReply(
          status: 200, fields: [("content-length", "\(head.target.utf8.count)")],
          body: Array(head.target.utf8))
        let isAtOnce = head.target == "/at-once"
        guard (try? wire.write(isAtOnce ? reply.bytes + reply.bytes : reply.bytes)) != nil else { return }
        guard head.target == "/later" else { continue }
        while !isHeard.withLock({ $0 }) { usleep(1000) }
        guard (try? wire.write(reply.bytes)) != nil else { return }
        isRepeated.withLock { $0 = true }
      }
    }
    let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: listener.port)
    let transport = try CurlTransport.patient()
    for target in ["/at-once", "/a", "/later", "/b"] {
      let reply = try await transport.send(HTTPCall(.get, origin, target))
      #expect(reply.body == Array(target.utf8))
      guard target == "/later" else { continue }
      isHeard.withLock { $0 = true }
      while !isRepeated.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    }
    listener.stop()
  }

  @Test("an HTTP/1.0 body ends with the connection")
  func old() async throws {
    try await serve { _ in
      Self.raw("HTTP/1.0 200 OK\r\nServer: old\r\n\r\nto the end", thenClose: true)
    } _: { _, transport, origin in
      for _ in 0..<3 {
        let reply = try await transport.send(HTTPCall(.get, origin, "/"))
        #expect(reply.body == Array("to the end".utf8) && reply.fields[.server] == "old")
      }
    }
  }

  @Test(
    "an invalid status is reported as a garbled reply, and the transport remains usable",
    arguments: [
      "HTTP/2 99999 OK", "HTTP/2 1000 OK", "HTTP/1.1 600 No", "HTTP/1.1 999 No", "HTTP/1.1 000 No",
      "HTTP/1.1 099 No",
      "HTTP/2 0 OK", "HTTP/2 -1 OK", "HTTP/2 9223372036854775807 OK", "HTTP/2 18446744073709551616 OK",
      "HTTP/1.1 9223372036854775808 OK", "HTTP/3 99999 OK", "HTTP/1.0 777", "HTTP/2.0 200 OK",
      "HTTP/2.0 503 No", "HTTP/2 200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 OK",
      "HTTP/1.2 200 OK",
      "HTTP/1.1200 OK", "HTTP/1.1 -20 OK",
      // After an interim reply.
      "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/2.0 503 No",
      // A protocol switch that was not requested.
      "HTTP/1.1 101 X",
    ])
  func noStatus(_ line: String) async throws {
    try await serve { request in
      request.target == "/good"
        ? .reply(200) : Self.raw("\(line)\r\ncontent-length: 2\r\n\r\nok", thenClose: true)
    } _: { server, transport, origin in
      func isGarbled(_ failure: HTTPFailure?) -> Bool { if case .garbled = failure { true } else { false } }
      for method in [HTTPRequest.Method.get, .put] {
        let failure = await #expect(throws: HTTPFailure.self, "\(line)") {
          _ = try await transport.send(
            HTTPCall(method, origin, "/", body: method == .put ? .bytes([1]) : .none))
        }
        #expect(isGarbled(failure), "\(line): \(failure as Any)")
      }
      let failure = await #expect(throws: HTTPFailure.self, "\(line)") {
        _ = try await transport.fetch(HTTPCall(.get, origin, "/"), into: 0) { $0 += $1.count }
      }
      #expect(isGarbled(failure), "\(line): \(failure as Any)")
      // A request on a connection that is just being closed would not be sent again.
      while server.connections > 0 { try await Task.sleep(for: .milliseconds(1)) }
      let good = try await transport.send(HTTPCall(.get, origin, "/good"))
      #expect(good.status == .ok)
    }
  }

  @Test(
    "every valid status is passed on", arguments: [200, 299, 308, 418, 499, 500, 599],
    ["HTTP/1.1 % X", "HTTP/1.0 %", "HTTP/1.1 % "])
  func anyStatus(_ status: Int, _ line: String) async throws {
    try await serve { _ in
      Self.raw(
        "\(line.replacing("%", with: "\(status)"))\r\ncontent-length: 0\r\n\r\n", thenClose: true)
    } _: { _, transport, origin in
      let reply = try await transport.send(HTTPCall(.get, origin, "/"))
      #expect(reply.status.code == status)
    }
  }

  @Test("only an empty line ends a head, however short other lines are", arguments: [" \n", "\t\n", "x\n"])
  func shortLines(_ line: String) async throws {
    try await serve { _ in
      Self.raw(
        "HTTP/1.1 200 OK\r\nx: 1\r\n\(line)content-length: 2\r\netag: \"a\"\r\n\r\nok", thenClose: true)
    } _: { _, transport, origin in
      // Some of these lines are invalid, but the rest of the head is never taken for the body.
      guard let reply = try? await transport.send(HTTPCall(.get, origin, "/")) else { return }
      #expect(reply.fields[.eTag] == "\"a\"" && reply.body == Array("ok".utf8))
    }
  }

  @Test("a header that is sent twice with one value counts once")
  func doubledFields() async throws {
    try await serve { _ in
      Self.raw(
        "HTTP/1.1 200 OK\r\netag: \"a\"\r\nupload-offset: 7\r\nETag: \"a\"\r\nallow: GET\r\nupload-offset: 7\r\n"
          + "allow: PUT\r\ncontent-length: 0\r\n\r\n")
    } _: { _, transport, origin in
      let fields = try await transport.send(HTTPCall(.get, origin, "/")).fields
      #expect(fields[.eTag] == "\"a\"" && fields[.uploadOffset] == "7")
      #expect(fields[.allow] == "GET, PUT")
    }
  }

  @Test("no length, date or range from a server traps")
  func extremes() async throws {
    let texts = (Extremes.texts + Extremes.times).filter { !$0.contains("\u{0}") }
    let fields = [
      "content-length", "retry-after", "date", "last-modified", "etag", "upload-offset", "content-range",
      "age",
    ]
    try await serve { request in
      guard let number = Int(request.target.dropFirst()), texts.indices.contains(number) else {
        return .close
      }
      let lines = fields.map { "\($0): \($0 == "content-range" ? "bytes 0-1/" : "")\(texts[number])\r\n" }
      return Self.raw("HTTP/1.1 206 X\r\n\(lines.joined())\r\nok", thenClose: true)
    } _: { _, transport, origin in
      for number in texts.indices {
        // A reply that promises more than it sends may fail.
        let reply = try? await transport.send(HTTPCall(.get, origin, "/\(number)"))
        _ = reply?.retryAfter(now: .now)
        _ = reply?.date
        _ = reply?.contentLength
      }
    }
    for text in texts {
      let fields: HTTPFields = [.retryAfter: text, .contentLength: text, .date: text]
      let reply = HTTPReply(status: .serviceUnavailable, fields: fields)
      if let seconds = reply.retryAfter(now: .now) { #expect(seconds.isFinite && seconds >= 0, "\(text)") }
      if let length = reply.contentLength { #expect(length >= 0, "\(text)") }
      _ = reply.failure(store: "x", task: "y", now: .now)
      for range in [
        "bytes \(text)-\(text)/\(text)", "bytes 0-\(text)/*", "bytes */\(text)", "bytes 0-0/\(text)",
      ] {
        for status in [200, 206, 416] {
          for asked in [0..<1, 0..<Int64.max, Int64.max - 1..<Int64.max] as [Range<Int64>] {
            let answer = RangeAnswer(range: asked, pin: FilePin(), server: "x")
            _ = Result {
              try answer.read(
                HTTPReply(
                  status: .init(code: status), fields: [.contentRange: range, .contentLength: text], body: [1]
                ))
            }
          }
        }
      }
    }
  }

  @Test("HTTP/0.9, which has no status, is a garbled reply")
  func oldest() async throws {
    try await serve { _ in
      Self.raw("<html>Welcome</html>", thenClose: true)
    } _: { _, transport, origin in
      let failure = await #expect(throws: HTTPFailure.self) {
        _ = try await transport.send(HTTPCall(.get, origin, "/"))
      }
      guard case .garbled = failure else { Issue.record("\(failure as Any)"); return }
    }
  }

  @Test("a body is sent without waiting for 100 Continue, and interim replies are skipped")
  func interim() async throws {
    try await serve { _ in
      Self.raw(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
          + "HTTP/1.1 201 Created\r\nlocation: /y\r\ncontent-length: 0\r\n\r\n")
    } _: { server, transport, origin in
      let source = TestSource(size: 3 << 20)
      let reply = try await transport.send(
        HTTPCall(.put, origin, "/", body: .source(SourceBody(whole: source.upload))))
      #expect(reply.status.code == 201 && reply.fields[.location] == "/y")
      #expect(try reply.fields[#require(HTTPField.Name("link"))] == nil)
      let request = try #require(server.requests.first)
      #expect(request.header("expect") == nil)
      #expect(request.body == source.bytes)
    }
  }

  @Test("a head of 1 MB is rejected, in many fields or in one")
  func longHead() async throws {
    let many = (0..<10_000).map { "x-field-\($0): \(String(repeating: "x", count: 88))\r\n" }.joined()
    for fields in [many, "x-field: \(String(repeating: "x", count: 1 << 20))\r\n"] {
      try await serve { _ in
        Self.raw("HTTP/1.1 200 OK\r\n\(fields)content-length: 0\r\n\r\n")
      } _: { _, transport, origin in
        let failure = await #expect(throws: HTTPFailure.self) {
          _ = try await transport.send(HTTPCall(.get, origin, "/"))
        }
        guard case .replyTooLarge = failure else { Issue.record("\(failure as Any)"); return }
      }
    }
  }

  @Test(
    "a reply that ends early fails, wherever it ends",
    arguments: [
      "HTTP/1.1 200", "HTTP/1.1 200 OK\r\ncontent-le", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no", "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n20\r\nok",
    ])
  func endsEarly(_ text: String) async throws {
    try await serve { _ in
      Self.raw(text, thenClose: true)
    } _: { _, transport, origin in
      let failure = await #expect(throws: HTTPFailure.self) {
        _ = try await transport.send(HTTPCall(.get, origin, "/"))
      }
      guard case .broken = failure else { Issue.record("\(failure as Any)"); return }
      let fetched = await #expect(throws: HTTPFailure.self) {
        _ = try await transport.fetch(HTTPCall(.get, origin, "/"), into: 0) { $0 += $1.count }
      }
      guard case .broken = fetched else { Issue.record("\(fetched as Any)"); return }
    }
  }

  @Test("an unrequested compression is passed on unchanged")
  func gzip() async throws {
    // The output of `printf hello | gzip -n`.
    let packed: [UInt8] = [
      0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10, 0x36,
      0x05, 0, 0, 0,
    ]
    try await serve { _ in
      .reply(200, headers: [("content-encoding", "gzip")], body: packed)
    } _: { server, transport, origin in
      let reply = try await transport.send(HTTPCall(.get, origin, "/"))
      #expect(reply.body == packed)
      #expect(reply.fields[.contentEncoding] == "gzip")
      #expect(server.requests.first?.header("accept-encoding") == "identity")
    }
  }
}
