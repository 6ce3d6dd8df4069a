import CCurl
import ReelCore

/// What a transfer sends, and its limits.
struct CurlRequest: Sendable {
  let method: String
  let url: String
  let host: String
  /// The path and query exactly as they are sent; nil if a proxy on the way may need the whole URL.
  let target: String?
  /// Header lines, such as `Content-Type: video/mp4`.
  let lines: [String]
  /// The length of the body in bytes; nil for a request without a body.
  let bodyLength: Int64?
  /// nil to admit every address.
  let rule: ConnectionRule?
  /// Whether the request bypasses all proxies, whatever the environment names.
  let isDirect: Bool
  let limits: CurlLimits
}

/// How long a transfer may take.
struct CurlLimits: Sendable {
  let connect: Duration
  /// The limit for the whole transfer, given the number of bytes of the reply received so far.
  let whole: @Sendable (Int) -> Duration
  /// The limit without a byte in either direction. Waiting for our own side to supply bytes does not count.
  let idle: Duration
  /// The limit from the request to the beginning of its reply; nil if only `idle` applies.
  let answer: Duration?
}

/// A reply as it was received.
struct CurlReply: Sendable {
  /// The valid values of a reply's status.
  static let statuses = 100...599

  /// One of ``statuses``.
  let status: Int
  /// Status line and fields.
  let head: [UInt8]
  let body: [UInt8]

  /// Returns the status in a status line of HTTP/1.0 or 1.1 (RFC 9112, 4); nil if the line is malformed or another
  /// protocol's. Versions of libcurl differ in how they read such a line: 8.14 takes `HTTP/2.0 503 No` for a status
  /// of 200.
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

/// One exchange. Its creator hands it to a ``CurlLoop``, and gets it back with the result. In between only the loop's
/// thread touches it, which is why it may be sent there.
final class CurlTransfer: @unchecked Sendable {
  let request: CurlRequest
  /// The body to send; nil for none.
  let feed: BodyFeed?
  /// The maximum number of bytes of a body that are kept.
  let replyLimit: Int
  /// The maximum number of bytes of a body that `fold` takes.
  let foldLimit: Int
  /// Whether the transfer ends after the reply's head.
  let endsAtHead: Bool
  /// Takes the body of a 2xx reply; nil if that body is kept, too.
  let fold: ((UnsafeRawBufferPointer) -> Void)?

  // From here on, used only by the loop's thread.

  var continuation: CheckedContinuation<Result<CurlReply, HTTPFailure>, Never>?
  var isCancelled = false
  private(set) var easy: Curl.Easy?
  private var lines: UnsafeMutablePointer<curl_slist>?
  private let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  /// Has ``resume()`` called. May be called from any thread.
  private var wake: (@Sendable () -> Void)?
  private var curl: Curl?

  private var start = ContinuousClock.now
  /// When the request was sent; nil while the connection is being made.
  private var begin: ContinuousClock.Instant?
  private var lastMove = ContinuousClock.now
  private var hasMoved = false
  private var sent: Int64 = 0
  /// Whether the transfer is paused until the next bytes of the body have been read.
  private var isWaiting = false
  private var head: [UInt8] = []
  /// The status in the last status line; nil before one has arrived.
  private var status: Int?
  /// Whether the next line of the head is a status line.
  private var isAtStatusLine = true
  private var isHeadWhole = false
  private var body: [UInt8] = []
  private var folded = 0
  /// The reason why one of the callbacks ended the transfer.
  private var failure: HTTPFailure?
  /// The connections kept for reuse.
  private var kept: KeptConnections?
  /// The connection that the request is sent on.
  private var connection: KeptConnections.Name?
  /// Whether libcurl offered a kept connection that must not be used. Nothing was sent, and a new connection is needed.
  private(set) var needsNewConnection = false
  var hasBegun: Bool { begin != nil }

  /// The maximum size of a reply's head in bytes: status line, fields, and any interim replies.
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

  // MARK: Beginning and end

  /// Creates and configures the handle; nil if that fails.
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

  /// Frees what ``prepare(_:_:_:proxy:wake:)`` created.
  func release() {
    if let curl, let easy { curl.free(easy) }
    if let curl { curl.free(lines) }
    (easy, lines, wake) = (nil, nil, nil)
  }

  /// Resumes a paused transfer: more of the body is available.
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
    // libcurl accepts a truncated head as complete.
    guard isHeadWhole, let status else { return .failure(.broken("it was closed from there")) }
    return .success(CurlReply(status: status, head: head, body: body))
  }

  /// Returns the reason to abandon the transfer now; nil if it may continue.
  func expiry(at now: ContinuousClock.Instant) -> HTTPFailure? {
    guard let curl, let easy else { return nil }
    let limits = request.limits
    let whole = limits.whole(head.count + body.count + folded)
    if start.duration(to: now) >= whole { return .timedOut("it took longer than \(whole)") }
    // While connecting, libcurl's own timeout applies.
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
    // Shorter than any store's own limit: a connection that the store has closed is useless.
    curl.set(easy, CURLOPT_MAXAGE_CONN, 4)
    // A name lookup that is still running must not delay the end.
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

  /// Even at the 1.5 KB/s left for each of many uploads on a slow line, this much is sent within the idle limit.
  private var uploadBufferSize: Int { 64 << 10 }

  // MARK: Callbacks

  /// Whether the request may be sent: only once, and not over a kept connection on which input has arrived. If a kept
  /// connection turns out to be closed, libcurl would send the request again over a new one, although it can't know
  /// what became of the first.
  fileprivate func mayBegin(_ name: KeptConnections.Name) -> Bool {
    guard begin == nil, let curl, let easy else { return false }
    // A name that was checked before may lead elsewhere by now.
    if let refusal = request.rule?(request.host, IPAddress(name.remote)) {
      failure = .source(.refusing(refusal))
      needsNewConnection = false
      return false
    }
    let isKept = curl.long(easy, CURLINFO_NUM_CONNECTS) == 0
    if isKept, !needsNewConnection, kept?.hasInput(name) == true {
      needsNewConnection = true
      return false
    }
    (begin, lastMove, connection) = (.now, .now, name)
    return true
  }

  /// Makes the next attempt use a new connection.
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
    // Trailer fields, after the body, are not needed.
    if isHeadWhole { return bytes.count }
    head += bytes
    if head.count > Self.headLimit {
      failure = .replyTooLarge(limit: Self.headLimit)
      return 0
    }
    if isAtStatusLine {
      // Without its line ending, the status line was cut off.
      guard bytes.last == UInt8(ascii: "\n") else { return bytes.count }
      isAtStatusLine = false
      status = CurlReply.status(ofLine: bytes)
      // 101 begins another protocol, which no request here asks for.
      guard let status, CurlReply.statuses.contains(status), status != 101 else {
        failure = .garbled(status.map { "it answers with status \($0)" } ?? "its status line is none")
        return 0
      }
    } else if bytes.elementsEqual("\r\n".utf8) || bytes.elementsEqual("\n".utf8), let status {
      // An interim reply is followed by another one.
      (isHeadWhole, isAtStatusLine) = (status >= 200, status < 200)
    }
    return bytes.count
  }

  fileprivate func keep(_ bytes: UnsafeRawBufferPointer) -> Int {
    hasMoved = true
    // Ends the transfer and closes its connection.
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

/// Returns the transfer that a callback belongs to.
private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
  guard let context else { preconditionFailure("libcurl has lost a callback's context") }
  return Unmanaged.fromOpaque(context).takeUnretainedValue()
}
