import CCurl

/// What a transfer is asked for.
struct CurlRequest: Sendable {
  let method: String
  let url: String
  let host: String
  /// Path and query as they are sent, where nothing stands between us and the origin that needs more.
  let target: String?
  /// Such as `Content-Type: video/mp4`.
  let lines: [String]
  /// Nil for a request without a body; else how long it is.
  let bodyLength: Int64?
  /// Whether proxies are left aside, whatever the environment names.
  let isDirect: Bool
  let limits: CurlLimits
}

/// How long a transfer may take.
struct CurlLimits: Sendable {
  let connect: Duration
  /// In all, once so many bytes of the reply have come.
  let whole: @Sendable (Int) -> Duration
  /// With no byte in either direction, unless we ourselves have none to send.
  let idle: Duration
  /// From the request to the beginning of its reply; nil leaves that to `idle`.
  let answer: Duration?
}

/// A reply as it came.
struct CurlReply: Sendable {
  /// What a reply's status may be.
  static let statuses = 100...599

  /// One of ``statuses``.
  let status: Int
  /// Status line and fields.
  let head: [UInt8]
  let body: [UInt8]

  /// The status that a status line of HTTP/1.0 or 1.1 (RFC 9112, 4) tells; nil where it is none, or another protocol's.
  /// What versions of libcurl make of such a line differs: 8.14 takes `HTTP/2.0 503 No` for a status of 200.
  static func status(ofLine line: some Collection<UInt8>) -> Int? {
    let versions = ["HTTP/1.1", "HTTP/1.0"]
    guard versions.contains(where: { line.starts(with: $0.utf8) }) else { return nil }
    let rest = line.dropFirst(8)
    let text = rest.drop { $0 == 0x20 || $0 == 0x09 }
    let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard text.count < rest.count, digits.count == 3 else { return nil }
    return digits.reduce(0) { 10 * $0 + Int($1 - UInt8(ascii: "0")) }
  }
}

/// One exchange. Whoever makes it hands it to a ``CurlLoop``, and has it back when that has given the result; between
/// the two it is touched on the loop's thread alone, which is why it may be sent there.
final class CurlTransfer: @unchecked Sendable {
  let request: CurlRequest
  /// Bytes to be sent; nil for none.
  let feed: BodyFeed?
  /// Bytes of a body that are kept.
  let replyLimit: Int
  /// Bytes of a body that `fold` takes.
  let foldLimit: Int
  /// Whether it is over with the reply's head.
  let endsAtHead: Bool
  /// Takes the body of a 2xx reply; nil where it is kept, too.
  let fold: ((UnsafeRawBufferPointer) -> Void)?

  // Of the loop's thread, from here on.

  var continuation: CheckedContinuation<Result<CurlReply, HTTPFailure>, Never>?
  var isCancelled = false
  private(set) var easy: Curl.Easy?
  private var lines: UnsafeMutablePointer<curl_slist>?
  private let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  /// Has ``resume()`` called, from any thread.
  private var wake: (@Sendable () -> Void)?
  private var curl: Curl?

  private var start = ContinuousClock.now
  /// When the request went out; nil while the connection is made.
  private var begin: ContinuousClock.Instant?
  private var lastMove = ContinuousClock.now
  private var hasMoved = false
  private var sent: Int64 = 0
  /// Whether the body's next bytes are still to be read.
  private var isWaiting = false
  private var head: [UInt8] = []
  /// Of the last status line; nil before one has come.
  private var status: Int?
  /// Whether the next line of the head is a status line.
  private var isAtStatusLine = true
  private var isHeadWhole = false
  private var body: [UInt8] = []
  private var folded = 0
  /// Why one of the callbacks has ended the transfer.
  private var failure: HTTPFailure?
  /// What is known of connections that are kept.
  private var kept: KeptConnections?
  /// The one that the request goes out on.
  private var connection: KeptConnections.Name?
  /// Whether a kept connection was offered that no request should go out on: nothing was sent, and a new one is needed.
  private(set) var needsNewConnection = false
  var hasBegun: Bool { begin != nil }

  /// Bytes of a reply's head: status line, fields, and interim replies before it.
  static let headLimit = 80 << 10

  init(
    _ request: CurlRequest, feed: BodyFeed?, replyLimit: Int, foldLimit: Int = .max, endsAtHead: Bool = false,
    fold: ((UnsafeRawBufferPointer) -> Void)? = nil
  ) {
    (self.request, self.feed, self.replyLimit, self.foldLimit, self.endsAtHead, self.fold) = (
      request, feed, replyLimit, foldLimit, endsAtHead, fold
    )
    reason.pointee = 0
  }

