import HTTPTypes
import ReelCore

/// Identifies one state of a file by what its server reports.
struct FilePin: Hashable, Sendable {
  /// The size in bytes; nil before the first reply.
  var size: Int64?
  /// What else identifies the state.
  var state = RemoteState()
  /// The ETag as a reply stated it; a list may have another one, or write it differently.
  var toldTag: String?

  /// Makes the server answer only while the file is unchanged: by a strong ETag (RFC 9110, 13.1.1), otherwise by
  /// the time.
  var conditions: HTTPFields {
    if let tag = toldTag ?? state.tag, !tag.hasPrefix("W/") { return [.ifMatch: tag] }
    if let modified = state.modified { return [.ifUnmodifiedSince: modified] }
    return [:]
  }
}

extension RemoteState {
  /// The state that a reply reports.
  init(_ fields: HTTPFields) { self.init(tag: fields[.eTag], modified: fields[.lastModified]) }
}

/// A range of a file, and what the reply said about the whole file.
struct FetchedRange: Hashable, Sendable {
  let bytes: [UInt8]
  /// The file's state, with its size.
  let pin: FilePin
}

/// Interprets a server's reply to a range request (RFC 9110, 14).
struct RangeAnswer: Sendable {
  /// The requested range. It begins within the file, and may end beyond it.
  let range: Range<Int64>
  /// What is known about the file.
  let pin: FilePin
  /// The server's name for messages, without anything secret.
  let server: String
  /// Whether the body is taken as it is, whatever its stated encoding: an object's `Content-Encoding` is whatever
  /// somebody stored with it (`base64`, `utf-8`, `none`), and a bucket encodes nothing in transit.
  var isOfBucket = false

  /// The largest plausible size in bytes: 4096 TiB, more than any store accepts.
  static let largest: Int64 = 1 << 52

  /// - Throws: `notFound`, `denied`, `unreadable`; `sourceChanged` if the file is no longer the one that
  ///   `pin` describes.
  func read(_ reply: HTTPReply) throws(SourceError) -> FetchedRange {
    switch reply.status.code {
    case 206: return try part(reply)
    // Some servers send a range with the status 200 (rclone serve s3 does).
    case 200: return reply.fields[.contentRange] == nil ? try whole(reply) : try part(reply)
    case 412: throw Self.changed
    case 416: return try unsatisfiable(reply)
    case 300...399: throw redirect(reply)
    case 404, 410: throw SourceError(.notFound, "\(server) has nothing under this address; check it")
    case 407, 511:
      throw SourceError(
        .denied,
        "the proxy on the way to \(server) denies access to it (status \(reply.status.code)); check its address and its "
          + "user and password (\(setting: .proxy))")
    case 401, 403:
      throw SourceError(
        .denied,
        "\(server) denies access to it (status \(reply.status.code)); check that the address is whole, and its "
          + "signature, if it has one, has not expired")
    default:
      throw SourceError(
        .unreadable, "\(server) does not give it (status \(reply.status.code)); check the address")
    }
  }

  private func part(_ reply: HTTPReply) throws(SourceError) -> FetchedRange {
    guard let text = reply.fields[.contentRange], let told = ContentRange(parsing: text),
      let part = told.range
    else { throw unexpected("does not say which bytes it sends") }
    guard let size = told.size else { throw unexpected("does not say how long the file is") }
    let found = try pinned(reply, size: size)
    guard part.lowerBound == range.lowerBound, part.upperBound <= range.upperBound else {
      throw unexpected("sends other bytes than were asked for")
    }
    guard part.upperBound == min(range.upperBound, size), reply.body.count == part.count else {
      throw unexpected("sends fewer bytes than were asked for")
    }
    try checkEncoding(reply)
    return FetchedRange(bytes: reply.body, pin: found)
  }

  /// Checks the reply to a request for the whole file, whose `size` bytes were passed elsewhere.
  /// - Throws: as ``read(_:)``.
  func check(whole reply: HTTPReply, size: Int64) throws(SourceError) {
    guard reply.status.code == 200, reply.fields[.contentRange] == nil else {
      _ = try read(reply)
      throw unexpected("sends a part, though it was asked for all of it")
    }
    try checkEncoding(reply)
    _ = try pinned(reply, size: size)
  }

  /// Reads the reply of a server without support for ranges. It sends the whole file, which will do if the file
  /// is small.
  private func whole(_ reply: HTTPReply) throws(SourceError) -> FetchedRange {
    let length = reply.contentLength
    guard range.lowerBound == 0, reply.body.count <= range.count else { throw noRanges }
    guard length == nil || length == Int64(reply.body.count) else {
      throw unexpected("sends fewer bytes than it says")
    }
    try checkEncoding(reply)
    return FetchedRange(bytes: reply.body, pin: try pinned(reply, size: Int64(reply.body.count)))
  }

