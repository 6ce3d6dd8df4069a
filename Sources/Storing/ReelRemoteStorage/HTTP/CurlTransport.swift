import CCurl
import HTTPTypes
import ReelCore
import ReelStorage

/// HTTP/1.1 over libcurl: connections are kept and shared, TLS is verified, redirects are not followed, and a request
/// that failed is not sent again.
///
/// HTTP/2 is left out on purpose: uploads in parallel are faster over connections of their own, and stores for large
/// objects speak HTTP/1.1.
public final class CurlTransport: HTTPTransport {
  private let loop: CurlLoop
  private let rules: HTTPRules
  private let limiter: RateLimiter?
  /// As many as there are connections: who waits for one waits here, where the time that a connection may take to be
  /// made does not run.
  private let places: AsyncSemaphore

  /// A transport of its own; its thread and its connections end with it. libcurl is opened when the first call is made.
  /// - Parameter limiter: keeps the bodies of all requests together to a rate; what is sent again counts again.
  /// - Throws: ``HTTPFailure/untrusted(_:)`` when the file of extra certificates can't be used.
  public init(_ rules: HTTPRules = HTTPRules(), limiter: RateLimiter? = nil) throws(HTTPFailure) {
    self.rules = rules
    self.limiter = limiter
    places = AsyncSemaphore(count: rules.connections)
    var extra: ExtraCertificates?
    if let path = rules.extraCertificates { extra = try ExtraCertificates(path: path) }
    loop = CurlLoop(connections: rules.connections, proxy: rules.proxy, extraCertificates: extra)
  }

  deinit { loop.stop() }

  /// As ``HTTPTransport/send(_:)``.
  public func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    let reply = try await exchange(call, fold: nil)
    return HTTPReply(status: reply.knownStatus, fields: reply.fields, body: reply.body)
  }

  /// As ``HTTPTransport/fetch(_:into:_:)``; `update` is called on the transport's thread.
  public func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    let folded = Folded(initial)
    let reply = try await exchange(call) { update(&folded.value, $0) }
    return (HTTPReply(status: reply.knownStatus, fields: reply.fields, body: reply.body), folded.value)
  }

  /// Touched by the transfer alone until it has ended, and only then by who waits for that.
  private final class Folded<Value: Sendable>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
  }

  private func exchange(
    _ call: HTTPCall, fold: (@Sendable (UnsafeRawBufferPointer) -> Void)?
  ) async throws(HTTPFailure) -> CurlReply {
    try rules.check(call.origin)
    let request = try self.request(call, isFetched: fold != nil)
    let place = await places.take()
    defer { places.giveBack(place) }
    if Task.isCancelled { throw .cancelled }
    func transfer(_ request: CurlRequest, _ feed: BodyFeed?) -> CurlTransfer {
      CurlTransfer(
        request, feed: feed, replyLimit: call.replyLimit, foldLimit: call.fetchLimit,
        endsAtHead: call.endsAtHead, fold: fold)
    }
    switch call.body {
    case .none: return try await loop.run(transfer(request, nil)).get()
    case .bytes(let bytes):
      guard let limiter else { return try await loop.run(transfer(request, BodyFeed(whole: bytes))).get() }
      let feed = BodyFeed()
      async let _ = feed.read(bytes, limiter)
      return try await send(transfer(request, feed), feed)
    case .source(let body) where limiter == nil && body.range.count <= SourceBodyChunks.chunkSize:
      // One chunk has nothing to be read beside it.
      let bytes = try await SourceBodyChunks(body).single()
      let reply = try await loop.run(transfer(request, BodyFeed(whole: bytes))).get()
      body.reporting(body.range.upperBound - body.range.lowerBound)
      return reply
    case .source(let body):
      let feed = BodyFeed()
      async let _ = feed.read(body, limiter)
      return try await send(transfer(request, feed), feed)
    }
  }

  /// Sends what is read meanwhile. Who reads is cancelled when this returns.
  private func send(_ transfer: CurlTransfer, _ feed: BodyFeed) async throws(HTTPFailure) -> CurlReply {
    await feed.begun()
    defer { feed.abandon() }
    return try await loop.run(transfer).get()
  }

  private func request(_ call: HTTPCall, isFetched: Bool) throws(HTTPFailure) -> CurlRequest {
    CurlRequest(
      method: call.method.rawValue, url: call.url, host: call.origin.host,
      // Over a proxy, what is not encrypted is asked for by its whole address.
      target: call.origin.isSecure ? call.target : nil,
      lines: try call.fieldsOnWire().map { field in
        field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
      },
      bodyLength: call.hasBody ? call.body.length : nil,
      isDirect: !rules.usesProxy || call.origin.isLoopback || call.origin.isLinkLocal,
      limits: CurlLimits(
        connect: rules.timeouts.connect,
        whole: { [timeouts = rules.timeouts, rate = limiter?.bytesPerSecond] received in
          timeouts.limit(for: call, at: rate, received: isFetched ? received : nil)
        },
        idle: rules.timeouts.idleLimit(for: call), answer: rules.timeouts.answerLimit(for: call)))
  }
}

extension HTTPCall {
  /// Whether a length is told: also one of 0, where the method has a body (RFC 9110, 8.6).
  fileprivate var hasBody: Bool {
    if case .none = body { return [.put, .post, .patch].contains(method) }
    return true
  }
}

extension CurlReply {
  fileprivate var knownStatus: HTTPResponse.Status { HTTPResponse.Status(code: status) }

