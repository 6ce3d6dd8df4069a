import Glibc
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

extension TestSource {
  fileprivate func sha256(of range: Range<Int64>) -> [UInt8] {
    Array(SHA256.hash(data: bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
  }

  fileprivate func body(
    _ range: Range<Int64>, reporting: @escaping @Sendable (Int64) -> Void = { _ in }
  ) -> SourceBody {
    SourceBody(range, of: upload, sha256: sha256(of: range), reporting: reporting)
  }
}

@Suite("the transport over libcurl", .shortTime)
struct TransportTests {
  private func serve(
    _ rules: HTTPRules = HTTPRules(timeouts: .patient()), limiter: RateLimiter? = nil,
    _ answer: @escaping @Sendable (ReceivedRequest) -> ServerAction,
    _ body: (LoopbackServer, CurlTransport, HTTPOrigin) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.start(answer)
    let transport = try CurlTransport(rules, limiter: limiter)
    do {
      try await body(server, transport, HTTPOrigin(isSecure: false, host: "127.0.0.1", port: server.port))
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  private func failure(
    _ transport: CurlTransport, _ call: HTTPCall
  ) async -> HTTPFailure? {
    do throws(HTTPFailure) {
      _ = try await transport.send(call)
      return nil
    } catch {
      return error
    }
  }

  @Test("no request is sent over a connection to an address that is not permitted", arguments: [true, false])
  func notAdmitted(_ isAdmitted: Bool) async throws {
    let server = try await LoopbackServer.start { _ in .reply(200) }
    let refusal = SourceError(.outsideRoot, "not from there")
    let rule: ConnectionRule = { host, address in
      isAdmitted && host == "127.0.0.1" && address == IPAddress("127.0.0.1") ? nil : refusal
    }
    let transport = try CurlTransport(HTTPRules(timeouts: .patient(), usesProxy: false), rule: rule)
    let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: server.port)
    // The second request reuses the first one's connection.
    for _ in 1...2 {
      do throws(HTTPFailure) {
        _ = try await transport.send(HTTPCall(.get, origin, "/"))
        #expect(isAdmitted)
      } catch {
        #expect(error == .source(UploadError.refusing(refusal)))
        #expect(!isAdmitted)
      }
    }
    #expect(server.requests.count == (isAdmitted ? 2 : 0))
    await server.stop()
  }

  @Test(
    "a call may end at the head of the reply, however long the body", arguments: [0, 10, 8 << 20], [200, 405])
  func headOnly(_ count: Int, _ status: Int) async throws {
    try await serve { _ in
      .reply(status, headers: [("X-Tea", "pot")], body: [UInt8](repeating: 1, count: count))
    } _: { server, transport, origin in
      var call = HTTPCall(.get, origin, "/")
      call.endsAtHead = true
      for _ in 0..<2 {
        let reply = try await transport.send(call)
        #expect(reply.status.code == status && reply.body.isEmpty)
        #expect(try reply.fields[#require(HTTPField.Name("x-tea"))] == "pot")
        #expect(reply.fields[.contentLength] == "\(count)")
      }
      // The unread rest does not disturb the next call.
      call.endsAtHead = false
      call.replyLimit = count
      #expect(try await transport.send(call).body.count == count)
    }
  }

  @Test("a request arrives and its reply comes back unchanged")
  func exchange() async throws {
    try await serve { _ in
      .reply(418, headers: [("X-Tea", "pot")], body: Array("short".utf8))
    } _: {
      server, transport, origin in
      var call = HTTPCall(
        .put, origin, "/a%20b?x=1&y", fields: [.contentType: "video/mp4"], body: .bytes([1, 2, 3]))
      call.credentials = [HTTPCredential(.authorization, Secret("key"), for: origin)]
      let reply = try await transport.send(call)
      #expect(reply.status.code == 418)
      #expect(try reply.fields[#require(HTTPField.Name("x-tea"))] == "pot")
      #expect(String(decoding: reply.body, as: UTF8.self) == "short")
      let request = try #require(server.requests.first)
      #expect(request.method == "PUT")
      #expect(request.target == "/a%20b?x=1&y")
      #expect(request.header("host") == origin.authority)
      #expect(request.header("content-type") == "video/mp4")
      #expect(request.header("authorization") == "key")
      #expect(request.header("content-length") == "3")
      #expect(request.body == [1, 2, 3])
    }
  }

  @Test("an empty PUT declares a length of 0")
  func empty() async throws {
    try await serve { _ in
      .reply(200)
    } _: { server, transport, origin in
      _ = try await transport.send(HTTPCall(.put, origin, "/"))
      #expect(server.requests.first?.header("content-length") == "0")
    }
  }

  @Test("a source is sent in chunks, whole or in part, and progress rises to its end")
  func source() async throws {
    let source = TestSource(size: 3 << 20 + 17)
    try await serve { _ in
      .reply(200)
    } _: { server, transport, origin in
      let whole = SentBytes()
      _ = try await transport.send(
        HTTPCall(.put, origin, "/w", body: .source(SourceBody(whole: source.upload) { whole.add($0) })))
      let part = SentBytes()
      let range: Range<Int64> = 100..<(2 << 20)
      _ = try await transport.send(
        HTTPCall(.put, origin, "/p", body: .source(source.body(range) { part.add($0) })))
      #expect(server.requests.map(\.body) == [source.bytes, Array(source.bytes[100..<(2 << 20)])])
      #expect(whole.all == whole.all.sorted() && whole.all.last == source.upload.size)
      #expect(part.all == part.all.sorted() && part.all.last == Int64(range.count))
    }
  }

  @Test("a source that changed is not sent whole, and the error says so")
  func changed() async throws {
    let source = TestSource(size: 2 << 20, claiming: TestSource(size: 2 << 20, seed: 9).digest)
    try await serve { _ in
      .reply(200)
    } _: { server, transport, origin in
      let failure = await failure(
        transport, HTTPCall(.put, origin, "/", body: .source(SourceBody(whole: source.upload))))
      guard case .source(let error) = failure else { Issue.record("\(failure as Any)"); return }
      #expect(error.code == .sourceChanged)
      #expect(server.requests.isEmpty)
    }
  }

  @Test("a part of a source that differs from what was hashed is not sent whole, and the error says so")
  func changedPart() async throws {
    let (hashed, source) = (TestSource(size: 2 << 20), TestSource(size: 2 << 20, seed: 9))
    try await serve { _ in
      .reply(200)
    } _: { server, transport, origin in
      for range in [0..<(1 << 20), (1 << 20)..<(2 << 20)] as [Range<Int64>] {
        let body = SourceBody(range, of: source.upload, sha256: hashed.sha256(of: range))
        let failure = await failure(transport, HTTPCall(.put, origin, "/", body: .source(body)))
        guard case .source(let error) = failure else { Issue.record("\(failure as Any)"); return }
        #expect(error.code == .sourceChanged)
      }
      #expect(server.requests.isEmpty)
    }
  }

  @Test("a redirect is not followed")
  func redirect() async throws {
    try await serve { _ in
      .reply(307, headers: [("Location", "http://127.0.0.1:1/")])
    } _: { _, transport, origin in
      let reply = try await transport.send(HTTPCall(.get, origin, "/"))
      #expect(reply.status.code == 307)
    }
  }

  @Test("a reply that is too long is cut off; a fetch accepts any length, or up to its own limit")
  func limits() async throws {
    let body = [UInt8](repeating: 7, count: 100_000)
    try await serve { _ in
      .reply(200, body: body)
    } _: { _, transport, origin in
      var call = HTTPCall(.get, origin, "/")
      call.replyLimit = 99_999
      #expect(await failure(transport, call) == .replyTooLarge(limit: 99_999))
      let (reply, count) = try await transport.fetch(call, into: 0) { $0 += $1.count }
      #expect(reply.body.isEmpty && count == body.count)
      call.fetchLimit = body.count
      #expect(try await transport.fetch(call, into: 0) { $0 += $1.count }.value == body.count)
      call.fetchLimit = body.count - 1
      await #expect(throws: HTTPFailure.replyTooLarge(limit: body.count - 1)) {
        try await transport.fetch(call, into: 0) { $0 += $1.count }
      }
    }
  }

  @Test("a refused fetch returns the body of the reply")
  func refusedFetch() async throws {
    try await serve { _ in
      .reply(404, body: Array("no".utf8))
    } _: { _, transport, origin in
      let (reply, count) = try await transport.fetch(HTTPCall(.get, origin, "/"), into: 0) {
        $0 += $1.count
      }
      #expect(reply.status.code == 404 && reply.body == Array("no".utf8) && count == 0)
    }
  }

  @Test("different failures on the wire are distinguished")
  func failures() async throws {
    let actions: [(ServerAction, String)] = [
      (.close, "broken"), (.cutReply(promised: 10, sent: [1]), "broken"), (.garbage, "garbled"),
    ]
    for (action, kind) in actions {
      try await serve { _ in
        action
      } _: { _, transport, origin in
        let failure = await failure(transport, HTTPCall(.get, origin, "/"))
        #expect("\(failure as Any)".contains(kind), "\(action): \(failure as Any)")
      }
    }
    // An unknown name takes as long as the resolver does: 10 s and more if it gets no answer.
    let transport = try CurlTransport.patient()
    let nobody = await failure(
      transport, HTTPCall(.get, HTTPOrigin(isSecure: false, host: "127.0.0.1", port: 1), "/"))
    guard case .unreachable = nobody else { Issue.record("\(nobody as Any)"); return }
    let noHost = await failure(
      transport, HTTPCall(.get, HTTPOrigin(isSecure: true, host: "no.invalid"), "/"))
    #expect(noHost == .unreachable("there is no host named no.invalid"))
  }

  @Test("a server may use the time that a call allows it to think")
  func thinking() async throws {
    let timeouts = HTTPTimeouts(connect: .seconds(60), idle: .milliseconds(300), answer: .milliseconds(200))
    try await serve(HTTPRules(timeouts: timeouts)) { request in
      guard request.target == "/thinks" else { return .silence }
      usleep(900_000)
      return .reply(204)
    } _: { _, transport, origin in
      guard case .silent = await failure(transport, HTTPCall(.head, origin, "/")) else {
        Issue.record("it answered")
        return
      }
      var call = HTTPCall(.head, origin, "/thinks")
      call.thinking = .seconds(60)
      let reply = try await transport.send(call)
      #expect(reply.status.code == 204)
    }
  }

  @Test("a silent server is abandoned")
  func idle() async throws {
    let rules = HTTPRules(timeouts: .patient(idle: .milliseconds(300)))
    try await serve(rules) { _ in
      .silence
    } _: { _, transport, origin in
      #expect(await failure(transport, HTTPCall(.get, origin, "/")) == .silent(.milliseconds(300)))
      let put = HTTPCall(.put, origin, "/", body: .bytes([1]))
      #expect(await failure(transport, put) == .silent(.milliseconds(300)))
    }
  }

  @Test("a server that reads nothing of a body is abandoned")
  func deaf() async throws {
    let server = try DeafServer()
    let transport = try CurlTransport(HTTPRules(timeouts: .patient(idle: .milliseconds(300))))
    let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: server.port)
    // More than the kernel buffers for a connection.
    let large = TestSource(size: 32 << 20)
    for body in [HTTPBody.source(SourceBody(whole: large.upload)), .bytes(large.bytes)] {
      let failure = await failure(transport, HTTPCall(.put, origin, "/", body: body))
      #expect(failure == .silent(.milliseconds(300)))
    }
    withExtendedLifetime(server) {}
  }

  @Test("a small request has less time until its answer begins, and sending takes as long as it takes")
  func answer() async throws {
    let rules = HTTPRules(timeouts: .patient(answer: .milliseconds(300)))
    try await serve(rules) {
      $0.method == "PUT" ? .reply(200) : .silence
    } _: { _, transport, origin in
      let failure = await failure(transport, HTTPCall(.get, origin, "/"))
      #expect(failure == .silent(.milliseconds(300)))
      #expect(failure.map { UploadError($0, store: "s3://b") }?.silence == 0.3)
      let limiter = RateLimiter(bytesPerSecond: 1000)
      let slow = try CurlTransport(rules, limiter: limiter)
      let reply = try await slow.send(
        HTTPCall(.put, origin, "/", body: .bytes([UInt8](repeating: 1, count: 700))))
      #expect(reply.isSuccess)
    }
  }

  @Test(
    "everything sent shares one rate: sources, parts of them, bytes in memory, and what is sent again"
  )
  func pace() async throws {
    let time = PassingTime()
    let source = TestSource(size: 3_000_000)
    try await serve(limiter: time.limiter(1_000_000)) { _ in
      .reply(200)
    } _: { server, transport, origin in
      let bodies: [HTTPBody] = [
        .source(SourceBody(whole: source.upload)), .source(SourceBody(whole: source.upload)),
        .source(source.body(1_000_000..<2_500_000)),
        .bytes([UInt8](repeating: 7, count: 2_500_000)), .none,
      ]
      for body in bodies { _ = try await transport.send(HTTPCall(.put, origin, "/", body: body)) }
      #expect(time.seconds > 9.9 && time.seconds <= 10, "\(time.seconds) s")
      #expect(server.requests.map(\.body.count) == [3_000_000, 3_000_000, 1_500_000, 2_500_000, 0])
      #expect(server.requests.first?.body == source.bytes)
    }
  }

  @Test("a cancelled upload does not wait for its turn")
  func cancellingTheWait() async throws {
    try await serve(limiter: RateLimiter(bytesPerSecond: 1)) { _ in
      .reply(200)
    } _: { server, transport, origin in
      // This many seconds would not pass before the cancellation.
      let bytes = [UInt8](repeating: 1, count: 1000)
      let task = Task { await failure(transport, HTTPCall(.put, origin, "/", body: .bytes(bytes))) }
      while server.bodyBytes == 0 { try await Task.sleep(for: .milliseconds(5)) }
      task.cancel()
      #expect(await task.value == .cancelled)
    }
  }

  @Test("a call that takes longer than its bytes need is abandoned")
  func slow() async throws {
    try await serve { _ in
      .silence
    } _: { _, transport, origin in
      var call = HTTPCall(.get, origin, "/")
      (call.patience, call.replyLimit) = (.milliseconds(200), 1000)
      guard case .timedOut = await failure(transport, call) else { Issue.record("not timed out"); return }
    }
  }

  @Test("a body earns time for the bytes received, not for the length that it claims")
  func trickling() {
    let timeouts = HTTPTimeouts()
    var call = HTTPCall(.get, HTTPOrigin(isSecure: true, host: "host.example"), "/")
    call.replyLimit = 0
    for patience in [120, 1 << 20, 1 << 40] as [Int64] {
      call.patience = .seconds(patience)
      #expect(timeouts.limit(for: call, at: nil) == .seconds(patience))
      #expect(timeouts.limit(for: call, at: nil, received: 0) == .seconds(120))
      #expect(timeouts.limit(for: call, at: nil, received: 1 << 20) == .seconds(min(patience, 184)))
      #expect(timeouts.limit(for: call, at: nil, received: .max) <= .seconds(patience))
    }
    call.patience = .seconds(5)
    #expect(timeouts.limit(for: call, at: nil, received: .max) == .seconds(5))
    // What is sent earns time, too.
    (call.patience, call.body) = (.seconds(1 << 40), .bytes([UInt8](repeating: 0, count: 1 << 20)))
    #expect(timeouts.limit(for: call, at: nil, received: 0) == .seconds(120 + 1024))
  }

  @Test("a server that trickles is abandoned, whatever length it claims", .notQuick)
  func trickled() async throws {
    let isDone = Mutex(false)
    let listener = try WireListener { wire in
      var reader = WireReader(wire)
      guard reader.request() != nil else { return }
      let head = "HTTP/1.1 200 OK\r\ncontent-length: \(Int64.max)\r\n\r\n"
      guard (try? wire.write(Array(head.utf8))) != nil else { return }
      while !isDone.withLock({ $0 }), (try? wire.write([1])) != nil { usleep(10_000) }
    }
    let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: listener.port)
    let transport = try CurlTransport.patient()
    var call = HTTPCall(.get, origin, "/")
    (call.patience, call.replyLimit) = (.milliseconds(300), 0)
    let failure = await #expect(throws: HTTPFailure.self) {
      _ = try await transport.fetch(call, into: 0) { $0 += $1.count }
    }
    isDone.withLock { $0 = true }
    guard case .timedOut = failure else { Issue.record("\(failure as Any)"); return }
    listener.stop()
  }

  @Test("a cancelled task ends at once and closes its connection")
  func cancelling() async throws {
    try await serve { _ in
      .silence
    } _: { server, transport, origin in
      let task = Task { await failure(transport, HTTPCall(.get, origin, "/")) }
      while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
      task.cancel()
      #expect(await task.value == .cancelled)
    }
  }

  @Test("a call that waits for a free connection does not run into the connection timeout", .notQuick)
  func waiting() async throws {
    // On a busy machine, connecting alone may take longer than the first of these.
    for limit in [0.5, 2, 10, 60] {
      if try await isConnected(afterWaitingLongerThan: .seconds(limit)) { return }
    }
    Issue.record("a call failed that had waited longer than it may take to connect")
  }

  private func isConnected(afterWaitingLongerThan limit: Duration) async throws -> Bool {
    let rules = HTTPRules(timeouts: .patient(connect: limit), connections: 1)
    var isConnected = false
    try await serve(rules) {
      $0.method == "PUT" ? .silence : .reply(200)
    } _: { server, transport, origin in
      let hasEnded = Mutex(false)
      let long = Task {
        let failure = await failure(transport, HTTPCall(.put, origin, "/", body: .bytes([1])))
        hasEnded.withLock { $0 = true }
        return failure
      }
      while server.requests.isEmpty, !hasEnded.withLock({ $0 }) {
        try await Task.sleep(for: .milliseconds(5))
      }
      let next = Task { await failure(transport, HTTPCall(.get, origin, "/")) }
      try await Task.sleep(for: limit + .milliseconds(500))
      long.cancel()
      isConnected = await (long.value, next.value) == (.cancelled, nil)
    }
    return isConnected
  }

  @Test("plain http to another machine is refused before anything is sent")
  func plain() async throws {
    let origin = HTTPOrigin(isSecure: false, host: "192.0.2.1")
    let transport = try CurlTransport.patient()
    #expect(await failure(transport, HTTPCall(.get, origin, "/")) == .plainHTTP(origin))
  }

  @Test("many concurrent requests share few connections and all arrive")
  func many() async throws {
    try await serve(HTTPRules(timeouts: .patient(), connections: 4)) {
      .reply(200, body: Array($0.target.utf8))
    } _: {
      _, transport, origin in
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for index in 0..<100 {
          group.addTask {
            try await transport.send(HTTPCall(.get, origin, "/\(index)")).body == Array("/\(index)".utf8)
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
    }
  }
}
