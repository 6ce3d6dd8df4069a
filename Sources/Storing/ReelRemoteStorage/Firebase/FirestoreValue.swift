import FoundationEssentials
import ReelCore

/// A value of a document (https://firebase.google.com/docs/firestore/reference/rest/v1/Value): an object with one key.
indirect enum FirestoreValue: Hashable, Sendable {
  case null
  /// In JSON a string of digits, as it has 64 bits.
  case integer(Int64)
  case double(Double)
  case timestamp(Date)
  case string(String)
  case map([String: FirestoreValue])
  case array([FirestoreValue])
  /// A value of a kind that Reel does not read.
  case other

  /// The integer; nil for other values.
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  /// The string; nil for other values.
  var string: String? { if case .string(let text) = self { text } else { nil } }

  /// Returns a string, or null for nil.
  static func text(_ text: String?) -> FirestoreValue { text.map { .string($0) } ?? .null }
  /// Returns an integer, or null for nil.
  static func number(_ number: Int?) -> FirestoreValue { number.map { .integer(Int64($0)) } ?? .null }
}

extension FirestoreValue: Codable {
  private enum Key: String, CodingKey {
    case nullValue, integerValue, doubleValue, timestampValue, stringValue, mapValue, arrayValue
  }
  private struct Map: Codable {
    let fields: [String: FirestoreValue]?
  }
  private struct List: Codable {
    let values: [FirestoreValue]?
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    switch container.allKeys.first {
    case .nullValue: self = .null
    case .integerValue:
      self = Int64(try container.decode(String.self, forKey: .integerValue)).map { .integer($0) } ?? .other
    case .doubleValue:
      // NaN and the infinities are written as strings.
      self = (try? container.decode(Double.self, forKey: .doubleValue)).map { .double($0) } ?? .other
    case .stringValue: self = .string(try container.decode(String.self, forKey: .stringValue))
    case .arrayValue: self = .array(try container.decode(List.self, forKey: .arrayValue).values ?? [])
    case .mapValue: self = .map(try container.decode(Map.self, forKey: .mapValue).fields ?? [:])
    case .timestampValue, nil: self = .other
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch self {
    case .null, .other: try container.encodeNil(forKey: .nullValue)
    case .integer(let number): try container.encode(String(number), forKey: .integerValue)
    case .double(let number): try container.encode(number, forKey: .doubleValue)
    // RFC 3339, such as 2026-11-21T20:15:58.123Z. Rounded here, as the format style truncates.
    case .timestamp(let date):
      try container.encode(
        date.addingTimeInterval(0.0005).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
        forKey: .timestampValue)
    case .string(let text): try container.encode(text, forKey: .stringValue)
    case .array(let values): try container.encode(List(values: values), forKey: .arrayValue)
    case .map(let fields): try container.encode(Map(fields: fields), forKey: .mapValue)
    }
  }
}

/// A post as a document of the collection `Post`. The keys are those of its JSON, which the feed apps read.
enum PostDocument {
  /// Returns every field except `sourceName`, which is not meant for every reader of the feed; unknown ones are null.
  /// `pageNumber` is the post's number in this store's feed.
  static func fields(of post: Post, pageNumber: Int) -> [String: FirestoreValue] {
    [
      "id": .string(post.id.description), "video": .string(post.video.rawValue),
      "videoURL": .string(post.videoURL), "videoFileExtension": .string(post.videoFileExtension),
      "videoHeight": .number(post.videoHeight), "videoWidth": .number(post.videoWidth),
      "videoCodec": .text(post.videoCodec),
      "author": .text(post.authorID), "autherName": .text(post.authorName),
      "caption": .text(post.caption), "music": .text(post.music),
      "likeCount": .number(post.likeCount), "shareCount": .number(post.shareCount),
      "commentID": .text(post.commentID),
      "duration": post.duration.map { .double($0) } ?? .null, "contentType": .text(post.contentType),
      "digest": .text(post.digest.map(\.description)), "size": post.size.map { .integer($0) } ?? .null,
      "createdAt": post.createdAt.map { .timestamp($0) } ?? .null, "pageNumber": .number(pageNumber),
      "probe": post.probe.map(value) ?? .null,
      "mended": post.mended.map { .array($0.map { .string($0) }) } ?? .null,
    ].merging(posterFields(of: post)) { first, _ in first }
  }

  /// Returns the fields of `post` that differ from those of `earlier`, except its number; all of them if `earlier`
  /// is nil.
  static func changes(from earlier: Post?, to post: Post) -> [String: FirestoreValue] {
    let before = earlier.map { fields(of: $0, pageNumber: 0) } ?? [:]
    var changes = fields(of: post, pageNumber: 0).filter { before[$0.key] != $0.value }
    changes["pageNumber"] = nil
    return changes
  }

  static func posterFields(of post: Post) -> [String: FirestoreValue] {
    [
      "poster": .text(post.poster?.rawValue), "posterURL": .text(post.posterURL),
      "posterWidth": .number(post.posterWidth), "posterHeight": .number(post.posterHeight),
      "blurHash": .text(post.blurHash),
    ]
  }

  private static func value(_ probe: ProbeProvenance) -> FirestoreValue {
    .map([
      "method": .string(probe.method.rawValue), "isolation": .string(probe.isolation.rawValue),
      "ffmpeg": .string(probe.ffmpeg),
    ])
  }
}
