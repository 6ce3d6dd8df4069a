import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelStorage

/// Lines, their order, and their claims, tested without a process.
@Suite struct ProtocolTests {
  @Test(
    "an invalid line is a breach of the protocol",
    arguments: [
      "", "no JSON", "[]", "{}", "{\"type\":1}", "{\"type\":\"done\"}", "{\"type\":\"progress\"}",
      "{\"type\":\"progress\",\"sent\":-1}", "{\"type\":\"progress\",\"sent\":\"1\"}",
      "{\"type\":\"progress\",\"sent\":1.5}", "{\"type\":\"progress\",\"sent\":99999999999999999999}",
      "{\"type\":\"error\"}", "{\"type\":\"error\",\"code\":\"cancelled\"}",
      "{\"type\":\"error\",\"code\":\"sourceChanged\"}", "{\"type\":\"error\",\"code\":\"\\u001b[31m\"}",
      "{\"type\":\"result\",\"found\":\"yes\"}", "{\"type\":\"result\"} trailing", "\u{0}",
    ])
  func breach(_ line: String) {
    let error = #expect(throws: AdapterViolation.self) { try AdapterLine(parsing: Array(line.utf8)) }
    let words = error?.words.description ?? ""
    #expect(!words.isEmpty && words.utf8.count < 400)
    #expect(!words.unicodeScalars.contains { $0.properties.generalCategory == .control })
  }

  @Test("no number from an adapter traps")
  func extremes() throws {
    for text in Extremes.jsonNumbers + Extremes.texts.map({ "\"\($0)\"" }) {
      for line in [
        "{\"type\":\"progress\",\"sent\":\(text)}",
        "{\"type\":\"result\",\"size\":\(text),\"protocol\":\(text)}",
        "{\"type\":\"error\",\"code\":\"unavailable\",\"retryAfter\":\(text)}",
      ] {
        guard let read = try? AdapterLine(parsing: Array(line.utf8)) else { continue }
        for size in Extremes.integers {
          var dialogue = AdapterDialogue(.upload, size: size)
          _ = try? dialogue.take(.progress(sent: 1))
          _ = try? dialogue.take(read)
          _ = try? dialogue.take(.staged)
          _ = try? dialogue.take(read)
        }
        if case .error(let code, let message, let retryAfter) = read {
          let error = UploadError(code, message, retryAfter: retryAfter)
          _ = RetryPolicy(attempts: .max).delay(after: 1, error, SystemRandomness())
        }
      }
    }
    for seconds in Extremes.doubles {
      let error = UploadError(.unavailable, "x", retryAfter: seconds, silence: seconds)
      let policy = RetryPolicy(longestAsked: .seconds(Int64.max))
      if seconds <= 1e18 { _ = policy.delay(after: 1, error, SystemRandomness()) }
    }
  }

