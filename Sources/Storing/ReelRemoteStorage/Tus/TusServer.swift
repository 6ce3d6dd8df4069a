import FoundationEssentials
import HTTPTypes
import ReelCore

/// What a server can do, according to its answer to OPTIONS (tus 1.0.0, "OPTIONS").
struct TusServer: Hashable, Sendable {
  /// The version of the protocol that Reel speaks.
  static let version = "1.0.0"

  let extensions: Set<String>
  /// The best algorithm of the checksum extension that both sides support; nil if there is none.
  let checksum: TusChecksum?
  /// The size of the largest upload in bytes; nil if the server does not state it.
  let largest: Int64?
  /// The address at which uploads are created: as the user wrote it, or with a slash appended if the server redirected
  /// to that.
  let endpoint: TusURL

  /// Nil if the reply does not come from a tus server.
  init?(_ reply: HTTPReply, endpoint: TusURL) {
    guard reply.isSuccess || reply.status.code == 405,
      let versions = reply.fields[.tusVersion] ?? reply.fields[.tusResumable],
      versions.split(separator: ",").contains(where: { $0.trimmed == Self.version })
    else { return nil }
    extensions = Set(
      (reply.fields[.tusExtension] ?? "").split(separator: ",").map { $0.trimmed.lowercased() })
    let offered = (reply.fields[.tusChecksumAlgorithm] ?? "").split(separator: ",").map {
      $0.trimmed.lowercased()
    }
    checksum =
      extensions.contains("checksum") ? TusChecksum.allCases.first { offered.contains($0.rawValue) } : nil
    largest = reply.fields[.tusMaxSize].flatMap { Int64(digits: $0.trimmed) }.flatMap { $0 > 0 ? $0 : nil }
    self.endpoint = endpoint
  }

  var canCreate: Bool { extensions.contains("creation") }
  var canTerminate: Bool { extensions.contains("termination") }

  /// Whether the first part is sent with the creation, which saves a round trip. Not if parts can carry a checksum: a
  /// creation can't.
  var takesFirstPart: Bool { extensions.contains("creation-with-upload") && checksum == nil }
}

extension HTTPField.Name {
  static let tusResumable = ours("Tus-Resumable")
  static let tusVersion = ours("Tus-Version")
  static let tusExtension = ours("Tus-Extension")
  static let tusMaxSize = ours("Tus-Max-Size")
  static let tusChecksumAlgorithm = ours("Tus-Checksum-Algorithm")
  static let uploadOffset = ours("Upload-Offset")
  static let uploadLength = ours("Upload-Length")
  static let uploadMetadata = ours("Upload-Metadata")
  static let uploadChecksum = ours("Upload-Checksum")
  static let methodOverride = ours("X-HTTP-Method-Override")
}

extension StringProtocol {
  var trimmed: String { String(trimming { $0 == " " || $0 == "\t" }) }
}

/// The address at which uploads are created, as the user names it.
public struct TusEndpoint: Hashable, Sendable {
  let url: TusURL

  /// Reads `tus+https://host/path` or `tus+http://host/path`; nil for anything else, also for an address with a user, a
  /// password, a query or a fragment.
  public init?(_ text: String) {
    let prefix = "tus+"
    guard text.prefix(prefix.count).lowercased() == prefix, !text.contains("?"), !text.contains("#"),
      let url = TusURL(String(text.dropFirst(prefix.count)))
    else { return nil }
    self.url = url
  }

  /// The server, which gets the token.
  public var origin: HTTPOrigin { url.origin }

  /// The one name of the server, with or without a trailing slash in the address.
  public var destination: Destination {
    var text = url.text
    while text.hasSuffix("/") { text.removeLast() }
    return Destination("tus+" + text)
  }
}

/// The addresses at which viewers find a tus server's uploads, which the protocol does not define.
public struct TusAddresses: Hashable, Sendable {
  /// A setting in which `{key}` and `{id}` are replaced; nil for the upload's own address.
  private let pattern: String?

  /// - Parameter publicBaseURL: `{key}` stands for the object's name, `{id}` for the name that the server gave the
  ///   upload (the end of its address). Without either, the object's name is appended. Nil for the upload's own
  ///   address, which works if the server returns uploads.
  public init(publicBaseURL: String?) {
    pattern = publicBaseURL.map { base in
      if base.contains("{key}") || base.contains("{id}") { return base }
      return base + (base.hasSuffix("/") ? "" : "/") + "{key}"
    }
  }

  func url(of key: ObjectKey, at url: TusURL) -> String {
    pattern?.replacing("{key}", with: key.rawValue).replacing("{id}", with: url.id) ?? url.text
  }

  /// Returns the address besides the server's at which the object can be read; nil if none is configured.
  func other(than url: TusURL, _ key: ObjectKey) -> TusURL? {
    guard pattern != nil, let other = TusURL(self.url(of: key, at: url)), other != url else { return nil }
    return other
  }
}

/// What a tus server's refusals mean, and how they are reported. No sentence contains an upload's address.
struct TusFailure: Sendable {
  let store: Destination
  let now: @Sendable () -> Date

  /// The default delay in seconds before asking again for an upload that the server holds locked: a server keeps the
  /// lock for a request whose connection is dead until it notices that, some seconds later.
  private static let lockTime = 3.0

