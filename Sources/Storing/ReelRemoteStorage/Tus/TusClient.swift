import HTTPTypes
import ReelCore
import ReelCrypto

/// The requests of tus 1.0.0, each as one call.
struct TusClient: Sendable {
  let transport: any HTTPTransport
  let failure: TusFailure
  /// The address at which the user says that uploads are created.
  let endpoint: TusURL
  /// Sent only to the server's own origin; nil for a server that needs none.
  let credential: HTTPCredential?
  /// Hosts besides the server's own that may receive the bytes, as ``HTTPOrigin/authority`` names them.
  let uploadHosts: Set<String>
  /// Whether something in front of the server blocks PATCH and DELETE.
  private let isOverriding = FoundLimit()

  init(
    transport: any HTTPTransport, failure: TusFailure, endpoint: TusURL, credential: HTTPCredential?,
    uploadHosts: Set<String>
  ) {
    (self.transport, self.failure, self.endpoint) = (transport, failure, endpoint)
    (self.credential, self.uploadHosts) = (credential, uploadHosts)
  }

  /// The state of an upload on its server.
  enum UploadStatus: Hashable, Sendable {
    /// The server does not know the upload, or no longer does.
    case gone
    case partial(offset: Int64, length: Int64?)
    case whole(Int64)
  }

  /// OPTIONS: returns what the server can do. If it redirects to the same address with a slash appended, it is
  /// asked there.
  func server() async throws(UploadError) -> TusServer {
    let (server, reply) = try await introduction()
    guard let server else { throw failure.noTus(reply) }
    return server
  }

  /// Returns the server, or nil if whatever answers does not speak tus; and its reply.
  private func introduction() async throws(UploadError) -> (TusServer?, HTTPReply) {
    let reply = try await send(call(.options, endpoint))
    if let server = TusServer(reply, endpoint: endpoint) { return (server, reply) }
    let slashed = TusURL(origin: endpoint.origin, target: endpoint.target + "/")
    guard reply.status.kind == .redirection || reply.status.code == 404 || reply.status.code == 405,
      !endpoint.target.hasSuffix("/")
    else { return (nil, reply) }
    let second = try await send(call(.options, slashed))
    return (TusServer(second, endpoint: slashed), second)
  }

  /// POST: creates an upload, perhaps with its first bytes.
  func create(
    on server: TusServer, _ key: ObjectKey, _ source: UploadSource, first: [UInt8]
  ) async throws(UploadError) -> TusURL {
    var call = call(.post, server.endpoint)
    call.fields[.uploadLength] = "\(source.size)"
    call.fields[.uploadMetadata] =
      "filename \(Self.base64(key.rawValue)),filetype \(Self.base64(source.contentType))"
    if !first.isEmpty {
      call.fields[.contentType] = "application/offset+octet-stream"
      call.body = .bytes(first)
    }
    let reply = try await send(call)
    guard reply.status.code == 201 else {
      if reply.status.code == 404 { throw failure.noTus(reply) }
      if reply.status.code == 413, first.isEmpty, reply.fields[.tusResumable] != nil {
        throw failure.tooLarge(source.size, reply)
      }
      throw failure(reply, "begin an upload of \(key)")
    }
    guard let location = reply.fields[.location],
      let url = TusURL(location: location, from: server.endpoint),
      url.origin.isSecure || !server.endpoint.origin.isSecure
    else { throw failure.badLocation() }
    try check(url)
    return url
  }

  /// Checks that `url` may receive requests and bytes: an address named by a server, or by a row of the catalog, may be
  /// any host, even on a network that only this machine can reach.
  /// - Throws: `storeUnusable`.
  func check(_ url: TusURL) throws(UploadError) {
    guard url.origin == endpoint.origin || uploadHosts.contains(url.origin.authority) else {
      throw failure.otherHost(url.origin)
    }
  }

  /// HEAD: returns how far the upload has come.
  /// - Throws: `interrupted` if the answer contradicts itself, or if it says that there is no such upload and does not
  ///   come from the server; and what every call throws.
  func standing(of url: TusURL, _ key: ObjectKey) async throws(UploadError) -> UploadStatus {
    try check(url)
    let reply = try await sendToUpload(call(.head, url))
    if isGone(reply) { return .gone }
    guard reply.isSuccess, let offset = Self.number(reply.fields[.uploadOffset]) else {
      throw failure(reply, "say how far the upload of \(key) has come")
    }
    let length = Self.number(reply.fields[.uploadLength])
    // An offset beyond the length is impossible. Such an answer is no reason to abandon an upload that may be complete.
    if let length, offset > length {
      throw failure.interrupted("it says that it has \(offset) bytes of an upload of \(length)")
    }
    return offset == length ? .whole(offset) : .partial(offset: offset, length: length)
  }

