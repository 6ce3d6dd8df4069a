import HTTPTypes
import Hummingbird
import NIOCore
import Reel
import Tracing

/// Decides what answers a request.
struct Door: HTTPResponder {
  typealias Context = ServerContext

  let access: Access
  let plain: PlainDoor
  let tus: TusDoor
  let draft: DraftDoor
  let catalog: any PostCatalog
  let metrics: ServerMetrics
  let publicURL: String
  private var store: UploadStore { tus.receiver.store }
  private var maxSize: Int64 { tus.receiver.maxSize }

  func respond(to request: Request, context: ServerContext) async -> Response {
    let (place, begun) = (Self.place(request), ContinuousClock.now)
    var trace = ServiceContext.current ?? .topLevel
    InstrumentationSystem.instrument.extract(request.headers, into: &trace, using: FieldExtractor())
    return await withSpan("\(request.method) /\(place)", context: trace, ofKind: .server) { span in
      let response = await answer(request, context)
      metrics.count(response.status, at: place, after: .now - begun)
      span.attributes["http.response.status_code"] = response.status.code
      return response
    }
  }

  /// The first word of a known path. What follows may be a secret, and any other word is a stranger's.
  private static func place(_ request: Request) -> String {
    let first = request.uri.path.split(separator: "/").first ?? ""
    return ["videos", "uploads", "u", "posts", "healthz", "metrics"].first { $0 == first } ?? "other"
  }

  private func answer(_ request: Request, _ context: ServerContext) async -> Response {
    var response: Response
    do {
      try access.checkSender(request)
      try Self.checkFraming(request)
      response = try await route(request, context)
    } catch {
      metrics.count(problem: error.code)
      if error.status >= 500 {
        context.logger.error(
          "\(error.detail ?? error.message)",
          metadata: ["code": "\(error.code)", "status": "\(error.status)"])
      }
      // At any other status tus-js-client begins the upload again, and sends the whole video once more.
      var problem = error
      if error.status >= 500, request.method == .head, request.headers[.tusResumable] != nil {
        problem.status = HTTPResponse.Status.locked.code
      }
      response = .problem(problem)
    }
    if request.headers.closesConnection { response.headers[.connection] = "close" }
    if request.headers[.tusResumable] != nil || request.method == .options {
      response.headers[.tusResumable] = Tus.version
    }
    // Some tus clients take only an absolute address (aiotus). Without a key there is no proxy, which would have
    // another name.
    if access.key == nil, let place = response.headers[.location], place.hasPrefix("/"),
      let authority = request.head.authority
    {
      response.headers[.location] = "http://\(authority)\(place)"
    }
    response.headers = response.headers.merging(access.headers(for: request.headers[.origin]))
    return request.method == .head ? response.createHeadResponse() : response
  }

  /// - Throws: a 400 for what a proxy may interpret differently from this server; a 415.
  private static func checkFraming(_ request: Request) throws(Problem) {
    // The first Host became the authority, so any that is left as a field is a second one.
    guard request.headers[.host] == nil else { throw .badRequest("a request has one Host") }
    // Bytes in another transfer coding would be taken for the video.
    guard request.headers[.transferEncoding].map({ $0.lowercased() == "chunked" }) ?? true else {
      throw .badRequest("a body comes as it is, or chunked")
    }
    guard ["", "identity"].contains(request.headers[.contentEncoding]?.lowercased() ?? "") else {
      var problem = Problem(
        .unsupportedMediaType, "contentEncoding", "a video comes as it is, without a Content-Encoding")
      // RFC 9110, 15.5.16.
      problem.headers = [.acceptEncoding: "identity"]
      throw problem
    }
  }

  private func route(_ request: Request, _ context: ServerContext) async throws(Problem) -> Response {
    let parts = request.uri.path.split(separator: "/")
    switch (parts.first, parts.count) {
    case ("videos", 1): return try await takeOwners(request, context)
    case ("uploads", 1)
    where request.headers[.tusResumable] != nil || Draft.isSpoken(in: request.headers)
      || request.method == .options:
      return try await takeOwners(request, context)
    case ("uploads", 1): return try sign(request)
    case ("uploads", 2): return try await upload(parts[1], request, context)
    case ("u", 2):
      if request.method == .options { return try options(request) }
      guard let key = access.key else { throw Self.nothingHere }
      let ticket = try key.ticket(parts[1], now: store.now)
      try Self.only(.get, .post, .put, .options, of: request)
      if Self.isRead(request) { return UploadPage.response }
      return try await take(request, context, UploadTerms(ticket, maxSize: maxSize))
    // With a key there is no such page for strangers: they come by an address for one upload.
    case (nil, _) where access.key == nil && Self.isRead(request): return UploadPage.response
    case ("posts", 1): return try await feed(request)
    case ("healthz", 1): return try await health(request)
    case ("metrics", 1): return try numbers(request)
    default: throw Self.nothingHere
    }
  }

  private static let nothingHere = Problem(.notFound, "notFound", "there is nothing at this address")

  /// Where GET is taken, HEAD is, too (RFC 9110, 9.1): health checks and link previews send it.
  private static func only(_ methods: HTTPRequest.Method..., of request: Request) throws(Problem) {
    let methods = methods.flatMap { $0 == .get ? [.get, .head] : [$0] }
    guard methods.contains(request.method) else { throw .notAllowed(methods) }
  }

  private static func isRead(_ request: Request) -> Bool { [.get, .head].contains(request.method) }

  // MARK: Uploads