  deinit { reason.deallocate() }

  // MARK: Begin and end

  /// Makes its handle; nil when that can't be done.
  func prepare(
    _ curl: Curl, _ trust: CertificateTrust, _ kept: KeptConnections, proxy: String?,
    wake: @escaping @Sendable () -> Void
  ) -> Curl.Easy? {
    guard let easy = curl.makeEasy(), let lines = curl.list(request.lines + ["Accept:", "Expect:"]) else {
      return nil
    }
    (self.curl, self.easy, self.lines, self.wake, self.kept) = (curl, easy, lines, wake, kept)
    (start, lastMove) = (.now, .now)
    var callbacks = reel_curl_callbacks(
      read: { transfer($3).read(UnsafeMutableRawBufferPointer(start: $0, count: $1 * $2)) },
      write: { transfer($3).keep(UnsafeRawBufferPointer(start: $0, count: $1 * $2)) },
      header: { transfer($3).keepHead(UnsafeRawBufferPointer(start: $0, count: $1 * $2)) },
      begin: { context, remote, _, remotePort, localPort in
        transfer(context).mayBegin(
          KeptConnections.Name(
            remote: remote.map { String(cString: $0) } ?? "", remotePort: remotePort, localPort: localPort))
          ? 0 : 1
      })
    guard curl.set(easy, &callbacks, context: Unmanaged.passUnretained(self).toOpaque()),
      curl.setWebOnly(easy)
    else { return nil }
    setConnection(curl, easy, trust, proxy)
    setRequest(curl, easy, lines)
    return easy
  }

  /// Frees what ``prepare(_:_:_:proxy:wake:)`` has made.
  func release() {
    if let curl, let easy { curl.free(easy) }
    if let curl { curl.free(lines) }
    (easy, lines, wake) = (nil, nil, nil)
  }

  /// More of the body is there.
  func resume() {
    guard let curl, let easy, isWaiting else { return }
    isWaiting = false
    hasMoved = true
    curl.resume(easy)
  }

  func result(_ code: CURLcode) -> Result<CurlReply, HTTPFailure> {
    guard let curl, let easy else { return .failure(.cancelled) }
    if let failure { return .failure(failure) }
    if code == CURLE_OK, let connection, let socket = curl.socket(easy) { kept?.keep(connection, socket) }
    guard code == CURLE_OK || endsAtHead && isHeadWhole && code == CURLE_WRITE_ERROR else {
      return .failure(
        HTTPFailure(
          CurlError(
            code: code, host: request.host, hasBegun: begin != nil, isHeadWhole: isHeadWhole,
            headLength: head.count, number: Int32(curl.long(easy, CURLINFO_OS_ERRNO)),
            verification: curl.long(easy, CURLINFO_SSL_VERIFYRESULT),
            proxyStatus: curl.long(easy, CURLINFO_HTTP_CONNECTCODE),
            words: reason.pointee == 0 ? curl.words(for: code) : String(cString: reason))))
    }
    // libcurl takes a head that is cut off for a whole one.
    guard isHeadWhole, let status else { return .failure(.broken("it was closed from there")) }
    return .success(CurlReply(status: status, head: head, body: body))
  }

  /// Why it is given up now; nil when it goes on.
  func expiry(at now: ContinuousClock.Instant) -> HTTPFailure? {
    guard let curl, let easy else { return nil }
    let limits = request.limits
    let whole = limits.whole(head.count + body.count + folded)
    if start.duration(to: now) >= whole { return .timedOut("it took longer than \(whole)") }
    // A connection has a limit of its own.
    guard let begin else { return nil }
    let sent = curl.offset(easy, CURLINFO_SIZE_UPLOAD_T)
    if hasMoved || isWaiting || sent != self.sent { lastMove = now }
    (self.sent, hasMoved) = (sent, false)
    if lastMove.duration(to: now) >= limits.idle { return .silent(limits.idle) }
    if let answer = limits.answer, head.isEmpty, begin.duration(to: now) >= answer { return .silent(answer) }
    return nil
  }

  // MARK: Options