  /// The result of sending bytes.
  enum Appending: Sendable {
    /// The server's offset now.
    case taken(through: Int64)
    /// Refused by the server itself, not by a proxy: the upload's last part, and perhaps with it the whole upload.
    case lastRefused(HTTPReply)
  }

  /// PATCH: sends more bytes at `offset`.
  /// - Parameter whole: the upload's length in bytes.
  /// - Throws: `tooLarge` if they are too many for one request.
  func append(
    _ bytes: [UInt8], at offset: Int64, of whole: Int64, to url: TusURL, checksum: TusChecksum?,
    _ key: ObjectKey
  ) async throws(UploadError) -> Appending {
    var call = call(.patch, url)
    let isLast = offset + Int64(bytes.count) == whole
    // After the last byte, a server may put parts together in a bucket, or call its hooks.
    if isLast { call.thinking = .seconds(250 + whole / (16 << 20)) }
    call.fields[.contentType] = "application/offset+octet-stream"
    call.fields[.uploadOffset] = "\(offset)"
    if let checksum { call.fields[.uploadChecksum] = checksum.field(of: bytes) }
    call.body = .bytes(bytes)
    let reply = try await send(call)
    guard reply.isSuccess else {
      guard isLast, reply.fields[.tusResumable] != nil, !failure.isOfTheMoment(reply) else {
        throw failure(refusing: key, reply)
      }
      return .lastRefused(reply)
    }
    if let now = Self.number(reply.fields[.uploadOffset]) { return .taken(through: now) }
    // Some servers, or proxies in front of them, leave it out.
    switch try await standing(of: url, key) {
    case .partial(let now, _), .whole(let now): return .taken(through: now)
    case .gone: throw failure.interrupted("it took bytes of an upload, and then knew none")
    }
  }

  /// DELETE: ends the upload and frees what it holds (the termination extension).
  /// - Returns: False if the server does not know the upload, or no longer does.
  /// - Throws: as ``standing(of:_:)``.
  @discardableResult
  func terminate(_ url: TusURL, _ key: ObjectKey) async throws(UploadError) -> Bool {
    try check(url)
    let reply = try await sendToUpload(call(.delete, url))
    if [404, 410].contains(reply.status.code) { return false }
    guard reply.isDone else { throw failure(reply, "remove \(key)") }
    return true
  }

  /// GET, which is not part of tus but supported by most servers: returns the length and digest of the content; nil if
  /// there is none.
  /// - Parameter length: its length in bytes; nil if unknown, in which case the limit is one hour.
  /// - Throws: `rejected` if the server does not return uploads.
  func read(
    _ url: TusURL, _ key: ObjectKey, length: Int64?
  ) async throws(UploadError) -> (size: Int64, digest: ContentDigest?)? {
    var call = call(.get, url)
    call.patience = length.map { .seconds(120 + $0 / (16 << 10)) } ?? .seconds(3600)
    call.fetchLimit = Int(clamping: length ?? .max)
    let (reply, read) = try await rethrowing(as: failure.transport) { () async throws(HTTPFailure) in
      try await transport.fetch(call, into: (hash: SHA256(), size: Int64(0))) { read, piece in
        read.hash.update(bufferPointer: piece)
        read.size += Int64(piece.count)
      }
    }
    if reply.isSuccess {
      guard length.map({ $0 == read.size }) ?? true else {
        throw UploadError(.interrupted, "only \(read.size) bytes of \(key) came back: try again")
      }
      return (read.size, ContentDigest(sha256: read.hash.finalize()))
    }
    if [404, 410].contains(reply.status.code) { return nil }
    if [405, 501].contains(reply.status.code) { throw givesNothingBack(key) }
    throw failure(reply, "give \(key) back")
  }

  /// HEAD, for an address that is not an upload's, and GET of one byte if HEAD does not state the length: returns the
  /// length of the content; nil if there is none.
  /// - Throws: `interrupted` if there is content whose length is not stated.
  func size(_ url: TusURL, _ key: ObjectKey) async throws(UploadError) -> Int64? {
    guard let reply = try await self.reply(at: url, key) else { return nil }
    if let length = reply.contentLength { return length }
    var call = HTTPCall(.get, url.origin, url.target, fields: [.range: "bytes=0-0"])
    call.endsAtHead = true
    let answer = try await send(call)
    switch answer.status.code {
    // An empty object has no first byte.
    case 200, 206, 416:
      let told: Int64? =
        if let range = answer.fields[.contentRange] {
          ContentRange(parsing: range)?.size
        } else {
          answer.status == .ok && !answer.isCompressed ? answer.contentLength : nil
        }
      guard let size = told else { throw failure.noLength(key, at: url.text) }
      return size
    // HEAD has just found it.
    case 404, 410: throw failure.noLength(key, at: url.text)
    default: throw failure(answer, "find \(key)")
    }
  }

