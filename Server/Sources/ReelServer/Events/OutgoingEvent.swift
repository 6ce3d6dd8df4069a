import FoundationEssentials
import Reel

/// An event of a post on its way to a webhook. Its file name holds all of it but the body.
struct OutgoingEvent: Hashable, Sendable {
  /// The place in the order of events, and about when it was added: in microseconds since 1970.
  let number: Int64
  /// Such as `post.published`.
  let type: String
  let post: String

  /// The id for the receiver. A post has one event of its publication, however often it is sent; it may have many
  /// others.
  var id: String {
    let name = "\(type.replacing(".", with: "_"))_\(post)"
    return type == Self.published ? name : "\(name)_\(number)"
  }

  var addedAt: Date { Date(timeIntervalSince1970: Double(number) / 1_000_000) }

  private static let published = "post.published"
  /// Enough digits for the year 2262.
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
  /// The post that the event is about; nil for an event of a run or a file.
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
  /// The same event without the path of the upload, which would let its reader ask for it. The video's name takes its
  /// place.
  var withoutUpload: IngestEvent {
    guard case .postPublished(let file, let post) = body else { return self }
    let named = FileReference(number: file.number, path: SourcePath(post.video.rawValue))
    return IngestEvent(sequence: sequence, at: at, body: .postPublished(named, post))
  }
}

/// The body sent to a webhook: the event as `reel --events` writes it, in the frame of Standard Webhooks.
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
