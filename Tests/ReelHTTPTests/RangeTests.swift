import HTTPTypes
import ReelCore
import ReelHTTPFakes
import Testing

@testable import ReelRemoteStorage

/// Which ranges of a remote file are requested, and what the replies mean.
@Suite struct RangeTests {
  // MARK: What is fetched

  struct Step: Sendable, CustomStringConvertible {
    let offset: Int64
    let count: Int
    var expected = 0
    var before: Int64?
    let range: Range<Int64>
    var description: String { "\(offset) \(count)" }
  }
  private static let (kib, mib) = (Int64(1 << 10), Int64(1 << 20))

  @Test(
    arguments: [
      // Sequential reads double the range, up to half a mebibyte.
      (
        1 << 30,
        [
          Step(offset: 64 * kib, count: 10, range: 64 * kib..<192 * kib),
          Step(offset: 192 * kib, count: 10, range: 192 * kib..<448 * kib),
          Step(offset: 448 * kib, count: 10, range: 448 * kib..<960 * kib),
          Step(offset: 960 * kib, count: 10, range: 960 * kib..<1472 * kib),
        ]
      ),
      // A read elsewhere fetches little.
      (1 << 30, [Step(offset: 500 * mib, count: 10, range: 500 * mib..<500 * mib + 64 * kib)]),
      // A read near the end fetches all of the rest.
      (1 << 30, [Step(offset: (1 << 30) - 100 * kib, count: 10, range: (1 << 30) - 100 * kib..<1 << 30)]),
      // As much as is expected, and no more.
      (
        1 << 30,
        [
          Step(offset: 500 * mib, count: 16, expected: 900_000, range: 500 * mib..<500 * mib + 900_000),
          Step(offset: 64 * kib, count: 16, expected: 100_000, range: 64 * kib..<64 * kib + 100_000),
          Step(offset: 500 * mib, count: 16, expected: 1 << 40, range: 500 * mib..<504 * mib),
          Step(offset: 504 * mib, count: 16, range: 504 * mib..<504 * mib + 64 * kib),
        ]
      ),
      // Cached bytes are not fetched again.
      (
        1 << 30, [Step(offset: 500 * mib, count: 10, before: 500 * mib + 5, range: 500 * mib..<500 * mib + 5)]
      ),
      // A remainder too small for another request is fetched at once.
      (300 * 1024, [Step(offset: 40_000, count: 10, expected: 220_000, range: 40_000..<300 * 1024)]),
      // A size that no real file has.
      (.max, [Step(offset: .max - 100, count: 10, expected: 1 << 40, range: .max - 100 ..< .max)]),
      // Never more than the file has.
      (100, [Step(offset: 0, count: 4096, range: 0..<100)]),
    ] as [(Int64, [Step])])
  func readAhead(_ size: Int64, _ steps: [Step]) {
    var ahead = ReadAhead(size: size, fetched: 64 << 10)
    for step in steps {
      let range = ahead.range(
        at: step.offset, count: step.count, expected: step.expected, before: step.before)
      #expect(range == step.range, "\(step)")
    }
  }

  @Test func aRangeIsNeverEmptyAndNeverBehindTheFile() {
    for size in [1, 2, 65_536, 65_537, 1 << 20, 1 << 33] as [Int64] {
      for offset in [0, 1, size / 2, size - 1] where offset < size {
        for (count, expected) in [(1, 0), (65_536, 1 << 40), (1, 1)] {
          for before in [nil, offset + 1, offset] as [Int64?] {
            var ahead = ReadAhead(size: size, fetched: 0)
            let range = ahead.range(at: offset, count: count, expected: expected, before: before)
            #expect(range.lowerBound == offset && !range.isEmpty && range.upperBound <= size)
            #expect(range.count <= ReadAhead.mostExpected + ReadAhead.smallest)
          }
        }
      }
    }
  }

  // MARK: What is cached

