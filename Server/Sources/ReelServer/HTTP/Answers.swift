import FoundationEssentials
import Glibc
import HTTPTypes
import Hummingbird
import NIOCore
import Reel

/// The body of an answer: its own keys, and those that every JSON answer of Reel has (docs/output.md).
struct AnswerBody<Keys: Encodable>: Encodable {
  private enum Frame: String, CodingKey { case v, ok, problems }
  private struct Entry: Encodable {
    let code: String
    let message: String
    let violations: [Problem.Violation]?
  }
  let keys: Keys
  var problem: Problem?

  func encode(to encoder: any Encoder) throws {
    try keys.encode(to: encoder)
    var container = encoder.container(keyedBy: Frame.self)
    try container.encode(1, forKey: .v)
    try container.encode(problem == nil, forKey: .ok)
    try container.encode(
      [problem].compactMap(\.self).map {
        Entry(code: $0.code, message: $0.message, violations: $0.violations)
      },
      forKey: .problems)
  }
}

/// The keys about an upload.
struct UploadKeys: Encodable {
  private enum CodingKeys: CodingKey { case verdict, post, upload }
  private struct Place: Encodable {
    private enum CodingKeys: CodingKey { case offset, length, expires }
    let offset: Int64
    let length: Int64?
    let expires: Date

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(offset, forKey: .offset)
      try container.encode(length, forKey: .length)
      try container.encode(expires.formatted(Date.ISO8601FormatStyle()), forKey: .expires)
    }
  }
  private let verdict: Verdict?
  private let place: Place?

  /// A verdict without an upload that a client could ask for again.
  init(_ verdict: Verdict?) { (self.verdict, place) = (verdict, nil) }

  init(_ upload: Upload, expires: Date) {
    verdict = upload.state.verdict
    place = Place(offset: upload.offset, length: upload.state.length, expires: expires)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(verdict?.word, forKey: .verdict)
    try container.encode(verdict?.post, forKey: .post)
    try container.encodeIfPresent(place, forKey: .upload)
  }
}

/// A page of the feed, as `reel feed --json` prints it.
struct FeedKeys: Encodable {
  private enum CodingKeys: CodingKey { case posts, next }
  let page: FeedPage

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(page.posts, forKey: .posts)
    try container.encode(page.next?.text, forKey: .next)
  }
}

/// An answer without keys of its own.
struct NoKeys: Encodable {
  private enum CodingKeys: CodingKey {}
  func encode(to encoder: any Encoder) throws { _ = encoder.container(keyedBy: CodingKeys.self) }
}

extension Response {
  static func json(
    _ status: HTTPResponse.Status, _ keys: some Encodable, problem: Problem? = nil, headers: HTTPFields = [:]
  ) -> Response {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Encoding fails only for a key that is not text, and there is none.
    let body = (try? encoder.encode(AnswerBody(keys: keys, problem: problem))) ?? Data()
    var headers = headers
    headers[.contentType] = "application/json"
    headers[.cacheControl] = "no-store"
    headers[.xContentTypeOptions] = "nosniff"
    return Response(
      status: status, headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body + Data("\n".utf8))))
  }

  static func problem(_ problem: Problem, headers: HTTPFields = [:]) -> Response {
    var headers = headers.merging(problem.headers)
    if let seconds = problem.retryAfter { headers[.retryAfter] = "\(seconds)" }
    if problem.status == HTTPResponse.Status.unauthorized.code { headers[.wwwAuthenticate] = "Bearer" }
    return json(HTTPResponse.Status(code: problem.status), NoKeys(), problem: problem, headers: headers)
  }

  /// The answer to a complete upload.
  static func judgement(_ judgement: Judgement, headers: HTTPFields = [:]) -> Response {
    switch judgement {
    case .verdict(let verdict):
      json(
        verdict.status, UploadKeys(verdict), problem: verdict.problem,
        headers: headers.merging(Response.headers(of: verdict)))
    case .postponed(let problem), .unwritten(let problem): .problem(problem, headers: headers)
    }
  }

  /// The verdict on an upload, for answers that have no body.
  static func headers(of verdict: Verdict?) -> HTTPFields {
    guard let verdict else { return [:] }
    var headers: HTTPFields = [.reelVerdict: verdict.word.rawValue]
    if let post = verdict.post { headers[.reelPost] = "\(post.id)" }
    return headers
  }
}

extension HTTPFields {
  func merging(_ other: HTTPFields) -> HTTPFields {
    var both = self
    for field in other { both[field.name] = field.value }
    return both
  }
}

extension Date {
  /// RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
  var httpText: String {
    var seconds = time_t(timeIntervalSince1970)
    var (parts, text) = (tm(), [CChar](repeating: 0, count: 64))
    gmtime_r(&seconds, &parts)
    // Nothing here sets another locale than C.
    let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
    return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// An address for one upload.
struct AddressKeys: Encodable {
  private enum CodingKeys: CodingKey { case url, expires }
  let url: String
  let expires: Date

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .url)
    try container.encode(expires.formatted(Date.ISO8601FormatStyle()), forKey: .expires)
  }
}
