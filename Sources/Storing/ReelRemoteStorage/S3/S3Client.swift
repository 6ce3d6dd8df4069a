import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto
import Synchronization

/// A request to a store, before it is signed.
struct S3Request: Sendable {
  var method: HTTPRequest.Method
  /// The object's name without the store's prefix; nil for the bucket itself.
  var name: String?
  var query: [(String, String)] = []
  var fields: HTTPFields = [:]
  var body = HTTPBody.none
  /// The SHA-256 of the body in hexadecimal; nil for no body, or for bytes in memory, which are hashed when the request
  /// is signed.
  var payload: String?
  /// What is requested, such as "store abc.mp4", for error messages.
  let task: String
  /// The action that the store must allow, such as `s3:PutObject`.
  let permission: String
  var patience = Duration.seconds(120)
  /// What the body of a successful reply is.
  var answer = Answer.word
  /// As in ``HTTPCall``.
  var thinking = Duration.zero
  /// As in ``HTTPCall``.
  var endsAtHead = false
  /// As in ``HTTPCall``.
  var replyLimit = 1 << 20
  /// As in ``HTTPCall``.
  var fetchLimit = Int.max

  /// The meaning of the body of a reply with a status of success.
  enum Answer: Sendable {
    /// The store's report on what it has done.
    case word
    /// The same, but it may be an error nevertheless: some operations answer 200 before they know how they end (AWS,
    /// CompleteMultipartUpload, UploadPartCopy), and a proxy may answer 200 to a list.
    case lateWord
    /// The bytes of an object. Anybody may have written them, so they are never taken for the store's own words.
    case object
  }

  /// Whether the request is a list, a removal or the beginning of an upload. Some stores (MinIO, Ceph) take more than
  /// 20 s for these, and a repeated request starts from scratch. So they get 40 s, which leaves time for a second
  /// attempt (``RetryPolicy/longestSilence``), as the first one's connection may have been lost.
  var isLong: Bool {
    guard case .none = body else { return false }
    return name == nil || method == .delete || method == .post
  }

  /// Whether the request is sent with all its extras or not at all: they are what proves it.
  var keepsExtras = false

  /// The body to send instead of ``body`` if checksums are left out.
  var bodyWithoutChecksums: [UInt8]?

  /// The extras that the request contains.
  var extras: Set<S3Extra> { Set(S3Extra.allCases.filter { $0.fields.contains { fields[$0] != nil } }) }

  /// Returns the same request without `extras`.
  func without(_ extras: Set<S3Extra>) -> S3Request {
    var bare = self
    for field in extras.flatMap(\.fields) { bare.fields[field] = nil }
    if extras.contains(.checksum), let bodyWithoutChecksums { bare.body = .bytes(bodyWithoutChecksums) }
    return bare
  }

  /// Returns the same request with the MD5 of its body. The body of a source is read for that.
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
  fileprivate func withMD5() async throws(UploadError) -> S3Request {
    var request = self
    switch body {
    case .none: return self
    case .bytes(let bytes): request.fields[.contentMD5] = Base64.text(Array(Insecure.MD5.hash(data: bytes)))
    case .source(let body):
      request.fields[.contentMD5] = Base64.text(try await SourceTag.md5(of: body.range, of: body.source))
    }
    return request
  }

  init(
    _ method: HTTPRequest.Method, _ key: ObjectKey?, query: [(String, String)] = [], task: String,
    permission: String
  ) {
    self.init(method, name: key?.rawValue, query: query, task: task, permission: permission)
  }

  init(
    _ method: HTTPRequest.Method, name: String?, query: [(String, String)] = [], task: String,
    permission: String
  ) {
    (self.method, self.name, self.query) = (method, name, query)
    (self.task, self.permission) = (task, permission)
  }
}

/// What a request asks of a store in addition to the operation itself, and some stores do not know.
enum S3Extra: CaseIterable, Sendable {
  /// `x-amz-checksum-…`: a digest that the store compares with the bytes, and keeps. The signed digest
  /// (`x-amz-content-sha256`) is not an extra.
  case checksum
  /// `If-None-Match: *`.
  case condition

