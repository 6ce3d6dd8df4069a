import FoundationEssentials
import ReelCore

/// A value of a document (https://firebase.google.com/docs/firestore/reference/rest/v1/Value): an object with one key.
indirect enum FirestoreValue: Hashable, Sendable {
  case null
  /// A string of digits in JSON: it has 64 bits.
  case integer(Int64)
  case double(Double)
  case timestamp(Date)
  case string(String)
  case map([String: FirestoreValue])
  case array([FirestoreValue])
  /// Of a kind that Reel reads nowhere.
  case other

  /// Nil for what is not an integer.
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  /// Nil for what is not a string.
  var string: String? { if case .string(let text) = self { text } else { nil } }

  /// Null for nil.
  static func text(_ text: String?) -> FirestoreValue { text.map { .string($0) } ?? .null }
  /// Null for nil.
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
      // NaN and the infinities are strings.
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
    // RFC 3339, such as 2026-11-21T20:15:58.123Z, rounded: the style cuts off.
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

/// A post as a document of the collection `Post`: the keys are those of its JSON, which the feed apps read.
enum PostDocument {
  /// Every field but `sourceName`, which is not for every reader of the feed; what is unknown as null. `pageNumber` is
  /// the place in this store's feed.
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

  /// The fields of `post` that those of `earlier` differ from, but for its place; all of them when that is nil.
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