  /// Returns the range to request instead, once, if a server refuses one that ends beyond the end of the file, and
  /// states where that is (VersityGW 0.22 did).
  func shorter(after reply: HTTPReply) -> (range: Range<Int64>, pin: FilePin)? {
    guard reply.status.code == 416, pin.size == nil, range.lowerBound == 0,
      let size = reply.fields[.contentRange].flatMap({ ContentRange(parsing: $0) })?.size,
      size > 0, size < range.upperBound
    else { return nil }
    var known = pin
    known.size = size
    return (0..<size, known)
  }

  /// Reads a 416: an empty file has no ranges.
  private func unsatisfiable(_ reply: HTTPReply) throws(SourceError) -> FetchedRange {
    let told = reply.fields[.contentRange].flatMap { ContentRange(parsing: $0) }
    guard pin.size == nil || pin.size == 0, range.lowerBound == 0, told?.size ?? 0 == 0 else {
      throw Self.changed
    }
    return FetchedRange(bytes: [], pin: try pinned(reply, size: 0))
  }

  /// Returns the file's state according to the reply, provided that it agrees with what was known.
  private func pinned(_ reply: HTTPReply, size: Int64) throws(SourceError) -> FilePin {
    guard size <= Self.largest else { throw unexpected("states an impossible size of \(size) bytes") }
    let (known, found) = (pin.state, RemoteState(reply.fields))
    if let known = pin.size, known != size { throw Self.changed }
    // A proxy may write the ETag differently: without quotation marks, or as a weak one.
    let tag = pin.toldTag ?? known.tag
    let isSame = tag.flatMap { tag in found.tag.map { $0.trimmingQuotes() == tag.trimmingQuotes() } }
    if isSame == false { throw Self.changed }
    // If a strong ETag is the same, so are the bytes, and the time does not matter (RFC 9110, 13.2.2).
    let isProved = isSame == true && ![tag, found.tag].contains { $0?.hasPrefix("W/") ?? true }
    if !isProved, let known = known.modified, let modified = found.modified, known != modified {
      throw Self.changed
    }
    return FilePin(
      size: size,
      state: RemoteState(tag: known.tag ?? found.tag, modified: known.modified ?? found.modified),
      toldTag: found.tag ?? pin.toldTag)
  }

  private func checkEncoding(_ reply: HTTPReply) throws(SourceError) {
    guard isOfBucket || !reply.isCompressed else {
      throw unexpected("sends it compressed, though it was asked not to")
    }
  }

  /// Returns the error for a redirect. The new address may be secret, too, so only its origin is shown.
  private func redirect(_ reply: HTTPReply) -> SourceError {
    let target = reply.place.map { " to another one at \($0)" } ?? ""
    return SourceError(
      .unreadable,
      "\(server) redirects this address\(target), and Reel follows no redirect; give the final address")
  }

  private func unexpected(_ what: String) -> SourceError {
    SourceError(
      .unreadable, "\(server) \(what), so it can't be read by range; download it, then give the file")
  }

  /// Returns the maximum size of a reply's body in bytes: the range, or an error message.
  static func replyLimit(for range: Range<Int64>) -> Int { max(range.count, 256 << 10) }

  /// The error for a reply that is longer than what was requested.
  var noRanges: SourceError {
    SourceError(
      .unreadable,
      "\(server) gives this file only as a whole, not by range; download it, then give the file")
  }

  static let changed = SourceError(
    .sourceChanged,
    "it changed while Reel was reading it; wait until its writer has finished, then try again")
}

extension HTTPReply {
  /// Whether the body is encoded, with one of the existing codings (RFC 9110, 8.4.1, and those registered since).
  /// Anything else that people write there (`none`, `utf-8`, `binary`) encodes nothing.
  var isCompressed: Bool {
    (fields[.contentEncoding] ?? "").split(separator: ",").contains { coding in
      ["gzip", "x-gzip", "deflate", "br", "zstd", "dcb", "dcz", "compress", "x-compress"]
        .contains(coding.trimmingWhiteSpace().lowercased())
    }
  }
}

/// The value of the Content-Range field (RFC 9110, 14.4), in bytes.
struct ContentRange: Hashable, Sendable {
  /// Nil for `bytes */…`.
  let range: Range<Int64>?
  /// Nil for `…/*`.
  let size: Int64?

  /// Nil if `text` is malformed or impossible.
  init?(parsing text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    if halves[1] == "*" {
      size = nil
    } else {
      guard let number = Int64(digits: halves[1]) else { return nil }
      size = number
    }
    if halves[0] == "*" {
      guard size != nil else { return nil }
      range = nil
      return
    }
    let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]),
      first <= last, last < .max, first < size ?? .max
    else { return nil }
    // Some servers repeat the end of the requested range (s3rver); nothing lies beyond the end of the file.
    range = first..<min(last + 1, size ?? .max)
  }
}

extension HTTPFields {
  /// Fields that request `range` of the file in the state `pin`.
  static func asking(for range: Range<Int64>, of pin: FilePin) -> HTTPFields {
    var fields = pin.conditions
    fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
    return fields
  }
}