  private func options(_ request: Request) throws(Problem) -> Response {
    Draft.isSpoken(in: request.headers) ? try draft.options(request) : tus.options()
  }

  private func takeOwners(_ request: Request, _ context: ServerContext) async throws(Problem) -> Response {
    if request.method == .options { return try options(request) }
    try access.checkOwner(request)
    try Self.only(.post, .put, .options, of: request)
    return try await take(request, context, UploadTerms(maxSize: maxSize))
  }

  private func take(
    _ request: Request, _ context: ServerContext, _ terms: UploadTerms
  ) async throws(Problem) -> Response {
    // `URLSession` sends the draft's fields with a form, too. A form is taken in one go, and so is an upload that comes
    // whole in a version unknown here.
    let isForm = MultipartParser.isForm(request.headers[.contentType])
    if Draft.isSpoken(in: request.headers), !isForm, try !Draft.isWholeByAnother(request.headers) {
      return try await draft.create(request, context, terms)
    }
    return request.method == .post && request.headers[.tusResumable] != nil
      ? try await tus.create(request, context, terms) : try await plain.take(request, context, terms)
  }

  private func upload(
    _ name: Substring, _ request: Request, _ context: ServerContext
  ) async throws(Problem) -> Response {
    if request.method == .options { return try options(request) }
    guard let id = UploadID(name) else { throw .noSuchUpload }
    var method = request.method
    // For clients that can send no other method.
    if method == .post, let other = request.headers[.methodOverride].flatMap({ HTTPRequest.Method($0) }) {
      method = other
    }
    let isDraft = Draft.isSpoken(in: request.headers)
    switch method {
    case .head where isDraft: return try await draft.offset(id, request)
    case .patch where isDraft: return try await draft.append(id, request, context)
    case .head: return try await tus.offset(id, request)
    case .patch: return try await tus.append(id, request, context)
    case .delete: return try await tus.remove(id, request)
    case .get: return try await tus.look(id)
    default: throw .notAllowed([.head, .patch, .delete, .get, .options])
    }
  }

  /// Creates an address for one upload.
  private func sign(_ request: Request) throws(Problem) -> Response {
    try Self.only(.post, of: request)
    try access.checkOwner(request)
    guard let key = access.key else {
      throw Problem(
        .forbidden, "noKey", "a server without a key can't sign addresses: start it with --key-file")
    }
    let query = request.uri.queryParameters
    guard let seconds = TimeText.seconds(query["expires"].map(String.init) ?? "1h") else {
      throw .badRequest("expires is a time, such as 1h")
    }
    var size: Int64?
    if let text = query["maxSize"] {
      size = SizeText.bytes(text)
      if size == nil { throw .badRequest("maxSize is a size, such as 500MB") }
    }
    try UploadTicket.check(author: query["author"].map(String.init))
    let ticket = UploadTicket(
      author: query["author"].map(String.init), maxSize: size,
      expires: store.now.addingTimeInterval(Double(seconds)))
    return .json(
      .created, AddressKeys(url: publicURL + ticket.path(signedWith: key), expires: ticket.expires))
  }

  // MARK: Feed, health, metrics

  private func feed(_ request: Request) async throws(Problem) -> Response {
    try Self.only(.get, of: request)
    try access.checkOwner(request)
    let query = request.uri.queryParameters
    guard let size = Int(query["size"] ?? "20"), (1...1000).contains(size) else {
      throw .badRequest("size is a number from 1 to 1000")
    }
    let cursor = query["before"].map { FeedCursor(String($0)) }
    if case .some(nil) = cursor { throw .badRequest("before is what `next` of a page says") }
    do {
      let page = try await catalog.newestPosts(
        matching: PostFilter(
          authorID: query["author"].map(String.init), text: query["search"].map(String.init)),
        before: cursor ?? nil, limit: size)
      return .json(.ok, FeedKeys(page: page))
    } catch {
      throw Problem(.serviceUnavailable, "catalog.\(error.code.rawValue)", error.message, retryAfter: 10)
    }
  }

  /// Reports whether uploads can be taken: whether catalog and disk answer.
  private func health(_ request: Request) async throws(Problem) -> Response {
    try Self.only(.get, of: request)
    let store = store
    try await store.disk.run { () throws(Problem) in try store.checkRoom(for: 0) }
    let catalog = catalog
    // The catalog waits for a database that is away, and the client has no time for that.
    let (answers, answer) = AsyncStream.makeStream(of: Problem?.self)
    let asking = Task {
      do throws(CatalogError) {
        _ = try await catalog.newestPosts(matching: PostFilter(), before: nil, limit: 1)
        answer.yield(nil)
      } catch {
        answer.yield(.noCatalog(error.code.rawValue))
      }
    }
    let waiting = Task {
      try await Task.sleep(for: .seconds(5))
      answer.yield(.noCatalog("timeout"))
    }
    defer {
      asking.cancel()
      waiting.cancel()
    }
    var problem: Problem?
    for await said in answers {
      problem = said
      break
    }
    if let problem { throw problem }
    return .json(.ok, NoKeys())
  }

  private func numbers(_ request: Request) throws(Problem) -> Response {
    try Self.only(.get, of: request)
    try access.checkOwner(request)
    return Response(
      status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
      body: ResponseBody(
        byteBuffer: ByteBuffer(string: metrics.text(busy: store.busyCount, version: ReelVersion.current))))
  }
}

extension Problem {
  fileprivate static func noCatalog(_ code: String) -> Problem {
    Problem(.serviceUnavailable, "catalog.\(code)", "the catalog does not answer", retryAfter: 10)
  }
}
