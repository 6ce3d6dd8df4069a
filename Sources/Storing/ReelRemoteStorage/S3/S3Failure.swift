import FoundationEssentials
import HTTPTypes
import ReelCore

/// A store's refusal of a request: its status, and the code and words of its XML, if it has any.
struct S3Failure: Sendable {
  let reply: HTTPReply
  /// Such as `NoSuchBucket`; nil for a reply without a body (HEAD).
  let code: String?
  let words: String?
  /// The region that the bucket is in, if the store says so.
  let region: String?
  /// The host name to which requests for the bucket should go, if the store names it.
  private let endpoint: String?
  /// Whether it is a reply to HEAD, which has no body, whoever sent it.
  private let isToHead: Bool
  /// Whether it has no words, and a session token was sent, which may have expired.
  let mayBeExpired: Bool

  /// Nil if `reply` is a success. A 2xx whose body is an error is no success if the operation may end like that.
  /// - Parameter call: the request; nil for a reply with words, which explains itself.
  init?(_ reply: HTTPReply, to answer: S3Request.Answer, of call: HTTPCall? = nil) {
    if reply.isSuccess, answer != .lateWord { return nil }
    let document = reply.body.isEmpty ? nil : XMLNode(parsing: reply.body)
    let error = document?.name == "Error" ? document : nil
    guard !reply.isSuccess || error != nil else { return nil }
    self.reply = reply
    isToHead = call?.method == .head
    let hasToken = call?.credentials.contains { $0.name == .securityToken } ?? false
    mayBeExpired =
      hasToken && reply.status == .badRequest && reply.body.isEmpty
      && (isToHead || call?.endsAtHead ?? false)
    code = error?["Code"]
    // Google gives the reason in a second element.
    let texts = [error?["Message"], error?["Details"]].compactMap(\.self)
    words = texts.isEmpty ? nil : texts.joined(separator: " ")
    endpoint = error?["Endpoint"]
    let named = reply.fields[.bucketRegion] ?? error?["Region"]
    region = named.flatMap { S3Store.isRegion($0) ? $0 : nil }
  }

  /// Whether the request was signed for another region than the bucket's.
  var isWrongRegion: Bool {
    region != nil
      && (reply.status.code == 301 || reply.status.code == 307 || code == "AuthorizationHeaderMalformed"
        || code == "PermanentRedirect" || code == "IllegalLocationConstraintException"
        || (reply.status.code == 400 && code == nil))
  }

  /// Returns the origin to which requests for the bucket `name` should go, without the bucket's name.
  /// - Parameter isSecure: whether TLS is used, if the store does not say so.
  func place(of name: String, isSecure: Bool) -> HTTPOrigin? {
    let told = endpoint.flatMap { try? HTTPAddress(parsing: "\(isSecure ? "https" : "http")://\($0)").origin }
    guard let origin = told ?? reply.place else { return nil }
    return origin.host.hasPrefix(name + ".")
      ? origin.with(host: String(origin.host.dropFirst(name.utf8.count + 1))) : origin
  }

  /// Whether its words say why it refused, and not only that it did.
  var saysWhy: Bool { words.map { $0.split(separator: " ").count > 2 } ?? false }

  /// Whether the refusal may be due to a field that the store does not know, though nothing says so.
  var isUnclear: Bool {
    guard [304, 400, 403, 405].contains(reply.status.code), !isDamaged else { return false }
    switch code {
    case nil, "SignatureDoesNotMatch", "MethodNotAllowed", "NotImplemented", "BadRequest", "InvalidArgument",
      "InvalidRequest":
      return true
    case "AccessDenied", "Forbidden": return !saysWhy
    case let code?: return code.contains("Header")
    }
  }

  /// Whether this machine's clock and the store's are too far apart.
  var isSkewed: Bool { code == "RequestTimeTooSkewed" || code == "RequestExpired" }

  /// Whether it may be due to the time in the signature: not every server has a code of its own for that.
  var maySkew: Bool {
    isSkewed
      || [400, 401, 403].contains(reply.status.code)
        && (code.map(
          ["AccessDenied", "SignatureDoesNotMatch", "AuthFailure", "InvalidSignatureException"].contains)
          ?? true)
  }

