import FoundationEssentials
import ReelCore

/// What a Google API says when it refuses (https://cloud.google.com/apis/design/errors#http_mapping): a canonical
/// status from Firestore, reasons from Cloud Storage.
struct GoogleFailure: Hashable, Sendable {
  /// Such as `ABORTED`; nil when nothing was said.
  let status: String?
  /// Such as `rateLimitExceeded`.
  let reasons: [String]
  /// For people; may be of any length and hold anything.
  let message: String?

  /// Reads a reply's body. Firestore's streams (`:batchGet`) put it into an array.
  init(_ reply: HTTPReply) {
    let body = Data(reply.body)
    let said =
      (try? JSONDecoder().decode(Body.self, from: body))
      ?? (try? JSONDecoder().decode([Body].self, from: body))?.first
    status = said?.error.status
    reasons = said?.error.errors?.compactMap(\.reason) ?? []
    message = said?.error.message
  }

  private struct Body: Decodable {
    struct Said: Decodable {
      struct Detail: Decodable {
        let reason: String?
      }
      let status: String?
      let message: String?
      let errors: [Detail]?
    }
    let error: Said
  }

  /// - Parameters:
  ///   - task: what was asked for, such as "store abc.mp4".
  ///   - permission: the role that allows it.
  ///   - now: this machine's clock.
  func error(
    _ reply: HTTPReply, store: Destination, task: String, permission: String, now: Date
  ) -> UploadError {
    let said = message.map { ": " + HTTPReply.oneLine($0) } ?? ""
    switch reply.status.code {
    case 401:
      return UploadError(
        .denied,
        "the store \(store) did not \(task) (401\(said)): it does not take the token; see the service account's key"
      )
    case 403 where reasons.contains { $0.lowercased().contains("ratelimit") }:
      return UploadError(
        .unavailable, "the store \(store) did not \(task) (403\(said)): it is asked too often",
        retryAfter: reply.retryAfter(now: now))
    case 403:
      return UploadError(
        .denied,
        "the store \(store) did not \(task) (403\(said)): give the service account the role \(permission)")
    default: return reply.failure(store: store, task: task, reason: message, now: now)
    }
  }
}
