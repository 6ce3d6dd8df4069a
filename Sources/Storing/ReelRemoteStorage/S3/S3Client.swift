import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto
import Synchronization

/// One request to a store, before it is signed.
struct S3Request: Sendable {
  var method: HTTPRequest.Method
  /// The object's, without the store's prefix; nil for the bucket itself.
  var name: String?
  var query: [(String, String)] = []
  var fields: HTTPFields = [:]
  var body = HTTPBody.none
  /// The SHA-256 of the body in hexadecimal; nil for a body that is none, or bytes at hand.
  var payload: String?
  /// Such as "store abc.mp4", for the sentence.
  let task: String
  /// The action that the store must allow, such as `s3:PutObject`.
  let permission: String
  var patience = Duration.seconds(120)
  /// What a success brings.
  var answer = Answer.word
  /// As ``HTTPCall``'s.
  var thinking = Duration.zero
  /// As ``HTTPCall``'s.
  var endsAtHead = false
  /// As ``HTTPCall``'s.
  var replyLimit = 1 << 20
  /// As ``HTTPCall``'s.
  var fetchLimit = Int.max

  /// What the body of a reply with a status of success is.
  enum Answer: Sendable {
    /// What the store says of what it has done.
    case word
    /// The same, but it may be an error all the same: some operations answer 200 before they know how they end (AWS,
    /// CompleteMultipartUpload, UploadPartCopy), and what stands before a store may to a list.
    case lateWord
    /// Bytes of an object: anybody's, and never taken for what the store says.
    case object
  }

  /// Whether it is for a list, a removal or the beginning of an upload: some stores take more than 20 s for these (MinIO,
  /// Ceph), and who asks again begins with the same. So they have 40, which leave time for a second attempt
  /// (``RetryPolicy/longestSilence``): the first one's connection may have been lost.
  var isLong: Bool {
    guard case .none = body else { return false }
    return name == nil || method == .delete || method == .post
  }

  /// Whether it is sent as it is or not at all: what proves it stands in its extras.
  var keepsExtras = false

  /// What it sends instead of ``body`` where checksums are left out.
  var bodyWithoutChecksums: [UInt8]?

  /// The extras that it asks for.
  var extras: Set<S3Extra> { Set(S3Extra.allCases.filter { $0.fields.contains { fields[$0] != nil } }) }

  /// The same without these.
  func without(_ extras: Set<S3Extra>) -> S3Request {
    var bare = self
    for field in extras.flatMap(\.fields) { bare.fields[field] = nil }
    if extras.contains(.checksum), let bodyWithoutChecksums { bare.body = .bytes(bodyWithoutChecksums) }
    return bare
  }

  /// The same with the MD5 of its body; where that is of a source, it is read for it.
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

/// What a request asks of a store beside the operation itself, and what some stores don't know.
enum S3Extra: CaseIterable, Sendable {
  /// `x-amz-checksum-…`: a digest that the store holds the bytes against, and keeps. The signed digest
  /// (`x-amz-content-sha256`) is no extra.
  case checksum
  /// `If-None-Match: *`.
  case condition

  var fields: [HTTPField.Name] {
    switch self {
    case .checksum: [.checksumSHA256, .checksumCRC64, .checksumAlgorithm, .checksumType, .checksumMode]
    case .condition: [.ifNoneMatch]
    }
  }

  /// What leaves it out.
  var advice: String {
    switch self {
    case .checksum: "x-amz-checksum-… with --request-checksums when_required"
    case .condition: "If-None-Match with --no-conditional-puts"
    }
  }
}

/// Signs requests, sends them, and learns from what the store says: its region, its clock, that a token has ended.
/// Each is learned once for a request, and the request sent once more; everything else is for `RetryingUploader`.
final class S3Client: Sendable {
  let store: S3Store
  let clock: any WallClock
  private let transport: any HTTPTransport
  private let source: any CredentialSource
  private let learned: Mutex<Learned>
  private let keys = SigningKeys()
  private let onNotice: @Sendable (String) -> Void
  /// One asks, and the others wait for what it hears.
  let checking = AsyncSemaphore(count: 1)

  private struct Learned: Sendable {
    var region: String
    /// Seconds that the store's clock is ahead of ours.
    var skew = 0.0
    /// The access key that was signed with last.
    var keyID = ""
    /// What requests go without.
    var leftOut: Set<S3Extra>
    /// Whether bodies are sent with their MD5: the store has demanded it.
    var sendsMD5 = false
    /// Whether it was tried what the store takes without an extra, and it takes no more: the refusal was for something
    /// else.
    var hasTried = false
    var checks: S3Checks?
    /// Attempts one after the other that could not go on, by an unfinished upload's name or an object's.
    var inVain: [String: Int] = [:]
    /// Whether it has said 500 to each attempt to list the unfinished uploads of an object, and listed none since.
    var failsToList = false
    /// Whether it was told that signed addresses end before their time.
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

  /// Whether the store is asked to create only what is absent.
  var sendsConditions: Bool { learned.withLock { !$0.leftOut.contains(.condition) } }

  /// Whether digests and sums are sent beside the signature.
  var sendsChecksums: Bool { learned.withLock { !$0.leftOut.contains(.checksum) } }

  /// What ``checks()`` has found out.
  var knownChecks: S3Checks? { learned.withLock { $0.checks } }

