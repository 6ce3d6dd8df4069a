import FoundationEssentials
import Reel

/// An event of a post on its way to a webhook. Its file's name says all of it but the body.
struct OutgoingEvent: Hashable, Sendable {
  /// The order in which events go, and about when it was added: microseconds since 1970.
  let number: Int64
  /// Such as `post.published`.
  let type: String
  let post: String

  /// Of one post there is one first event, however often it is told; of others there may be many.
  var id: String {
    let name = "\(type.replacing(".", with: "_"))_\(post)"
    return type == Self.published ? name : "\(name)_\(number)"
  }

  var addedAt: Date { Date(timeIntervalSince1970: Double(number) / 1_000_000) }

  private static let published = "post.published"
  /// 2262 has as many digits.
  private static let digits = 16

  var fileName: String {
    let number = String(number)
    return String(repeating: "0", count: max(0, Self.digits - number.count))
      + "\(number)_\(type)_\(post).json"
  }

  init(number: Int64, type: String, post: PostID) {
    (self.number, self.type, self.post) = (number, type, post.description)
  }

  init?(fileName: String) {
    let parts = fileName.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 3, fileName.hasSuffix(".json"), let number = Int64(parts[0]), number >= 0,
      !parts[1].isEmpty
    else { return nil }
    (self.number, type, post) = (number, String(parts[1]), String(parts[2].dropLast(".json".count)))
  }
}

extension IngestEvent {
  /// The post that it is about; nil for what is about a run or a file.
  var post: Post? {
    switch body {
    case .postPublished(_, let post), .postRestored(let post): post
    case .postRemoved(let removed): removed.post
    case .postEdited(let edited): edited.post
    case .postMoved(let moved): moved.post
    default: nil
    }
  }
}

extension IngestEvent {
  /// The same without the path of the upload, which is good for asking for it: in its place is the name of the video.
  var withoutUpload: IngestEvent {
    guard case .postPublished(let file, let post) = body else { return self }
    let named = FileReference(number: file.number, path: SourcePath(post.video.rawValue))
    return IngestEvent(sequence: sequence, at: at, body: .postPublished(named, post))
  }
}

/// What a webhook is sent: the event as `reel --events` writes it, in the frame of Standard Webhooks.
struct WebhookBody: Encodable {
  let type: String
  let timestamp: Date
  let data: IngestEvent

  private enum CodingKeys: CodingKey { case type, timestamp, data }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(type, forKey: .type)
    try container.encode(
      timestamp.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)), forKey: .timestamp)
    try container.encode(data, forKey: .data)
  }
}