  /// HEAD, for an address that is not an upload's; nil if there is nothing.
  func reply(at url: TusURL, _ key: ObjectKey) async throws(UploadError) -> HTTPReply? {
    let reply = try await send(HTTPCall(.head, url.origin, url.target))
    if [404, 410].contains(reply.status.code) { return nil }
    guard reply.isSuccess else { throw failure(reply, "find \(key)") }
    return reply
  }

  func givesNothingBack(_ key: ObjectKey) -> UploadError {
    UploadError(
      .rejected,
      "the tus server \(failure.store) gives nothing back, so \(key) can't be read: name the address that viewers "
        + "use with \(setting: .publicBaseURL)")
  }

  // MARK: Calls

  private func call(_ method: HTTPRequest.Method, _ url: TusURL) -> HTTPCall {
    var call = HTTPCall(method, url.origin, url.target)
    // OPTIONS precedes the agreement on a version (tus 1.0.0, "Tus-Resumable").
    if method != .options, method != .get { call.fields[.tusResumable] = TusServer.version }
    if let credential, credential.origin == url.origin { call.credentials = [credential] }
    return call
  }

  /// Sends a request about an upload. An answer that there is none counts only if the server itself gave it: a proxy
  /// also says 404, while the server is restarted. Not every server marks its refusals, so an answer without a sign of
  /// tus is believed if tus is spoken there and the answer is repeated.
  private func sendToUpload(_ call: HTTPCall) async throws(UploadError) -> HTTPReply {
    let reply = try await send(call)
    guard mayBeGone(reply), reply.fields[.tusResumable] == nil else { return reply }
    let (server, answer) = try await introduction()
    guard server == nil else { return try await send(call) }
    let error = failure.noTus(answer)
    throw error.code == .storeUnusable
      ? failure.interrupted("something else answers in the place of the tus server (\(answer.status.code))")
      : error
  }

  /// Whether the reply may mean that there is no such upload: "404 Not Found, 410 Gone or 403 Forbidden", without an
  /// offset (tus 1.0.0, "HEAD"). With a credential, a 403 may just as well be about the credential.
  private func mayBeGone(_ reply: HTTPReply) -> Bool {
    [404, 410].contains(reply.status.code) || (reply.status.code == 403 && credential == nil)
  }

  /// Whether there is no such upload. A 403 without a sign of tus comes from a firewall, however often it is repeated.
  private func isGone(_ reply: HTTPReply) -> Bool {
    mayBeGone(reply) && (reply.status.code != 403 || reply.fields[.tusResumable] != nil)
  }

  /// If something in front of the server blocks a method, sends a POST that names it, which every server must
  /// understand (tus 1.0.0, "X-HTTP-Method-Override").
  private func send(_ call: HTTPCall) async throws(UploadError) -> HTTPReply {
    guard [.patch, .delete].contains(call.method) else { return try await sendAsIs(call) }
    var post = call
    post.method = .post
    post.fields[.methodOverride] = call.method.rawValue
    if isOverriding.isFound { return try await sendAsIs(post) }
    let reply = try await sendAsIs(call)
    guard [403, 405, 501].contains(reply.status.code), reply.fields[.tusResumable] == nil else {
      return reply
    }
    let second = try await sendAsIs(post)
    // What the server says about the upload counts; not that it does not know the request, and nothing that comes
    // from elsewhere.
    let isOfServer =
      second.fields[.tusResumable] != nil || second.isSuccess && second.fields[.uploadOffset] != nil
    guard isOfServer, second.isSuccess || [409, 413, 423, 460].contains(second.status.code) else {
      return reply
    }
    isOverriding.find()
    return second
  }

  private func sendAsIs(_ call: HTTPCall) async throws(UploadError) -> HTTPReply {
    try await rethrowing(as: failure.transport) { () async throws(HTTPFailure) in
      try await transport.send(call)
    }
  }

  private static func number(_ text: String?) -> Int64? {
    text.flatMap { Int64(digits: $0.trimmed) }
  }

  private static func base64(_ text: String) -> String { Base64.text(text.utf8) }
}