  @Test func theCacheGivesWhatItHasAndForgetsWhatWasUsedLeast() {
    var cache = RangeCache(capacity: 30)
    cache.add(Array(0..<10), at: 0)
    cache.add(Array(100..<110), at: 100)
    cache.add(Array(50..<60), at: 50)
    #expect(read(cache: &cache, at: 5, 20) == [5, 6, 7, 8, 9])
    #expect(read(cache: &cache, at: 10, 5) == [])
    #expect(cache.next(after: 10) == 50 && cache.next(after: 50) == 100 && cache.next(after: 100) == nil)
    #expect(read(cache: &cache, at: 50, 2) == [50, 51])
    #expect(cache.end(before: 55) == 60 && cache.end(before: 70) == 60 && cache.end(before: 0) == nil)
    cache.add(Array(200..<210), at: 200)
    // The range at 100 was used least recently.
    #expect(read(cache: &cache, at: 100, 1) == [])
    #expect(read(cache: &cache, at: 200, 1) == [200])
    #expect(read(cache: &cache, at: 0, 1) == [0])
  }

  private func read(cache: inout RangeCache, at offset: Int64, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xFF, count: count)
    let got = bytes.withUnsafeMutableBytes { cache.copy(from: offset, into: $0) }
    return Array(bytes.prefix(got))
  }

  // MARK: What a server replies

  @Test(
    arguments: [
      ("bytes 0-65535/2147483648", 0..<65_536, 2_147_483_648), ("bytes 5-5/6", 5..<6, 6),
      ("Bytes 0-0/*", 0..<1, nil), ("bytes */100", nil, 100),
      ("bytes 0-10/10", 0..<10, 10), ("bytes 0-65535/300", 0..<300, 300),
    ] as [(String, Range<Int64>?, Int64?)])
  func contentRange(_ text: String, _ range: Range<Int64>?, _ size: Int64?) {
    let found = ContentRange(parsing: text)
    #expect(found != nil && found?.range == range && found?.size == size)
  }

  @Test(arguments: [
    "", "bytes", "bytes 0-5", "bytes 5-0/10", "bytes 10-10/10", "bytes -1-5/10", "bytes 0-5/-10", "bytes */*",
    "pages 0-5/10", "bytes 0-99999999999999999999/100", "bytes 0-5/10/3", "bytes 0x0-5/10", "bytes +0-5/10",
    "bytes 0-\(Int64.max)/*", "bytes a-b/c",
  ])
  func noContentRange(_ text: String) {
    #expect(ContentRange(parsing: text) == nil)
  }

  struct Reply: Sendable, CustomStringConvertible {
    let status: Int
    var fields: HTTPFields = [:]
    var body = 0
    var range: Range<Int64> = 0..<10
    var pin = FilePin()
    /// The expected error; nil if bytes are expected.
    var code: SourceError.Code?
    var words = ""
    var description: String { "\(status) \(fields) \(range)" }
  }

  @Test(arguments: [
    Reply(status: 206, fields: [.contentRange: "bytes 0-9/100"], body: 10),
    // The end of the file.
    Reply(status: 206, fields: [.contentRange: "bytes 95-99/100"], body: 5, range: 95..<105),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .eTag: "\"a\""], body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "\"a\""))),
    // A whole small file, from a server without ranges.
    Reply(status: 200, fields: [.contentLength: "7"], body: 7),
    // An empty file.
    Reply(status: 416, fields: [.contentRange: "bytes */0"]),
    Reply(status: 206, body: 10, code: .unreadable, words: "which bytes"),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/*"], body: 10, code: .unreadable, words: "how long"),
    Reply(
      status: 206, fields: [.contentRange: "nonsense"], body: 10, code: .unreadable, words: "which bytes"),
    Reply(
      status: 206, fields: [.contentRange: "bytes 1-10/100"], body: 10, code: .unreadable,
      words: "other bytes"),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-10/100"], body: 11, code: .unreadable,
      words: "other bytes"),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-4/100"], body: 5, code: .unreadable, words: "fewer bytes"),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100"], body: 9, code: .unreadable, words: "fewer bytes"),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .contentEncoding: "gzip"], body: 10,
      code: .unreadable, words: "compressed"),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .contentEncoding: "utf-8, X-GZip"], body: 10,
      code: .unreadable, words: "compressed"),
    Reply(status: 206, fields: [.contentRange: "bytes 0-9/100", .contentEncoding: "none"], body: 10),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .contentEncoding: "binary, utf-8"], body: 10),
    Reply(status: 200, fields: [.contentEncoding: "BR"], body: 7, code: .unreadable, words: "compressed"),
    Reply(status: 200, body: 11, code: .unreadable, words: "as a whole"),
    Reply(status: 200, body: 10, range: 5..<15, code: .unreadable, words: "as a whole"),
    Reply(status: 200, fields: [.contentLength: "9"], body: 5, code: .unreadable, words: "fewer bytes"),
    // A range with the status of a whole file (rclone serve s3).
    Reply(status: 200, fields: [.contentRange: "bytes 0-9/100"], body: 10),
    Reply(
      status: 200, fields: [.contentRange: "bytes 0-9/100"], body: 10, pin: FilePin(size: 99),
      code: .sourceChanged),
    // The file has changed.
    Reply(status: 412, code: .sourceChanged),
    Reply(status: 416, pin: FilePin(size: 100), code: .sourceChanged),
    Reply(status: 416, fields: [.contentRange: "bytes */5"], range: 10..<20, code: .sourceChanged),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100"], body: 10, pin: FilePin(size: 99),
      code: .sourceChanged),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .eTag: "\"b\""], body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "\"a\"")), code: .sourceChanged),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .lastModified: "later"], body: 10,
      pin: FilePin(size: 100, state: RemoteState(modified: "earlier")), code: .sourceChanged),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .eTag: "W/\"a\"", .lastModified: "later"],
      body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "W/\"a\"", modified: "earlier")), code: .sourceChanged),
    // With the same strong tag, the time does not matter (RFC 9110, 13.2.2).
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .eTag: "\"a\"", .lastModified: "later"], body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "\"a\"", modified: "earlier"))),
    // The same tag in another notation; a weak tag does not override the time.
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .eTag: "a"], body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "\"a\""))),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .eTag: "W/\"a\""], body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "\"a\""))),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .eTag: "b"], body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "\"a\"")), code: .sourceChanged),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .eTag: "W/\"a\"", .lastModified: "later"],
      body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "\"a\"", modified: "earlier")), code: .sourceChanged),
    // There is no tag to compare.
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/100", .lastModified: "later"], body: 10,
      pin: FilePin(size: 100, state: RemoteState(tag: "\"a\"", modified: "earlier")), code: .sourceChanged),
    Reply(
      status: 206, fields: [.contentRange: "bytes 0-9/9223372036854775807"], body: 10, code: .unreadable,
      words: "impossible size"),
    Reply(status: 404, code: .notFound), Reply(status: 410, code: .notFound),
    Reply(status: 401, code: .denied), Reply(status: 403, code: .denied, words: "signature"),
    Reply(status: 400, code: .unreadable, words: "400"),
    Reply(status: 302, code: .unreadable, words: "redirects this address, and"),
    Reply(
      status: 302, fields: [.location: "https://other.test/x?X-Amz-Signature=secret"], code: .unreadable,
      words: "to another one at https://other.test, and"),
  ])
  func replies(_ given: Reply) {
    let answer = RangeAnswer(range: given.range, pin: given.pin, server: "https://a.test")
    let reply = HTTPReply(
      status: .init(code: given.status), fields: given.fields, body: [UInt8](repeating: 1, count: given.body))
    do throws(SourceError) {
      let fetched = try answer.read(reply)
      #expect(given.code == nil && fetched.bytes.count == given.body)
    } catch {
      #expect(error.code == given.code, "\(error.message)")
      #expect(
        (given.words.isEmpty || error.message.contains(given.words)) && !error.message.contains("secret"),
        "\(error.message)")
    }
  }

  @Test func aRequestIsAboutTheOneThatWasSeenFirst() {
    let asked = { (pin: FilePin) in HTTPFields.asking(for: 5..<10, of: pin) }
    #expect(asked(FilePin())[.range] == "bytes=5-9")
    #expect(asked(FilePin(state: RemoteState(tag: "\"a\"", modified: "then")))[.ifMatch] == "\"a\"")
    // A weak tag never matches (RFC 9110, 13.1.1).
    #expect(asked(FilePin(state: RemoteState(tag: "W/\"a\"")))[.ifMatch] == nil)
    #expect(
      asked(FilePin(state: RemoteState(tag: "W/\"a\"", modified: "then")))[.ifUnmodifiedSince] == "then")
    #expect(asked(FilePin(state: RemoteState(modified: "then")))[.ifUnmodifiedSince] == "then")
  }

  // MARK: Addresses

  @Test(arguments: [
    ("https://host/a/b.mp4", "https://host/a/b.mp4"), ("HTTPS://Host:443/a", "https://host/a"),
    ("http://127.0.0.1:9000", "http://127.0.0.1:9000/"),
    ("https://host/a.mp4?X-Amz-Signature=secret&x=?", "https://host/a.mp4"),
    ("https://host/a%20b/", "https://host/a%20b/"),
  ])
  func webAddress(_ text: String, _ shown: String) throws {
    let address = try WebAddress(parsing: text)
    #expect(address.shown == shown)
    #expect(!"\(address)".contains("secret"))
    let query = text.firstIndex(of: "?").map { String(text[$0...]) } ?? ""
    #expect(address.query.revealed == query)
  }

  @Test(arguments: [
    "https://", "https://user:word@host/a", "https://host/a#b", "https://host/a b", "https://host:99999/a",
    "ftp://host/a",
  ])
  func noWebAddress(_ text: String) {
    #expect(throws: HTTPAddressError.self) { try WebAddress(parsing: text) }
  }

  @Test(arguments: [
    ("s3://bucket", "bucket", nil, ""), ("s3://bucket/", "bucket", nil, ""),
    ("s3://bucket/a/b c?#.mp4", "bucket", nil, "a/b c?#.mp4"), ("s3://bucket//a/", "bucket", nil, "/a/"),
    ("s3+http://127.0.0.1:9/bucket/a", "bucket", "http://127.0.0.1:9", "a"),
    ("s3+https://host/bucket", "bucket", "https://host", ""),
  ])
  func bucketAddress(_ text: String, _ bucket: String, _ endpoint: String?, _ name: String) throws {
    guard case .s3(let address, let found) = try SourceAddress(parsing: SourcePath(text)) else {
      Issue.record("not a bucket")
      return
    }
    #expect(
      address.bucket == bucket && address.endpoint == endpoint && address.prefix.isEmpty && found == name)
  }

  @Test(arguments: [
    "s3://", "s3:///a", "s3+https://host", "s3+https:///bucket/a", "s3://key:word@bucket/a", "s3://b/../a",
  ])
  func noBucketAddress(_ text: String) {
    #expect(SourcePath(text).isAddress)
    #expect(throws: SourceAddressError.self) { try SourceAddress(parsing: SourcePath(text)) }
  }

  @Test(arguments: ["clip.mp4", "./s3://x", "s3:bucket", "/https://x", "file:///x", "tus+https://x/", ""])
  func pathsAreNoAddresses(_ text: String) {
    #expect(!SourcePath(text).isAddress)
  }

  @Test(arguments: [
    ("?id=1", "?id=1", true), ("?id=1", "?id=2", false), ("?id=1", "", false),
    ("?id=1&X-Amz-Signature=a&X-Amz-Date=b", "?id=1&X-Amz-Signature=c&X-Amz-Date=d", true),
    ("?x-goog-signature=a", "", true), ("?sv=1&sig=a&se=b", "?sv=1&sig=c&se=d", true),
    ("?Expires=1&Signature=a&Key-Pair-Id=k", "?Expires=2&Signature=b&Key-Pair-Id=k", true),
    // Nothing indicates that these are signatures.
    ("?expires=1", "?expires=2", false), ("?sig=1", "?sig=2", false),
  ])
  func addressesDifferByTheirQueriesButNotBySignatures(_ one: String, _ other: String, _ areOne: Bool) throws
  {
    let transport = ScriptedTransport { _ in HTTPReply(status: .notFound) }
    let sources = try [one, other].map { query in
      WebSource(try WebAddress(parsing: "https://host/get" + query), transport: transport)
    }
    #expect((sources[0].identifier == sources[1].identifier) == areOne)
    #expect(sources[0].path == sources[1].path)
  }

  @Test("a server that claims a shorter file with each request is not asked again and again")
  func shorterAndShorter() async throws {
    let transport = ScriptedTransport { sent in
      let last = (sent.call.fields[.range] ?? "").split(separator: "-").last.flatMap { Int($0) } ?? 0
      return HTTPReply(status: .rangeNotSatisfiable, fields: [.contentRange: "bytes */\(last)"])
    }
    let source = WebSource(try WebAddress(parsing: "https://host/a.mp4"), transport: transport)
    let queue = BlockingQueue(label: "reel.test", width: 1)
    await #expect(throws: SourceError.self) {
      try await queue.run { () throws in
        _ = try source.open(nil, for: .probing, cancellation: CancellationFlag()).handle.head(1000)
      }
    }
    #expect(transport.calls.count == 2, "\(transport.calls.count)")
  }

  @Test("a file whose server must not be read from has the error of that, and is not asked for again")
  func notPermitted() async throws {
    let refusal = SourceError(.outsideRoot, "not from there")
    let transport = ScriptedTransport { _ throws(HTTPFailure) in throw .source(UploadError.refusing(refusal))
    }
    let source = WebSource(try WebAddress(parsing: "https://host/a.mp4"), transport: transport)
    let queue = BlockingQueue(label: "reel.test", width: 1)
    await #expect(throws: refusal) {
      try await queue.run { () throws in
        _ = try source.open(nil, for: .copying, cancellation: CancellationFlag())
      }
    }
    #expect(transport.calls.count == 1)
  }

  // MARK: States

  @Test func anIdentityIsOfOneStateOfOneAddress() {
    let address = SourcePath("s3://bucket/a").bytes
    let one = RemoteIdentity.of(address, size: 5, RemoteState(tag: "\"a\""))
    #expect(one == RemoteIdentity.of(address, size: 5, RemoteState(tag: "\"a\"", modified: "then")))
    #expect(one != RemoteIdentity.of(address, size: 5, RemoteState(tag: "\"b\"")))
    #expect(one != RemoteIdentity.of(address, size: 6, RemoteState(tag: "\"a\"")))
    #expect(one != RemoteIdentity.of(SourcePath("s3://bucket/b").bytes, size: 5, RemoteState(tag: "\"a\"")))
    // An ETag identifies the bytes; without one, only a file that has not changed for a while is remembered.
    #expect(one.changedAt == 0)
    let timed = RemoteIdentity.of(address, size: 5, RemoteState(modified: "Sun, 06 Nov 1994 08:49:37 GMT"))
    #expect(timed.changedAt == 784_111_777_000_000_000)
    #expect(RemoteIdentity.of(address, size: 5, RemoteState()).changedAt > 8_000_000_000_000_000_000)
    // Times outside the range of nanoseconds since 1970.
    for year in ["9999", "1601"] {
      let odd = RemoteIdentity.of(
        address, size: 5, RemoteState(modified: "Fri, 31 Dec \(year) 23:59:59 GMT"))
      #expect([0, 9_000_000_000_000_000_000].contains(odd.changedAt))
    }
  }

  @Test(arguments: [
    RemoteState(tag: "\"a b\""), RemoteState(tag: "W/\"time\""),
    RemoteState(modified: "Sun, 06 Nov 1994 08:49:37 GMT"),
    RemoteState(),
  ])
  func aStateIsATextAndBack(_ state: RemoteState) { #expect(RemoteState(text: state.text) == state) }

  @Test func whatHasAnETagIsToldByItAlone() {
    #expect(RemoteState(text: RemoteState(tag: "\"a\"", modified: "then").text) == RemoteState(tag: "\"a\""))
    #expect(RemoteState(text: "size 5") == RemoteState())
  }
}
