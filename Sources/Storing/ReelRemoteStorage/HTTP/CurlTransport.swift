import CCurl
import HTTPTypes
import ReelCore
import ReelStorage

/// Decides, by the address of a server to which a connection was made, whether a request may be sent to `host`: returns
/// nil if it may, otherwise the error. The address is nil if it is unknown. Called on the transport's thread.
package typealias ConnectionRule = @Sendable (_ host: String, _ address: IPAddress?) -> SourceError?

/// HTTP/1.1 over libcurl: connections are kept and shared, TLS is verified, redirects are not followed, and a request
/// that failed is not sent again.
///
/// HTTP/2 is not used on purpose: parallel uploads are faster over separate connections, and stores for large objects
/// speak HTTP/1.1.
public final class CurlTransport: HTTPTransport {
  private let loop: CurlLoop
  private let rules: HTTPRules
  private let limiter: RateLimiter?
  private let rule: ConnectionRule?
  /// One place for each connection. A call waits here for a free one, not in libcurl, where the connect timeout would
  /// be running.
  private let places: AsyncSemaphore

  /// Creates a transport; its thread and its connections end with it. libcurl is opened by the first call.
  /// - Parameter limiter: limits the combined rate of all request bodies. Bytes that are sent again count again.
  /// - Throws: ``HTTPFailure/untrusted(_:)`` if the file of extra certificates can't be used.
  public convenience init(
    _ rules: HTTPRules = HTTPRules(), limiter: RateLimiter? = nil
  ) throws(HTTPFailure) {
    try self.init(rules, limiter: limiter, rule: nil)
  }

  /// - Parameter rule: nil to admit every address.
  package init(
    _ rules: HTTPRules, limiter: RateLimiter? = nil, rule: ConnectionRule?
  ) throws(HTTPFailure) {
    (self.rules, self.limiter, self.rule) = (rules, limiter, rule)
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

  /// Touched only by the transfer until it has ended, and only then by the caller that waits for it.
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
      // With a single chunk there is nothing to read while it is sent.
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

  /// Sends a body while another task reads it. That task is cancelled once this returns.
  private func send(_ transfer: CurlTransfer, _ feed: BodyFeed) async throws(HTTPFailure) -> CurlReply {
    await feed.begun()
    defer { feed.abandon() }
    return try await loop.run(transfer).get()
  }

  private func request(_ call: HTTPCall, isFetched: Bool) throws(HTTPFailure) -> CurlRequest {
    CurlRequest(
      method: call.method.rawValue, url: call.url, host: call.origin.host,
      // A proxy expects the whole URL for a request that is not encrypted.
      target: call.origin.isSecure ? call.target : nil,
      lines: try call.fieldsOnWire().map { field in
        field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
      },
      bodyLength: call.hasBody ? call.body.length : nil,
      // The address of a proxy says nothing about where its connections lead.
      rule: rules.mayUseProxy(for: call.origin) ? nil : rule,
      isDirect: rules.bypassesProxies(call.origin),
      limits: CurlLimits(
        connect: rules.timeouts.connect,
        whole: { [timeouts = rules.timeouts, rate = limiter?.bytesPerSecond] received in
          timeouts.limit(for: call, at: rate, received: isFetched ? received : nil)
        },
        idle: rules.timeouts.idleLimit(for: call), answer: rules.timeouts.answerLimit(for: call)))
  }
}

extension HTTPCall {
  /// Whether Content-Length is sent: also a length of 0, if the method has a body (RFC 9110, 8.6).
  fileprivate var hasBody: Bool {
    if case .none = body { return [.put, .post, .patch].contains(method) }
    return true
  }
}

extension CurlReply {
  fileprivate var knownStatus: HTTPResponse.Status { HTTPResponse.Status(code: status) }

  /// The fields of the final reply, without those of interim replies. Fields whose names HTTPTypes rejects are
  /// left out.
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
      // A repetition is dropped: some servers, and proxies in front of them, both write the same field.
      if fields[name] != value { fields.append(HTTPField(name: name, value: value)) }
    }
    return fields
  }
}

/// libcurl, opened by the file name that it has kept since 2006. Its functions may be called from any thread; a handle
/// belongs to one thread at a time.
struct Curl: @unchecked Sendable {
  // Sendable: the table is written once, before it is shared.
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

  /// Frees the function table; the library stays loaded.
  func close() { reel_curl_close(table) }

  /// The bundle and the directory of certificates that the library trusts by default.
  var trusted: (bundle: String?, directory: String?) {
    var (bundle, directory): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
    reel_curl_trusted(table, &bundle, &directory)
    return (bundle.map { String(cString: $0) }, directory.map { String(cString: $0) })
  }

  // MARK: One transfer

  typealias Easy = UnsafeMutableRawPointer

  func makeEasy() -> Easy? { reel_curl_easy_init(table) }
  func free(_ easy: Easy) { reel_curl_easy_cleanup(table, easy) }

  /// Lets libcurl ask for the body again.
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
  /// Restricts the transfer to web requests (see CCurl); false if that fails.
  func setWebOnly(_ easy: Easy) -> Bool { reel_curl_set_web_only(table, easy) == CURLE_OK }
  /// Sets the callbacks; false if libcurl does not know one of their options.
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

  /// Returns the socket of the connection that was used last; nil if there was none.
  func socket(_ easy: Easy) -> Int32? {
    let socket = reel_curl_socket(table, easy)
    return socket < 0 ? nil : socket
  }

  /// Creates a list of lines for `CURLOPT_HTTPHEADER`; nil if there is no memory.
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

  // MARK: Many transfers

  typealias Multi = UnsafeMutableRawPointer

  /// - Parameter keeping: the number of connections to keep for reuse.
  func makeMulti(keeping: Int) -> Multi? { reel_curl_multi_init(table, keeping) }
  func end(_ multi: Multi) { _ = reel_curl_multi_cleanup(table, multi) }
  func add(_ easy: Easy, to multi: Multi) -> Bool { reel_curl_multi_add(table, multi, easy) == CURLM_OK }
  func remove(_ easy: Easy, from multi: Multi) { _ = reel_curl_multi_remove(table, multi, easy) }
  func perform(_ multi: Multi) { _ = reel_curl_multi_perform(table, multi) }
  /// Waits until a transfer can proceed, or ``wake(_:)`` is called.
  func wait(_ multi: Multi, milliseconds: Int32) { _ = reel_curl_multi_poll(table, multi, milliseconds) }
  /// Ends a ``wait(_:milliseconds:)``. May be called from any thread.
  func wake(_ multi: Multi) { _ = reel_curl_multi_wakeup(table, multi) }
  /// Returns the next transfer that has ended.
  func ended(_ multi: Multi) -> (easy: Easy, code: CURLcode)? {
    var code = CURLE_OK
    return reel_curl_multi_ended(table, multi, &code).map { ($0, code) }
  }
}