  @Test func linesAreUnderstood() throws {
    func read(_ line: String) throws -> AdapterLine { try AdapterLine(parsing: Array(line.utf8)) }
    #expect(try read("{\"type\":\"progress\",\"sent\":0}") == .progress(sent: 0))
    #expect(try read(" {\"type\" : \"staged\", \"more\": [1]} ") == .staged)
    #expect(
      try read("{\"type\":\"error\",\"code\":\"unavailable\",\"message\":\"m\",\"retryAfter\":2.5}")
        == .error(.unavailable, message: "m", retryAfter: 2.5))
    // An absurd wait is ignored.
    for wait in ["-1", "1e300", "90000"] {
      #expect(
        try read("{\"type\":\"error\",\"code\":\"denied\",\"retryAfter\":\(wait)}")
          == .error(.denied, message: "no reason given", retryAfter: nil))
    }
    guard case .result(let result) = try read("{\"type\":\"result\",\"found\":true,\"size\":7}") else {
      Issue.record("no result")
      return
    }
    #expect(result.found == true && result.size == 7 && result.digest == nil)
  }

  @Test func anUploadIsCommittedBeforeItIsDone() throws {
    let done = try AdapterLine(parsing: Array("{\"type\":\"result\",\"size\":9}".utf8))
    var honest = AdapterDialogue(.upload, size: 9)
    #expect(try honest.take(.progress(sent: 4)) == .progress(4))
    #expect(try honest.take(.progress(sent: 3)) == .nothing)
    #expect(try honest.take(.progress(sent: 4)) == .nothing)
    #expect(try honest.take(.staged) == .staged)
    #expect(try honest.take(.progress(sent: 9)) == .progress(9))
    guard case .end = try honest.take(done) else {
      Issue.record("no end")
      return
    }
    #expect(throws: AdapterViolation.self) { try honest.take(.progress(sent: 9)) }

    var hasty = AdapterDialogue(.upload, size: 9)
    #expect(throws: AdapterViolation.self) { try hasty.take(done) }
    var boastful = AdapterDialogue(.upload, size: 9)
    #expect(throws: AdapterViolation.self) { try boastful.take(.progress(sent: 10)) }
    var twice = AdapterDialogue(.upload, size: 9)
    _ = try twice.take(.staged)
    #expect(throws: AdapterViolation.self) { try twice.take(.staged) }
    var other = AdapterDialogue(.find)
    #expect(throws: AdapterViolation.self) { try other.take(.staged) }
    #expect(throws: AdapterViolation.self) { try other.take(.progress(sent: 0)) }
  }

  @Test func linesAreCutWhereverTheyAreRead() throws {
    let text = Array("one\n\ntwo\nthree".utf8)
    for size in 1...text.count {
      var splitter = LineSplitter(most: 100)
      var lines: [[UInt8]] = []
      for start in stride(from: 0, to: text.count, by: size) {
        lines += try splitter.lines(in: text[start..<min(start + size, text.count)])
      }
      #expect(lines.map { String(decoding: $0, as: UTF8.self) } == ["one", "two"])
      #expect(String(decoding: splitter.unfinished, as: UTF8.self) == "three")
    }
    var all = LineSplitter(most: 9)
    #expect(throws: AdapterViolation.self) { try all.lines(in: Array(repeating: 10, count: 10)) }
    var long = LineSplitter(most: 1 << 20)
    #expect(throws: AdapterViolation.self) { try long.lines(in: Array(repeating: 65, count: 65_537)) }
  }

  @Test func aRequestIsOneLineThatNeedsNoQuoting() throws {
    let digest = try #require(ContentDigest(sha256: (0..<32).map { $0 }))
    let request = AdapterRequest(
      verb: .upload, store: "a/b", key: ObjectKey("k.mp4"), size: 5, digest: digest, contentType: "video/mp4",
      limitRate: 10)
    #expect(
      String(decoding: try request.line(), as: UTF8.self)
        == "{\"contentType\":\"video/mp4\",\"digest\":\"\(digest)\",\"key\":\"k.mp4\",\"limitRate\":10,"
        + "\"protocol\":1,\"size\":5,\"store\":\"a/b\",\"verb\":\"upload\"}\n")
    #expect(
      String(decoding: try AdapterRequest(verb: .prepare).line(), as: UTF8.self)
        == "{\"protocol\":1,\"verb\":\"prepare\"}\n")
  }

  // MARK: Claims

  private func claims(_ base: String? = nil) throws -> AdapterClaims {
    let program = try #require(AdapterProgram(path: "/adapter"))
    return AdapterClaims(
      wording: AdapterWording(program: program, environment: AdapterEnvironment(of: [:])), publicBaseURL: base
    )
  }

  private func result(_ fields: String) throws -> AdapterFields {
    let line = try AdapterLine(parsing: Array("{\"type\":\"result\"\(fields)}".utf8))
    guard case .result(let result) = line else { throw AdapterViolation("no result") }
    return result
  }

  @Test(
    "impossible claims are rejected",
    arguments: [
      "", ",\"size\":-1,\"url\":\"https://a/b\"", ",\"size\":8,\"url\":\"https://a/b\"",
      ",\"size\":9,\"url\":\"https://a/b\",\"digest\":\"sha256:12\"", ",\"size\":9,\"url\":\"\"",
      ",\"size\":9",
      ",\"size\":9,\"url\":\"javascript:alert(1)\"", ",\"size\":9,\"url\":\"https://user:pass@host/x\"",
      ",\"size\":9,\"url\":\"https://\"", ",\"size\":9,\"url\":\"https://a/b c\"",
      ",\"size\":9,\"url\":\"https://a/\\u202e\"", ",\"size\":9,\"url\":\"https://a/\\n\"",
    ])
  func unbelievable(_ fields: String) throws {
    let key = try #require(ObjectKey("k.mp4"))
    let result = try result(fields)
    #expect(throws: UploadError.self) { try claims().object(key, result, size: 9) }
  }

  @Test func anAddressThatIsNoneIsToldWithoutSecrets() throws {
    let secret = (0..<60).map { "part-\($0)-" }.joined()
    let claims = AdapterClaims(
      wording: AdapterWording(
        program: try #require(AdapterProgram(path: "/adapter")),
        environment: AdapterEnvironment(of: ["REEL_ADAPTER_TOKEN": secret])), publicBaseURL: nil)
    let (key, result) = (
      try #require(ObjectKey("k.mp4")), try result(",\"size\":9,\"url\":\"ftp://h/\(secret)\"")
    )
    let error = #expect(throws: UploadError.self) { try claims.object(key, result, size: 9) }
    #expect(error?.message.hasSuffix("\"ftp://h/‹REEL_ADAPTER_TOKEN›\"") == true, "\(error?.message ?? "")")
  }

  @Test func whatCanBeIsBelieved() throws {
    let key = try #require(ObjectKey("k.mp4"))
    for url in ["https://a/b", "http://[::1]:80/x?y=%20#z", "file:///srv/k.mp4"] {
      let object = try claims().object(key, try result(",\"size\":9,\"url\":\"\(url)\""), size: 9)
      #expect(object.url == url && object.size == 9 && object.digest == nil)
    }
    let named = try claims("https://m/").object(
      key, try result(",\"size\":9,\"url\":\"nonsense\""), size: nil)
    #expect(named.url == "https://m/k.mp4")
  }

  /// docs/command-uploader.schema.json agrees with the code.
  @Test func theSchemaNamesEveryVerbAndEveryCode() throws {
    struct Schema: Decodable {
      struct Kind: Decodable { let properties: [String: Property]? }
      struct Property: Decodable { var `enum`: [String]? }
      let kinds: [String: Kind]
      enum CodingKeys: String, CodingKey { case kinds = "$defs" }
    }
    let root = Checkout.root
    let file = try Data(contentsOf: root.appending(path: "docs/command-uploader.schema.json"))
    let kinds = try JSONDecoder().decode(Schema.self, from: file).kinds
    let codes = try #require(kinds["error"]?.properties?["code"]?.enum)
    #expect(Set(codes) == Set(AdapterLine.tellable.map(\.rawValue)))
    let verbs = try #require(kinds["request"]?.properties?["verb"]?.enum)
    #expect(verbs == AdapterRequest.Verb.allCases.map(\.rawValue))
  }

  // MARK: What is passed to the adapter and back

  @Test func theEnvironmentIsAnAllowList() {
    let environment = AdapterEnvironment(
      of: [
        "PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "AWS_SECRET_ACCESS_KEY": "aws", "REEL_LIBRARY": "/l",
        "REEL_ADAPTER_TOKEN": "token-1", "BUCKET": "bucket-7", "LD_PRELOAD": "x",
      ], allowing: ["BUCKET", "UNSET"])
    #expect(
      environment.variables == [
        "PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "REEL_ADAPTER_TOKEN": "token-1", "BUCKET": "bucket-7",
      ])
    #expect(
      environment.withoutSecrets("token-1 for bucket-7 in /bin")
        == "‹REEL_ADAPTER_TOKEN› for ‹BUCKET› in /bin")
    #expect(AdapterEnvironment(of: [:]).variables == ["PATH": "/usr/local/bin:/usr/bin:/bin"])
  }

  @Test(
    "a value of several lines is redacted line by line, and in its JSON form",
    arguments: [
      ("a key MIIEvQIBADANBg+/x= here", "a key ‹KEY› here"), ("MIIEvQIBADANBg+\\/x=", "‹KEY›"),
      ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg+/x=\n-----END PRIVATE KEY-----\n", "‹KEY›"),
      ("-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg+/x=\\n-----END PRIVATE KEY-----\\n", "‹KEY›"),
      ("> MIIEvQIBADANBg+/x=\r\n> -----END PRIVATE KEY-----", "> ‹KEY›\r\n> ‹KEY›"),
      ("it has said \\\"hush\\\" now", "it has ‹SAID› now"), ("(indented-1)", "(‹LIST›)"), ("b c", "b c"),
    ])
  func severalLines(_ text: String, _ clean: String) {
    let environment = AdapterEnvironment(
      of: [
        "KEY": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg+/x=\n-----END PRIVATE KEY-----\n",
        "SAID": "said \"hush\"", "LIST": "  indented-1\t\nb c\n",
      ], allowing: ["KEY", "SAID", "LIST"])
    #expect(environment.withoutSecrets(text) == clean)
  }

  @Test func itsWordsAreMadeHarmless() {
    #expect(AdapterText.sentence("a\u{1B}[31m b\n\u{202E}c") == "a [31m b c")
    #expect(AdapterText.sentence(String(repeating: "x", count: 999)).count == 301)
    var tail = ErrorTail()
    tail.add(Array("first\nsecond\n  \n".utf8))
    #expect(tail.lastLine == "second")
    // The beginning of this line was dropped, so the rest may start with half a secret.
    tail.add(Array(repeating: UInt8(ascii: "s"), count: 5000))
    #expect(tail.lastLine == nil)
  }

  @Test func programsAndStoresHaveOneName() throws {
    #expect(AdapterProgram(path: "/none/a b#c", store: nil)?.destination.name == "command:/none/a%20b%23c")
    #expect(AdapterProgram(path: "/none/a", store: "s/t")?.destination.name == "command:/none/a#s/t")
    for store in ["", "a b", "a\"", "é", "a\n", String(repeating: "x", count: 201)] {
      #expect(AdapterProgram(path: "/a", store: store) == nil)
    }
    #expect(AdapterProgram(path: "") == nil)
    let folder = try AdapterFolder()
    let program = try folder.adapter("")
    let link = folder.path(of: "link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: program)
    #expect(AdapterProgram(path: link) == AdapterProgram(path: program))
  }
}