  var fields: [HTTPField.Name] {
    switch self {
    case .checksum: [.checksumSHA256, .checksumCRC64, .checksumAlgorithm, .checksumType, .checksumMode]
    case .condition: [.ifNoneMatch]
    }
  }

  /// How the user can leave it out.
  var advice: String {
    switch self {
    case .checksum: "x-amz-checksum-… with --request-checksums when_required"
    case .condition: "If-None-Match with --no-conditional-puts"
    }
  }
}

/// Signs requests, sends them, and learns from the store's replies: its region, its clock, that a session token has
/// expired. After such a lesson the request is sent once more; all other failures are left to `RetryingUploader`.
final class S3Client: Sendable {
  let store: S3Store
  let clock: any WallClock
  private let transport: any HTTPTransport
  private let source: any CredentialSource
  private let learned: Mutex<Learned>
  private let keys = SigningKeys()
  private let onNotice: @Sendable (String) -> Void
  /// One caller finds out what the store checks, and the others wait for the result.
  let checking = AsyncSemaphore(count: 1)

  private struct Learned: Sendable {
    var region: String
    /// The number of seconds by which the store's clock is ahead of ours.
    var skew = 0.0
    /// The access key of the last signature.
    var keyID = ""
    /// The extras that are left out of all requests.
    var leftOut: Set<S3Extra>
    /// Whether bodies are sent with their MD5, as the store has demanded it.
    var sendsMD5 = false
    /// Whether extras have been left out on trial, and the store still refused: the refusal was for something else.
    var hasTried = false
    var checks: S3Checks?
    /// The number of consecutive attempts that made no progress, by the name of an unfinished upload or of an object.
    var inVain: [String: Int] = [:]
    /// Whether the store has answered 500 to each attempt to list an object's unfinished uploads, and has listed
    /// none since.
    var failsToList = false
    /// Whether the user was told that signed URLs expire early.
    var hasToldEnd = false
  }

  init(
    _ store: S3Store, transport: any HTTPTransport, credentials: any CredentialSource, clock: any WallClock,
    leavingOut: Set<S3Extra> = [], onNotice: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.store = store
    self.onNotice = onNotice
    self.clock = clock
    self.transport = transport
    source = credentials
    learned = Mutex(Learned(region: store.region, leftOut: leavingOut))
  }

  /// Whether the store is asked to create objects only where none exists.
  var sendsConditions: Bool { learned.withLock { !$0.leftOut.contains(.condition) } }

  /// Whether checksums are sent in addition to the signature.
  var sendsChecksums: Bool { learned.withLock { !$0.leftOut.contains(.checksum) } }

  /// The result of ``checks(by:_:)``, once it is known.
  var knownChecks: S3Checks? { learned.withLock { $0.checks } }

  func remember(_ checks: S3Checks) { learned.withLock { $0.checks = checks } }

  /// Counts an attempt that made no progress.
  /// - Returns: Whether there were `most` of them in a row, with the pauses between attempts; the count then
  ///   starts again.
  func isInVain(_ name: String, for most: Int) -> Bool {
    learned.withLock { learned in
      let count = learned.inVain[name, default: 0] + 1
      learned.inVain[name] = count < most ? count : nil
      return count >= most
    }
  }

  func goesOn(_ name: String) { learned.withLock { $0.inVain[name] = nil } }

  var failsToList: Bool {
    get { learned.withLock { $0.failsToList } }
    set { learned.withLock { $0.failsToList = newValue } }
  }

  /// The addresses to which requests currently go.
  var addressing: S3Addressing { S3Addressing(store: store, region: learned.withLock { $0.region }) }

  /// Returns the reply to `request`.
  /// - Throws: the store's error, in a sentence.
  func send(_ request: S3Request) async throws(UploadError) -> HTTPReply {
    switch try await outcome(of: request) {
    case .reply(let reply): return reply
    case .failure(let failure): throw error(failure, request)
    }
  }

