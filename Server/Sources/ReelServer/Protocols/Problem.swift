import HTTPTypes
import Reel

/// Why a request is not answered as it asked: an entry in `problems` of the answer, and a status.
struct Problem: Error, Hashable, Sendable, Codable {
  /// A rule of the policy that the video breaks.
  struct Violation: Hashable, Sendable, Codable {
    var rule: String
    var message: String
  }

  /// The HTTP status.
  var status: Int
  /// For programs; Reel's own code where Reel reports the problem.
  var code: String
  /// One sentence for people.
  var message: String
  /// The rules of a policy that the video breaks.
  var violations: [Violation]?
  /// Seconds after which the same request may succeed; nil where it never will.
  var retryAfter: Int?
  /// For the log alone; not encoded.
  var detail: String?
  /// What a protocol adds in headers; not encoded.
  var headers: HTTPFields = [:]

  private enum CodingKeys: CodingKey { case status, code, message, violations, retryAfter }

  init(
    _ status: HTTPResponse.Status, _ code: String, _ message: String, violations: [Violation]? = nil,
    retryAfter: Int? = nil
  ) {
    (self.status, self.code, self.message) = (status.code, code, message)
    (self.violations, self.retryAfter) = (violations, retryAfter)
  }

  static let noSuchUpload = Problem(.notFound, "notFound", "there is no such upload, or not any more")
  static let busy = Problem(
    .locked, "locked", "another request is working on this upload", retryAfter: 1)
  static let diskFull = Problem(
    .insufficientStorage, "storeFull", "there is no room for it on this server now", retryAfter: 60)
  static let noVideo = Problem.badRequest("there is no video in the request")
  static let shuttingDown = Problem(
    .serviceUnavailable, "unavailable", "the server is shutting down; continue when it is back", retryAfter: 5
  )

  static func tooLarge(_ most: Int64) -> Problem {
    Problem(.contentTooLarge, "tooLarge", "videos may have at most \(SizeText.text(most)) here")
  }

  static func standsElsewhere(_ offset: Int64, than asked: Int64) -> Problem {
    Problem(.conflict, "offset", "this upload is at offset \(offset), not \(asked)")
  }

  static func spent(_ status: HTTPResponse.Status) -> Problem {
    Problem(status, "spent", "this address was used for another upload: ask for another")
  }

  static func notAllowed(_ allowed: [HTTPRequest.Method]) -> Problem {
    let names = allowed.map(\.rawValue).joined(separator: ", ")
    var problem = Problem(.methodNotAllowed, "method", "this takes \(names)")
    // RFC 9110, 15.5.6.
    problem.headers = [.allow: names]
    return problem
  }

  static func badRequest(_ message: String) -> Problem { Problem(.badRequest, "badRequest", message) }
}

extension HTTPResponse.Status {
  /// RFC 4918, 11.3.
  static let locked = HTTPResponse.Status(code: 423, reasonPhrase: "Locked")
  /// RFC 4918, 11.5.
  static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
  /// tus 1.0, checksum.
  static let checksumMismatch = HTTPResponse.Status(code: 460, reasonPhrase: "Checksum Mismatch")
}