  /// Whether the credentials have expired, or may have: in a reply without words, Amazon says no more than 400.
  var isExpired: Bool { code == "ExpiredToken" || code == "TokenRefreshRequired" || mayBeExpired }

  /// Whether the store accepts a body only with its MD5. Amazon names checksums as an alternative; if they were sent,
  /// too, they did not suffice.
  var demandsMD5: Bool {
    reply.status.code == 400
      && (code == "MissingContentMD5"
        || code == "InvalidRequest" && words?.lowercased().contains("content-md5") ?? false)
  }

  /// Whether it may be due to a field that the store does not know (AWS, "Error responses": NotImplemented, "A
  /// header you provided implies functionality that is not implemented"; others say that an argument or the request
  /// is not valid).
  var mayBeForAnExtra: Bool {
    reply.status.code == 501
      || reply.status.code == 400
        && ["InvalidArgument", "InvalidRequest", "NotImplemented", "UnsupportedOperation", "BadRequest", nil]
          .contains(code)
      || reply.status.code == 400 && !isOtherBytes && !named(among: Set(S3Extra.allCases)).isEmpty
  }

  /// Returns those of `extras` that its words name.
  private func named(among extras: Set<S3Extra>) -> Set<S3Extra> {
    let text = String(decoding: reply.body, as: UTF8.self).lowercased()
    return extras.filter { extra in extra.fields.contains { text.contains($0.canonicalName) } }
  }

  /// Returns what to leave out on trial, in order: the extras that the words name, then each alone, then all.
  func suspects(among extras: Set<S3Extra>) -> [Set<S3Extra>] {
    let named = named(among: extras)
    let single = S3Extra.allCases.filter(extras.contains).map { Set([$0]) }
    return ([named] + single + [extras]).reduce(into: []) { suspects, next in
      if !next.isEmpty, !suspects.contains(next) { suspects.append(next) }
    }
  }

  /// Whether the store says that there is no such thing: in its own words, or in reply to HEAD, which has none.
  var isMissing: Bool {
    reply.status == .notFound
      && (isToHead && reply.body.isEmpty
        || ["NoSuchKey", "NoSuchVersion", "NoSuchUpload", "NotFound"].contains(code))
  }

  /// Whether it is a 404 in words that are not S3's, or without words where a store would have some. A proxy gives
  /// that answer to anything (Traefik, nginx, Envoy, while the store is restarted), and some stores give it for a
  /// missing object.
  var mayBeMissing: Bool { reply.status == .notFound && !isMissing && code != "NoSuchBucket" }

  var isMissingUpload: Bool { code == "NoSuchUpload" }

  /// Whether the store does not support the request: lakeFS answers 405, others 400 or 404, or 500 each time.
  var isOfTheQuestion: Bool {
    switch reply.status.code {
    case 404: code != "NoSuchBucket"
    case 405, 500, 501: true
    case 400: ["InvalidArgument", "InvalidRequest", "NotImplemented", nil].contains(code)
    default: false
    }
  }
  /// Whether parts that were sent are missing, or differ.
  var isBrokenUpload: Bool { isMissingUpload || code == "InvalidPart" || code == "InvalidPartOrder" }
  /// Whether the bytes that arrived are not those that were signed.
  var isDamaged: Bool { isOtherBytes || code == "InvalidDigest" }

  /// Whether the store found other bytes than stated. It then knows the field with the checksum.
  private var isOtherBytes: Bool {
    ["BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"].contains(code)
  }
}

extension HTTPField.Name {
  static let bucketRegion = ours("x-amz-bucket-region")
  static let contentMD5 = ours("content-md5")
  static let contentSHA256 = ours("x-amz-content-sha256")
  static let amzDate = ours("x-amz-date")
  static let securityToken = ours("x-amz-security-token")
  static let checksumSHA256 = ours("x-amz-checksum-sha256")
  static let checksumCRC64 = ours("x-amz-checksum-crc64nvme")
  static let checksumAlgorithm = ours("x-amz-checksum-algorithm")
  static let checksumType = ours("x-amz-checksum-type")
  static let checksumMode = ours("x-amz-checksum-mode")
}