  /// The result of a request whose refusal the caller may know how to handle.
  enum Outcome: Sendable {
    case reply(HTTPReply)
    case failure(S3Failure)
  }

  /// As ``send(_:)``, but returns a refusal instead of throwing it.
  func outcome(of request: S3Request) async throws(UploadError) -> Outcome {
    try await asking(request, nothing: ()) { [transport] call throws(HTTPFailure) in
      (reply: try await transport.send(call), value: ())
    }.outcome
  }

  /// As ``outcome(of:)``, but returns nil if the reply is longer than the request allows.
  func outcome(ofSmall request: S3Request) async throws(UploadError) -> Outcome? {
    let answer = try await asking(request, nothing: false) { [transport] call throws(HTTPFailure) in
      do throws(HTTPFailure) {
        return (reply: try await transport.send(call), value: false)
      } catch {
        guard case .replyTooLarge = error else { throw error }
        return (reply: HTTPReply(status: .ok), value: true)
      }
    }
    return answer.value ? nil : answer.outcome
  }

  /// Reads an object's bytes.
  func fetch<Value: Sendable>(
    _ request: S3Request, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(UploadError) -> (outcome: Outcome, value: Value) {
    try await asking(request, nothing: initial) { [transport] call throws(HTTPFailure) in
      try await transport.fetch(call, into: initial, update)
    }
  }

  /// Puts the store's refusal into a sentence, with the access key of the last signature.
  func error(_ failure: S3Failure, _ request: S3Request) -> UploadError {
    let (keyID, leftOut) = learned.withLock { ($0.keyID, $0.leftOut) }
    let error = S3ErrorMessages(
      store: store, host: addressing.origin.authority, region: addressing.region
    ).error(failure, request.task, permission: request.permission, keyID: keyID, now: clock.now())
    let isAsIs = request.keepsExtras || ![.put, .post].contains(request.method)
    let extras = isAsIs ? [] : request.extras.subtracting(leftOut)
    guard store.endpoint != nil, failure.isUnclear, !extras.isEmpty else { return error }
    return error.adding(
      "if the store does not support Reel's optional request fields, leave them out: \(S3Extra.allCases.filter(extras.contains).map(\.advice).joined(separator: ", "))"
    )
  }

  /// Returns an address that anybody may open for `seconds`, or until the credentials that sign it expire, if that is
  /// sooner (AWS, "Sharing objects with presigned URLs"); the latter is reported.
  func presigned(_ key: ObjectKey, seconds: Int) async throws(UploadError) -> String {
    let addressing = self.addressing
    let request = SignatureV4.Request(
      method: "GET", path: addressing.path(of: key), fields: ["host": addressing.origin.authority],
      payload: SignatureV4.unsignedPayload)
    let (credentials, now) = (try await source.credentials(), now)
    let ending = PresignedEnd(seconds: seconds, credentials, now: now)
    if let notice = ending.notice, tellsEndFirst() {
      onNotice("\(store.destination): \(notice)")
    }
    let query = SignatureV4(region: addressing.region, keys: keys).presignedQuery(
      request, credentials, at: now, seconds: ending.seconds)
    return "\(addressing.origin)\(request.path)?\(query)"
  }

  /// Reports `sentence` about the store after `delay`, unless the task is cancelled.
  func tell(_ sentence: String, after delay: Duration) -> Task<Void, Never> {
    Task { [onNotice, store] in
      guard (try? await Task.sleep(for: delay)) != nil else { return }
      onNotice("\(store.destination): \(sentence)")
    }
  }

  /// True the first time only.
  private func tellsEndFirst() -> Bool {
    learned.withLock { learned in
      defer { learned.hasToldEnd = true }
      return !learned.hasToldEnd
    }
  }

  // MARK: Sending

  private typealias Exchange<Value> =
    @Sendable (HTTPCall) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value)