  private func setConnection(_ curl: Curl, _ easy: Curl.Easy, _ trust: CertificateTrust, _ proxy: String?) {
    curl.set(easy, CURLOPT_NOSIGNAL, 1)
    curl.set(easy, CURLOPT_ERRORBUFFER, pointer: reason)
    curl.set(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(request.limits.connect / .milliseconds(1))))
    // Shorter than any store's own: a connection that the store has closed is no use.
    curl.set(easy, CURLOPT_MAXAGE_CONN, 4)
    // A name that is still being looked up holds nobody up at the end.
    curl.set(easy, CURLOPT_QUICK_EXIT, 1)
    trust.set(curl, easy)
    curl.set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    if request.isDirect {
      curl.set(easy, CURLOPT_NOPROXY, "*")
    } else if let proxy {
      curl.set(easy, CURLOPT_PROXY, proxy)
    }
  }

  private func setRequest(_ curl: Curl, _ easy: Curl.Easy, _ lines: UnsafeMutablePointer<curl_slist>) {
    curl.set(easy, CURLOPT_URL, request.url)
    curl.set(easy, CURLOPT_PATH_AS_IS, 1)
    if let target = request.target { curl.set(easy, CURLOPT_REQUEST_TARGET, target) }
    curl.set(easy, CURLOPT_HTTPHEADER, pointer: lines)
    curl.set(easy, CURLOPT_BUFFERSIZE, 128 << 10)
    if let length = request.bodyLength {
      curl.set(easy, CURLOPT_UPLOAD, 1)
      curl.set(easy, CURLOPT_INFILESIZE_LARGE, offset: length)
      curl.set(easy, CURLOPT_UPLOAD_BUFFERSIZE, uploadBufferSize)
    } else if request.method == "HEAD" {
      curl.set(easy, CURLOPT_NOBODY, 1)
    }
    curl.set(easy, CURLOPT_CUSTOMREQUEST, request.method)
  }

  /// At the 1.5 KB/s that a slow line has left for one of many, this is gone before anybody calls it silence.
  private var uploadBufferSize: Int { 64 << 10 }

  // MARK: Callbacks

  /// Whether the request may go out: once, and over a connection on which nobody has spoken since. libcurl sends one again,
  /// over a new connection, when one that was kept turns out to be closed; but it can't know what became of the first.
  fileprivate func mayBegin(_ name: KeptConnections.Name) -> Bool {
    guard begin == nil, let curl, let easy else { return false }
    let isKept = curl.long(easy, CURLINFO_NUM_CONNECTS) == 0
    if isKept, !needsNewConnection, kept?.hasInput(name) == true {
      needsNewConnection = true
      return false
    }
    (begin, lastMove, connection) = (.now, .now, name)
    return true
  }

  /// Goes on over a new connection.
  func startAnew() {
    guard let curl, let easy else { return }
    curl.set(easy, CURLOPT_FRESH_CONNECT, 1)
  }

  fileprivate func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let feed, let wake else { return 0 }
    switch feed.take(into: buffer, wake: wake) {
    case .bytes(let count): return count
    case .notYet:
      isWaiting = true
      return reel_curl_read_pause
    case .failed(let failure):
      self.failure = failure
      return reel_curl_read_abort
    }
  }

  fileprivate func keepHead(_ bytes: UnsafeRawBufferPointer) -> Int {
    hasMoved = true
    // Fields behind a body say nothing that is wanted here.
    if isHeadWhole { return bytes.count }
    head += bytes
    if head.count > Self.headLimit {
      failure = .replyTooLarge(limit: Self.headLimit)
      return 0
    }
    if isAtStatusLine {
      // One that is cut off is no line yet.
      guard bytes.last == UInt8(ascii: "\n") else { return bytes.count }
      isAtStatusLine = false
      status = CurlReply.status(ofLine: bytes)
      // Nobody has asked for another protocol, which 101 begins.
      guard let status, CurlReply.statuses.contains(status), status != 101 else {
        failure = .garbled(status.map { "it answers with status \($0)" } ?? "its status line is none")
        return 0
      }
    } else if bytes.elementsEqual("\r\n".utf8) || bytes.elementsEqual("\n".utf8), let status {
      // Behind an interim reply comes another.
      (isHeadWhole, isAtStatusLine) = (status >= 200, status < 200)
    }
    return bytes.count
  }

  fileprivate func keep(_ bytes: UnsafeRawBufferPointer) -> Int {
    hasMoved = true
    // Ends the transfer, and its connection.
    if endsAtHead { return 0 }
    if let fold, let status, (200..<300).contains(status) {
      guard bytes.count <= foldLimit - folded else {
        failure = .replyTooLarge(limit: foldLimit)
        return 0
      }
      folded += bytes.count
      fold(bytes)
      return bytes.count
    }
    guard bytes.count <= replyLimit - body.count else {
      failure = .replyTooLarge(limit: replyLimit)
      return 0
    }
    body += bytes
    return bytes.count
  }
}

/// Whose callback it is.
private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
  guard let context else { preconditionFailure("libcurl has lost a callback's context") }
  return Unmanaged.fromOpaque(context).takeUnretainedValue()
}