  /// Those of the last head: interim replies stand before it. What HTTPTypes does not take as a name is left out.
  fileprivate var fields: HTTPFields {
    var fields = HTTPFields()
    for line in head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true) {
      if line.starts(with: "HTTP/".utf8) {
        fields = HTTPFields()
        continue
      }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
      else { continue }
      let value = String(
        decoding: line[(colon + 1)...].trimming { [0x20, 0x09, 0x0D].contains($0) }, as: UTF8.self)
      // Said twice, it is the same (some servers, and what stands before them, both write a field).
      if fields[name] != value { fields.append(HTTPField(name: name, value: value)) }
    }
    return fields
  }
}

/// libcurl, opened by the name that it has kept since 2006. Its functions may be called from any thread; a handle belongs
/// to one thread at a time.
struct Curl: @unchecked Sendable {
  // Sendable: the table is written once, before anybody has it.
  private let table: OpaquePointer

  /// The library's file, as every distribution names it.
  static let fileName = "libcurl.so.4"

  /// Opens the library. Blocks.
  /// - Throws: ``HTTPFailure/noLibrary(_:)``.
  init(opening name: String = Curl.fileName) throws(HTTPFailure) {
    var why = [CChar](repeating: 0, count: 300)
    guard let table = reel_curl_open(name, &why, why.count) else {
      throw .noLibrary(String(decoding: why.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    self.table = table
  }

  /// Gives the table back; the library stays loaded.
  func close() { reel_curl_close(table) }

  /// The bundle and the directory of certificates that the library trusts by itself.
  var trusted: (bundle: String?, directory: String?) {
    var (bundle, directory): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
    reel_curl_trusted(table, &bundle, &directory)
    return (bundle.map { String(cString: $0) }, directory.map { String(cString: $0) })
  }

  // MARK: One transfer

  typealias Easy = UnsafeMutableRawPointer

  func makeEasy() -> Easy? { reel_curl_easy_init(table) }
  func free(_ easy: Easy) { reel_curl_easy_cleanup(table, easy) }

  /// The body may be asked for again.
  func resume(_ easy: Easy) { _ = reel_curl_easy_pause(table, easy, 0) }

  func words(for code: CURLcode) -> String { String(cString: reel_curl_easy_strerror(table, code)) }

  func set(_ easy: Easy, _ option: CURLoption, _ value: Int) {
    _ = reel_curl_set_long(table, easy, option, value)
  }
  func set(_ easy: Easy, _ option: CURLoption, offset: Int64) {
    _ = reel_curl_set_offset(table, easy, option, curl_off_t(offset))
  }
  func set(_ easy: Easy, _ option: CURLoption, _ value: String?) {
    _ = reel_curl_set_text(table, easy, option, value)
  }
  func set(_ easy: Easy, _ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
    _ = reel_curl_set_pointer(table, easy, option, pointer)
  }
  /// Whether it can be held to web requests (see CCurl).
  func setWebOnly(_ easy: Easy) -> Bool { reel_curl_set_web_only(table, easy) == CURLE_OK }
  /// Whether all of them are known to it.
  func set(_ easy: Easy, _ callbacks: inout reel_curl_callbacks, context: UnsafeMutableRawPointer) -> Bool {
    reel_curl_set_callbacks(table, easy, &callbacks, context) == CURLE_OK
  }

  func long(_ easy: Easy, _ info: CURLINFO) -> Int {
    var value = 0
    _ = reel_curl_get_long(table, easy, info, &value)
    return value
  }
  func offset(_ easy: Easy, _ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    _ = reel_curl_get_offset(table, easy, info, &value)
    return Int64(value)
  }

  /// The socket of the connection that was used last; nil when there was none.
  func socket(_ easy: Easy) -> Int32? {
    let socket = reel_curl_socket(table, easy)
    return socket < 0 ? nil : socket
  }

  /// Lines for `CURLOPT_HTTPHEADER`; nil when there is no memory.
  func list(_ lines: [String]) -> UnsafeMutablePointer<curl_slist>? {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines {
      guard let longer = reel_curl_slist_append(table, list, line) else {
        free(list)
        return nil
      }
      list = longer
    }
    return list
  }
  func free(_ list: UnsafeMutablePointer<curl_slist>?) { reel_curl_slist_free(table, list) }

  // MARK: Many

  typealias Multi = UnsafeMutableRawPointer

  /// - Parameter keeping: connections that are kept for later.
  func makeMulti(keeping: Int) -> Multi? { reel_curl_multi_init(table, keeping) }
  func end(_ multi: Multi) { _ = reel_curl_multi_cleanup(table, multi) }
  func add(_ easy: Easy, to multi: Multi) -> Bool { reel_curl_multi_add(table, multi, easy) == CURLM_OK }
  func remove(_ easy: Easy, from multi: Multi) { _ = reel_curl_multi_remove(table, multi, easy) }
  func perform(_ multi: Multi) { _ = reel_curl_multi_perform(table, multi) }
  /// Waits until something can be done, or ``wake(_:)`` is called.
  func wait(_ multi: Multi, milliseconds: Int32) { _ = reel_curl_multi_poll(table, multi, milliseconds) }
  /// From any thread.
  func wake(_ multi: Multi) { _ = reel_curl_multi_wakeup(table, multi) }
  /// The next one that has ended.
  func ended(_ multi: Multi) -> (easy: Easy, code: CURLcode)? {
    var code = CURLE_OK
    return reel_curl_multi_ended(table, multi, &code).map { ($0, code) }
  }
}