  private func asking<Value: Sendable>(
    _ request: S3Request, nothing: Value, _ exchange: Exchange<Value>
  ) async throws(UploadError) -> (outcome: Outcome, value: Value) {
    if request.keepsExtras { return try await answer(to: request, nothing: nothing, exchange) }
    let leftOut = learned.withLock { $0.leftOut }
    if let taken = try await taken(request, leftOut) { return (.failure(taken), nothing) }
    let first = try await answer(to: request.without(leftOut), nothing: nothing, exchange)
    guard case .failure(let failure) = first.outcome else { return first }
    // Amazon knows all extras. At another store, the first refusal shows which of them it does not know.
    guard store.endpoint != nil, failure.mayBeForAnExtra, !learned.withLock({ $0.hasTried }) else {
      return first
    }
    let extras = request.extras.subtracting(leftOut)
    for fewer in failure.suspects(among: extras) {
      if let taken = try await taken(request, fewer) { return (.failure(taken), nothing) }
      let next = try await answer(to: request.without(leftOut.union(fewer)), nothing: nothing, exchange)
      if case .failure(let other) = next.outcome {
        if other.mayBeForAnExtra { continue }
        // Only a request that was carried out, or refused because the name is taken, shows what the store accepts.
        guard other.reply.status == .preconditionFailed else { return next }
      }
      learned.withLock { $0.leftOut.formUnion(fewer) }
      return next
    }
    // A request that only reads may be refused for many other reasons (HEAD has no words), so it says nothing
    // about uploads.
    if !extras.isEmpty, [.put, .post].contains(request.method) { learned.withLock { $0.hasTried = true } }
    return first
  }

  /// Stands in for the condition if `request` is sent without it: the refusal that a store would give if the name is
  /// taken, nil if it is free.
  private func taken(
    _ request: S3Request, _ leftOut: Set<S3Extra>
  ) async throws(UploadError) -> S3Failure? {
    guard leftOut.contains(.condition), request.extras.contains(.condition), let name = request.name else {
      return nil
    }
    let question = S3Request(
      .head, name: name, task: "look for \(name)", permission: "s3:GetObject and s3:ListBucket")
    switch try await outcome(of: question) {
    case .reply:
      let body = Array("<Error><Code>PreconditionFailed</Code></Error>".utf8)
      return S3Failure(HTTPReply(status: .preconditionFailed, body: body), to: .word)
    case .failure(let failure):
      if failure.isMissing { return nil }
      throw error(failure, question)
    }
  }

  /// Returns the store's answer to `request`, which is sent with the MD5 of its body if the store has demanded that, as
  /// for a bucket with Object Lock (AWS, PutObject).
  private func answer<Value: Sendable>(
    to request: S3Request, nothing: Value, _ exchange: Exchange<Value>
  ) async throws(UploadError) -> (outcome: Outcome, value: Value) {
    if learned.withLock({ $0.sendsMD5 }) {
      return try await reply(to: try await request.withMD5(), nothing: nothing, exchange)
    }
    let answer = try await reply(to: request, nothing: nothing, exchange)
    guard case .failure(let failure) = answer.outcome, failure.demandsMD5, request.body.length > 0 else {
      return answer
    }
    learned.withLock { $0.sendsMD5 = true }
    return try await reply(to: try await request.withMD5(), nothing: nothing, exchange)
  }

  /// Returns the store's answer to `request` as it is. If the store's reply corrects the region, the clock or the
  /// credentials, the request is signed again and sent once more.
  private func reply<Value: Sendable>(
    to request: S3Request, nothing: Value, _ exchange: Exchange<Value>
  ) async throws(UploadError) -> (outcome: Outcome, value: Value) {
    var isLast = false
    while true {
      let known = learned.withLock { $0 }
      let call = try await signed(request)
      let answer = try await rethrowing(
        as: { UploadError($0, store: store.destination) }
      ) { () async throws(HTTPFailure) in try await exchange(call) }
      guard let failure = S3Failure(answer.reply, to: request.answer, of: call) else {
        return (.reply(answer.reply), answer.value)
      }
      if isLast { return (.failure(failure), nothing) }
      guard await learn(from: failure, knowing: known) else { return (.failure(failure), nothing) }
      isLast = true
    }
  }