  func remember(_ checks: S3Checks) { learned.withLock { $0.checks = checks } }

  /// Counts an attempt that could not go on.
  /// - Returns: whether there were so many in a row, the pauses between attempts in between; then it is counted anew.
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

  /// Where requests go now.
  var addressing: S3Addressing { S3Addressing(store: store, region: learned.withLock { $0.region }) }

  /// The reply to `request`.
  /// - Throws: the store's error in a sentence.
  func send(_ request: S3Request) async throws(UploadError) -> HTTPReply {
    switch try await outcome(of: request) {
    case .reply(let reply): return reply
    case .failure(let failure): throw error(failure, request)
    }
  }

  /// What became of a request that may be refused for a reason its sender knows.
  enum Outcome: Sendable {
    case reply(HTTPReply)
    case failure(S3Failure)
  }

  /// As ``send(_:)``, but what the store refuses is given, not thrown.
  func outcome(of request: S3Request) async throws(UploadError) -> Outcome {
    try await asking(request, nothing: ()) { [transport] call throws(HTTPFailure) in
      (reply: try await transport.send(call), value: ())
    }.outcome
  }

  /// As ``outcome(of:)``; nil where the reply is longer than the request allows.
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

  /// What the store refused, in a sentence, with the key that was signed with last.
  func error(_ failure: S3Failure, _ request: S3Request) -> UploadError {
    let (keyID, leftOut) = learned.withLock { ($0.keyID, $0.leftOut) }
    let error = S3ErrorMessages(
      store: store, host: addressing.origin.authority, region: addressing.region
    ).error(failure, request.task, permission: request.permission, keyID: keyID, now: clock.now())
    let isAsIs = request.keepsExtras || ![.put, .post].contains(request.method)
    let extras = isAsIs ? [] : request.extras.subtracting(leftOut)
    guard store.endpoint != nil, failure.isUnclear, !extras.isEmpty else { return error }
    return error.adding(
      "if the store does not know what Reel asks for besides, leave that out: \(S3Extra.allCases.filter(extras.contains).map(\.advice).joined(separator: ", "))"
    )
  }

  /// An address that anybody may open for `seconds`, or for as long as the credentials that sign it are good (AWS, "Sharing
  /// objects with presigned URLs"), which is told.
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

  /// Says `sentence` of the store after `delay`, unless that is cancelled.
  func tell(_ sentence: String, after delay: Duration) -> Task<Void, Never> {
    Task { [onNotice, store] in
      guard (try? await Task.sleep(for: delay)) != nil else { return }
      onNotice("\(store.destination): \(sentence)")
    }
  }

  /// True once.
  private func tellsEndFirst() -> Bool {
    learned.withLock { learned in
      defer { learned.hasToldEnd = true }
      return !learned.hasToldEnd
    }
  }

  // MARK: Asking

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
    // Amazon knows them all, and what one store does not know has been found out by its first refusal.
    guard store.endpoint != nil, failure.mayBeForAnExtra, !learned.withLock({ $0.hasTried }) else {
      return first
    }
    let extras = request.extras.subtracting(leftOut)
    for fewer in failure.suspects(among: extras) {
      if let taken = try await taken(request, fewer) { return (.failure(taken), nothing) }
      let next = try await answer(to: request.without(leftOut.union(fewer)), nothing: nothing, exchange)
      if case .failure(let other) = next.outcome {
        if other.mayBeForAnExtra { continue }
        // Only of a request that it has carried out, or of a name that is taken, a store has shown what it takes.
        guard other.reply.status == .preconditionFailed else { return next }
      }
      learned.withLock { $0.leftOut.formUnion(fewer) }
      return next
    }
    // A question may be refused for much else (HEAD has no words), which says nothing of what is sent.
    if !extras.isEmpty, [.put, .post].contains(request.method) { learned.withLock { $0.hasTried = true } }
    return first
  }

  /// What a store says that knows the condition which `request` goes without, where its name is taken.
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

  /// What the store says to `request`, which goes with the MD5 of its body where the store has demanded one, as for a
  /// bucket with Object Lock (AWS, PutObject).
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

  /// What the store says to `request` as it is, once it has told its region and its time.
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

  /// Whether the same request may fare better now.
  /// - Parameter known: what it was signed with; others may have learned more meanwhile.
  private func learn(from failure: S3Failure, knowing known: Learned) async -> Bool {
    if failure.isWrongRegion, let region = failure.region, region != known.region,
      S3Store.isRegion(region, inHost: store.endpoint == nil)
    {
      learned.withLock { $0.region = region }
      return true
    }
    if failure.maySkew, let date = failure.reply.date {
      let skew = date.timeIntervalSince(clock.now())
      // Whoever does not say that it is the time takes a signature that is some minutes old.
      let least: TimeInterval = failure.isSkewed ? 1 : 300
      if abs(skew - known.skew) > least {
        learned.withLock { $0.skew = skew }
        return true
      }
    }
    // Where the clocks agree it was the request that was old: it waited for its turn, or the machine stood still.
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

/// How long a signed address is really good for.
struct PresignedEnd {
  let seconds: Int
  /// What to say of it where that is less than was asked for, or may be.
  let notice: String?

  /// AWS's own sessions take an hour where nobody says otherwise; a shorter address is taken to be meant for one.
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