/// Turns a store's errors into an uploader's, one sentence each.
struct S3ErrorMessages: Sendable {
  let store: S3Store
  let host: String
  /// The region that requests are signed for.
  let region: String

  /// - Parameters:
  ///   - task: what was requested, such as "store abc.mp4".
  ///   - permission: the action that the task needs, such as `s3:PutObject`.
  ///   - keyID: the access key that was used.
  func error(_ failure: S3Failure, _ task: String, permission: String, keyID: String, now: Date)
    -> UploadError
  {
    let named = "\(failure.reply.status.code) \(failure.code ?? failure.reply.status.reasonPhrase)"
    // The store's own words say what no code does: which key, which rule, which quota.
    let words = failure.words.map { HTTPReply.oneLine($0) }.flatMap { $0.isEmpty ? nil : $0 }
    let whole = words.map { "\(named): \($0)" } ?? named
    func made(_ code: UploadError.Code, _ sentence: ErrorMessage) -> UploadError {
      UploadError(
        code, sentence, retryAfter: code.isWorthARetry ? failure.reply.retryAfter(now: now) : nil)
    }
    // A reply to HEAD has no body.
    let isDenied = failure.reply.status == .forbidden && failure.reply.body.isEmpty
    switch failure.code ?? (isDenied ? "AccessDenied" : nil) {
    case "NoSuchBucket":
      return made(
        .storeUnusable,
        "there is no bucket named \(store.bucket) at \(host): make it, or correct its name")
    case "InvalidBucketName":
      return made(
        .storeUnusable, "\(host) says that \(store.bucket) is not a bucket name: correct it")
    case "AccessDenied", "AllAccessDisabled", "AccountProblem", "Forbidden":
      let isOfKey = words.map { $0.lowercased().contains("kms") } ?? false
      let missing =
        isOfKey ? "what the store names for the bucket's encryption key" : "the permission \(permission)"
      // A lock, or a full account, is reported in this way, too.
      if failure.saysWhy, let words {
        return made(
          .denied,
          "\(store.destination) did not \(task) for the access key \(keyID) (\(named)): \(words); if it is the key that "
            + "may not, give it \(missing)")
      }
      return made(
        .denied,
        "the access key \(keyID) may not \(task) in \(store.destination) (\(named)): give it \(missing), or use another "
          + "key" + (words.map { "; the store says: \($0)" } ?? ""))
    case "InvalidObjectState":
      return made(
        .rejected,
        "\(store.destination) keeps it in an archive and did not \(task) (\(whole)): restore it there first (such as with "
          + "aws s3api restore-object), then try again")
    case "InvalidAccessKeyId":
      return made(
        .storeUnusable,
        "\(host) does not know the access key \(keyID) (\(whole)): correct the credentials or the endpoint")
    case "SignatureDoesNotMatch":
      return made(
        .storeUnusable,
        "the secret of the access key \(keyID) is wrong, says \(host) (\(whole)): correct the credentials; if they are right, "
          + "see whether the bucket is in the region \(region) (\(setting: .region)), and whether a proxy on the way changes "
          + "requests")
    case "SecondLevelDomainForbidden", "PathStyleDomainForbidden":
      return made(
        .storeUnusable,
        "\(host) requires the bucket's name as part of the host name (\(whole)): use \(setting: .noPathStyle)"
      )
    case "FileImmutable":
      return made(
        .rejected,
        "\(store.destination) keeps it until its retention is over and did not \(task) (\(whole)): change the bucket's rule, "
          + "or try again then")
    case "InvalidToken", "ExpiredToken", "TokenRefreshRequired":
      return made(
        .storeUnusable,
        "the session token of the access key \(keyID) is not valid or has expired, says \(host): get new credentials"
      )
    case "RequestTimeTooSkewed", "RequestExpired": return skewed(failure, now, whole)
    case "EntityTooLarge":
      return made(.tooLarge, "it is larger than \(store.destination) takes (\(whole))")
    case "PreconditionFailed":
      return made(.alreadyExists, "\(store.destination) has something under that name already")
    case "QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "StorageFull",
      "XMinioAdminBucketQuotaExceeded", "InsufficientCapacity":
      return made(.storeFull, "\(store.destination) is full (\(whole)): free some space there")
    case "SlowDown", "ServiceUnavailable", "InternalError", "RequestLimitExceeded", "Throttling", "Busy",
      "ConditionalRequestConflict", "OperationAborted":
      return made(
        .unavailable,
        "\(store.destination) is busy (\(whole)) and did not \(task): try again later")
    case "InvalidPart", "InvalidPartOrder":
      return made(
        .interrupted,
        "\(store.destination) no longer has the parts that it accepted (\(whole)), and did not \(task): try again, "
          + "and tell its operator if it happens again")
    case "RequestTimeout", "IncompleteBody":
      return made(
        .interrupted, "\(store.destination) waited too long for bytes (\(whole)): try again")
    // With a temporary status it is a rate limit (503 UploadTrafficRateLimitExceeded, Alibaba OSS).
    case let code?
    where (code.hasSuffix("LimitExceeded") || code.hasSuffix("QuotaExceeded"))
      && HTTPReply.code(of: failure.reply.status) != .unavailable:
      return made(
        .storeFull,
        "\(store.destination) takes no more (\(whole)): free some space there, or have its limit raised")
    default: break
    }
    if failure.isDamaged {
      return made(
        .interrupted,
        "other bytes than were sent arrived at \(store.destination) (\(whole)): try again")
    }
    if failure.mayBeExpired, failure.region ?? region == region {
      return made(
        .rejected,
        "\(store.destination) did not \(task) (400, without a reason): the session token of the access key \(keyID) may "
          + "have expired, so get new credentials; if they are good, check the store and its address")
    }
    if failure.isWrongRegion, failure.region == region {
      let place = failure.place(of: store.bucket, isSecure: store.endpoint?.origin.isSecure ?? true)
      return made(
        .storeUnusable,
        "the bucket \(store.bucket) is in the region \(region), for which the requests are signed, but \(host) "
          + "redirects elsewhere (\(whole)): name the address that it has there (\(setting: .endpoint)"
          + (place.map { ", maybe \($0))" } ?? ")")
          + (region == store.region ? "" : ", and its region (\(setting: .region))"))
    }
    if failure.isWrongRegion {
      return made(
        .storeUnusable,
        "the bucket \(store.bucket) is in the region \(failure.region ?? "?"): set it with \(setting: .region)"
      )
    }
    if failure.mayBeMissing {
      let own = failure.code == nil ? failure.reply.ownWords.map { "404: \($0)" } ?? "404" : whole
      let manner = failure.reply.body.isEmpty ? "without a reason" : "but not as an S3 store would"
      return made(
        .unavailable,
        "the server at \(host) answered that there is nothing (\(own)), \(manner): check the address; if it is "
          + "right, a proxy in front of the store can't reach it, so try again later")
    }
    let said = [failure.code, failure.words].compactMap { $0 }.joined(separator: ": ")
    return failure.reply.failure(
      store: store.destination, task: task, reason: said.isEmpty ? nil : said, now: now)
  }

  /// A store tolerates 15 minutes (AWS, "RequestTimeTooSkewed"). If the clocks are less than 5 minutes apart, they are
  /// not the reason.
  private func skewed(_ failure: S3Failure, _ now: Date, _ whole: String) -> UploadError {
    guard let date = failure.reply.date else {
      return UploadError(
        .storeUnusable,
        "\(host) rejects the time of the signature (\(whole)), and does not state its own: compare this machine's clock "
          + "with the store's")
    }
    let seconds = Int(date.timeIntervalSince(now))
    guard abs(seconds) >= 300 else {
      return UploadError(
        .unavailable,
        "\(host) says that a request was signed too long ago (\(whole)), though its clock and this machine's agree: it may "
          + "have waited too long on its way; try again")
    }
    return UploadError(
      .storeUnusable,
      "this machine's clock is \(abs(seconds)) seconds \(seconds > 0 ? "behind" : "ahead of") the store's, so \(host) "
        + "rejects the signatures (\(whole)): set this machine's clock")
  }
}