  /// Learns from a failure, and returns whether the same request may now succeed.
  /// - Parameter known: what the request was signed with; other requests may have learned more in the meantime.
  private func learn(from failure: S3Failure, knowing known: Learned) async -> Bool {
    if failure.isWrongRegion, let region = failure.region, region != known.region,
      S3Store.isRegion(region, inHost: store.endpoint == nil)
    {
      learned.withLock { $0.region = region }
      return true
    }
    if failure.maySkew, let date = failure.reply.date {
      let skew = date.timeIntervalSince(clock.now())
      // A store that does not name the time as its reason accepts signatures that are some minutes old.
      let least: TimeInterval = failure.isSkewed ? 1 : 300
      if abs(skew - known.skew) > least {
        learned.withLock { $0.skew = skew }
        return true
      }
    }
    // If the clocks agree, the request was too old: it waited for its turn, or the machine was suspended.
    if failure.isSkewed { return true }
    if failure.isExpired {
      await source.forget()
      return true
    }
    return false
  }

  private var now: Date { clock.now().addingTimeInterval(learned.withLock { $0.skew }) }

  // MARK: Signing

  private func signed(_ request: S3Request) async throws(UploadError) -> HTTPCall {
    let credentials = try await source.credentials()
    learned.withLock { $0.keyID = credentials.keyID }
    let addressing = self.addressing
    let now = self.now
    let path = request.name.map { addressing.path(named: $0) } ?? addressing.bucketPath
    let query = SignatureV4.canonicalQuery(request.query)
    var call = HTTPCall(
      request.method, addressing.origin, query.isEmpty ? path : path + "?" + query, fields: request.fields,
      body: request.body)
    call.patience = request.patience
    call.thinking = max(request.thinking, request.isLong ? .seconds(20) : .zero)
    call.endsAtHead = request.endsAtHead
    call.replyLimit = request.replyLimit
    call.fetchLimit = request.fetchLimit
    let payload = Self.payload(of: request)
    call.fields[.contentSHA256] = payload
    call.fields[.amzDate] = SignatureV4.stamp(now)
    var fields = ["host": addressing.origin.authority]
    for field in call.fields where SignatureV4.signs(field.name.canonicalName) {
      fields[field.name.canonicalName] = field.value
    }
    if let token = credentials.token {
      call.credentials.append(HTTPCredential(.securityToken, token, for: addressing.origin))
      fields[HTTPField.Name.securityToken.canonicalName] = token.revealed
    }
    let signature = SignatureV4(region: addressing.region, keys: keys).authorization(
      SignatureV4.Request(
        method: request.method.rawValue, path: path, query: request.query, fields: fields, payload: payload),
      credentials, at: now)
    call.credentials.append(HTTPCredential(.authorization, signature, for: addressing.origin))
    return call
  }

  private static func payload(of request: S3Request) -> String {
    if let payload = request.payload { return payload }
    guard case .bytes(let bytes) = request.body else { return Hexadecimal.text(SHA256.hash(data: [UInt8]())) }
    return Hexadecimal.text(SHA256.hash(data: bytes))
  }
}

/// How long a signed address is really valid.
struct PresignedEnd {
  let seconds: Int
  /// What to report if that is less than was requested, or may be.
  let notice: String?

  /// The default lifetime of AWS's own sessions in seconds. A shorter address is assumed to fit into a session.
  private static let session = 3600

  init(seconds wanted: Int, _ credentials: S3Credentials, now: Date) {
    if let expires = credentials.expires {
      seconds = Int(max(1, min(Double(wanted), expires.timeIntervalSince(now).rounded(.down))))
      notice =
        seconds < wanted
        ? "signed URLs expire after \(seconds) s instead of \(wanted) s, as the credentials that sign them do: "
          + Self.advice : nil
    } else {
      seconds = wanted
      notice =
        credentials.token != nil && wanted > Self.session
        ? "signed URLs expire with the session token that signs them, which may be sooner than after \(wanted) s: "
          + Self.advice : nil
    }
  }

  private static let advice =
    "use credentials that do not expire, or have new ones made for each feed (reel feed --presign)"
}