  /// - Parameter task: what was requested, such as "store abc.mp4".
  func callAsFunction(_ reply: HTTPReply, _ task: String) -> UploadError {
    switch reply.status.code {
    case 409: interrupted("it has received more or less of the upload than Reel expected")
    case 404, 410: interrupted("it does not know the upload any more (it may have expired)")
    case 423:
      UploadError(
        .unavailable, "the store \(store) is still working on that upload: try again later",
        retryAfter: reply.retryAfter(now: now()) ?? Self.lockTime)
    case 460: interrupted("a part arrived damaged (its checksum differs)")
    case 400 where reply.ownWords?.hasPrefix("ERR_UPLOAD_INTERRUPTED") ?? false:
      interrupted("it was interrupted there")
    default: reply.failure(store: store, task: task, reason: words(of: reply), now: now())
    }
  }

  /// Whether a refusal concerns the request, not the content: another request is in its way, it arrived damaged, or the
  /// server can't judge it at the moment. A hook refuses with a 4xx or a 500.
  func isOfTheMoment(_ reply: HTTPReply) -> Bool {
    [404, 408, 409, 410, 423, 425, 429, 460, 503].contains(reply.status.code)
      || reply.ownWords?.hasPrefix("ERR_LOCK_TIMEOUT") ?? false
  }

  /// Returns the error for a refused part.
  func callAsFunction(refusing key: ObjectKey, _ reply: HTTPReply) -> UploadError {
    self(reply, "take a part of \(key)")
  }

  /// Returns the error for an upload of which the server has every byte, and which it refused.
  func refused(_ key: ObjectKey, _ reply: HTTPReply) -> UploadError {
    let code = HTTPReply.code(of: reply.status)
    let said =
      words(of: reply).map { "\(reply.status.code): \(HTTPReply.oneLine($0))" } ?? "\(reply.status.code)"
    return UploadError(
      [.denied, .storeFull].contains(code) ? code : .rejected,
      "the tus server \(store) received every byte of \(key) and then refused it (\(said)), so it is not published: find "
        + "the reason there, then try again")
  }

  /// Returns the server's words without what may be an upload's address: parts of paths, and long names.
  private func words(of reply: HTTPReply) -> String? {
    reply.ownWords?.split(separator: " ").map { word in
      let isName =
        word.contains("/") || word.count(where: { $0.isASCII && ($0.isLetter || $0.isNumber) }) >= 16
      return isName && !word.hasPrefix("ERR_") ? "…" : String(word)
    }.joined(separator: " ")
  }

  func interrupted(_ what: String) -> UploadError {
    UploadError(
      .interrupted, "the upload to the store \(store) broke: \(what); try again to resume")
  }

  func transport(_ failure: HTTPFailure) -> UploadError { UploadError(failure, store: store) }

  func noTus(_ reply: HTTPReply) -> UploadError {
    if [401, 403, 407].contains(reply.status.code) {
      return reply.failure(store: store, task: "say what it can do", now: now())
    }
    if reply.status.code == 429 || reply.status.code >= 500 {
      return reply.failure(store: store, task: "say what it can do", now: now())
    }
    return UploadError(
      .storeUnusable,
      "the server at \(store) does not speak tus 1.0 (\(reply.status.code) to OPTIONS, and no Tus-Version): name the address "
        + "where uploads are created, such as tus+https://host/files/; if it is that, let OPTIONS through to the server, as "
        + "nginx and others answer it themselves")
  }

  var noCreation: UploadError {
    UploadError(.storeUnusable, "the tus server \(store) creates no uploads (it has no creation extension)")
  }

  func badLocation() -> UploadError {
    UploadError(
      .storeUnusable,
      "the tus server \(store) created an upload and gave no address for it that can be used: see its settings "
        + "for the address that it is reached by (behind a proxy it has to know it)")
  }

  func noLength(_ key: ObjectKey, _ offset: Int64) -> UploadError {
    UploadError(
      .interrupted,
      "the tus server \(store) says that it has \(offset) bytes of \(key), and not how long it is, so nobody can tell whether "
        + "it is whole: try again, and check the server if it happens again")
  }

  /// - Parameter address: an address that viewers open.
  func noLength(_ key: ObjectKey, at address: String) -> UploadError {
    UploadError(
      .interrupted,
      "\(address) answers, and does not say how long \(key) is, so nobody can tell whether it is whole: try again, and "
        + "have what answers there tell its length (Content-Length) if it happens again")
  }

  func otherHost(_ origin: HTTPOrigin) -> UploadError {
    UploadError(
      .storeUnusable,
      "the tus server \(store) wants the bytes sent to another host, \(origin), and nothing was: if that is right, "
        + "name \(origin.authority) with \(setting: .uploadHosts)")
  }

  func taken(_ key: ObjectKey) -> UploadError {
    UploadError(
      .alreadyExists, "the store \(store) has an object named \(key) already, or somebody stores it now")
  }

  func removesNothing(_ key: ObjectKey) -> UploadError {
    UploadError(
      .rejected,
      "the tus server \(store) removes nothing (it has no termination extension), so \(key) stays there, and viewers who have "
        + "its address see it: remove it on the server itself, then try again")
  }

  /// - Parameter address: an address that viewers open.
  func handedOn(_ key: ObjectKey, _ address: String) -> UploadError {
    UploadError(
      .rejected,
      "the tus server \(store) has handed \(key) on and can't remove it any more; it is at \(address): remove it there, then "
        + "try again")
  }

  /// Returns the error for a size that the server itself refused, in reply to a request without a body.
  func tooLarge(_ size: Int64, _ reply: HTTPReply) -> UploadError {
    UploadError(
      .tooLarge,
      "the tus server \(store) takes no upload of \(size) bytes (413\(words(of: reply).map { ": \($0)" } ?? "")): raise "
        + "its limit")
  }

  func tooLarge(_ size: Int64, _ largest: Int64) -> UploadError {
    UploadError(
      ofTheFile: .tooLarge, "the store \(store) takes at most \(largest) bytes, and the file has \(size)")
  }
}
