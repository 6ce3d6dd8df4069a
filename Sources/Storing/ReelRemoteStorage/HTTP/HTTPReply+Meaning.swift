import FoundationEssentials
import Glibc
import HTTPTypes
import ReelCore

extension Int64 {
  /// Parses a length or offset as protocols write it: digits only (RFC 9110, 8.6). Nil for anything else, and for a
  /// number above 2^63-1.
  init?(digits text: some StringProtocol) {
    guard text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
    self.init(text)
  }
}

extension HTTPReply {
  /// The stated length, in bytes, of what the reply is about; nil if it states none.
  var contentLength: Int64? { fields[.contentLength].flatMap { Int64(digits: $0) } }

  /// The store's clock when it answered (RFC 9110, 6.6.1), or nil.
  public var date: Date? { fields[.date].flatMap(HTTPDate.parse) }

  /// Returns the number of seconds that the store asks us to wait (RFC 9110, 10.2.3): a number, or a date, which is
  /// compared with the store's own clock if the reply states it.
  /// - Parameter now: this machine's clock, for a reply without a date.
  public func retryAfter(now: Date) -> Double? {
    guard let text = fields[.retryAfter] else { return nil }
    let isDecimal = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    if isDecimal, let seconds = Double(text), seconds.isFinite { return seconds }
    return HTTPDate.parse(text).map { max(0, $0.timeIntervalSince(date ?? now)) }
  }

  /// Returns what the reply's status means for an upload, for an uploader that knows nothing more specific.
  ///
  /// - Parameters:
  ///   - store: the store's settled name, for the sentence.
  ///   - task: what was requested, such as "store abc.mp4".
  ///   - reason: the store's own words; nil to use those in the reply's body, if any.
  ///   - now: this machine's clock.
  public func failure(
    store: some CustomStringConvertible, task: String, reason: String? = nil, now: Date
  ) -> UploadError {
    if let refusal = refusalByProxy(store: store) { return refusal }
    let code = Self.code(of: status)
    let said = (reason ?? ownWords).map { "\(status.code): \(Self.oneLine($0))" } ?? "\(status.code)"
    return UploadError(
      code, "the store \(store) did not \(task) (\(said)): \(advice(code))",
      retryAfter: code.isWorthARetry ? retryAfter(now: now) : nil)
  }

  /// The body's message for people: plain text, the message in a JSON object, or the title of a page. Nil for anything
  /// else, and for a title that only repeats the status.
  var ownWords: String? {
    guard (1...Self.longestWords).contains(body.count),
      let text = String(validating: body, as: UTF8.self).map({ Self.oneLine($0) }), !text.isEmpty
    else { return nil }
    switch text.first {
    case "{": return (try? JSONDecoder().decode(JSONWords.self, from: Data(body)))?.text
    case "<":
      guard let begin = text.firstRange(of: "<title>")?.upperBound,
        let end = text[begin...].firstRange(of: "</title>")?.lowerBound
      else { return nil }
      let title = text[begin..<end].trimmingPrefix("\(status.code)").trimmingPrefix(" ")
      return title.isEmpty || title == status.reasonPhrase ? nil : String(title)
    default: return text
    }
  }

  private static let longestWords = 16 << 10

  /// The message in a server's JSON: `{"message": "…"}`, `{"error": "…"}`, `{"error": {"message": "…"}}`,
  /// `{"detail": "…"}`.
  private struct JSONWords: Decodable {
    let text: String?

    enum CodingKeys: String, CodingKey, CaseIterable { case message, error_description, detail, error, title }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      let inner = try? values.nestedContainer(keyedBy: CodingKeys.self, forKey: .error)
      let texts = ([values, inner].compactMap(\.self)).flatMap { values in
        CodingKeys.allCases.compactMap { try? values.decode(String.self, forKey: $0) }
      }
      text = texts.first { !$0.isEmpty }
    }
  }

  /// Returns the error for a 407 or 511. These come from a proxy or network on the way (RFC 9110, 15.5.8; RFC 6585, 6),
  /// never from the store.
  private func refusalByProxy(store: some CustomStringConvertible) -> UploadError? {
    switch status.code {
    case 407:
      UploadError(
        .storeUnusable,
        "the proxy on the way to the store \(store) requires a user and a password (407): write them into its address "
          + "(\(setting: .proxy))")
    case 511:
      UploadError(
        .storeUnusable,
        "the network on the way to the store \(store) requires a login (511): log in, then try again"
      )
    default: nil
    }
  }

  /// Returns the code for a status (RFC 9110, 15; 507 is RFC 4918, 11.5).
  public static func code(of status: HTTPResponse.Status) -> UploadError.Code {
    switch status.code {
    case 401, 403: .denied
    case 407, 511: .storeUnusable
    case 412: .alreadyExists
    case 413: .tooLarge
    case 507: .storeFull
    case 501, 505: .rejected
    // 409 describes a passing state ("might be able to resolve the conflict and resubmit"), not an object that exists.
    case 408, 409, 423, 425, 429, 500...599: .unavailable
    default: .rejected
    }
  }

  /// The target of a redirect: the origin alone, as the rest may be secret.
  var place: HTTPOrigin? { fields[.location].flatMap { try? WebAddress(parsing: $0).origin } }

  private func advice(_ code: UploadError.Code) -> String {
    switch code {
    case .denied: "check the credentials, and what they are allowed to do"
    case .alreadyExists: "something is there under that name already"
    case .tooLarge:
      "the store, or a proxy in front of it, refuses requests of this size: raise its limit (nginx: client_max_body_size)"
    case .storeFull: "free some space there, then try again"
    case .unavailable:
      status.code == 409
        ? "another request is working on it; try again later"
        : "it is busy or down; try again later"
    default:
      status.kind == .redirection && status != .notModified
        ? "it redirects \(place.map { "to \($0)" } ?? "elsewhere"), and Reel does not follow that; correct its address"
        : "check the store and its address"
    }
  }

  /// Makes a store's words fit for a sentence: printable, on one line, at most 300 characters.
  public static func oneLine(_ text: String) -> String {
    let line = text.unicodeScalars.prefix(300).map { scalar in
      scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
        || scalar.properties.generalCategory == .lineSeparator ? " " : String(scalar)
    }
    return line.joined().split(separator: " ").joined(separator: " ")
  }
}

/// The date format of HTTP (RFC 9110, 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`. The two obsolete forms are
/// not read.
public enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Parses `text`; nil if it is no such date. The name of the day is not checked against the date.
  public static func parse(_ text: String) -> Date? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 6, words[0].count == 4, words[0].last == ",", words[5] == "GMT",
      let month = months.firstIndex(of: String(words[2])), let day = number(words[1], 1...31),
      let year = number(words[3], 1900...9999)
    else { return nil }
    let time = words[4].split(separator: ":", omittingEmptySubsequences: false)
    guard time.count == 3, let hour = number(time[0], 0...23), let minute = number(time[1], 0...59),
      let second = number(time[2], 0...60)
    else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(year - 1900), Int32(month), Int32(day))
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
    return Date(timeIntervalSince1970: Double(timegm(&parts)))
  }

  private static func number(_ text: Substring, _ range: ClosedRange<Int>) -> Int? {
    Int64(digits: text).flatMap(Int.init(exactly:)).flatMap { range.contains($0) ? $0 : nil }
  }
}
