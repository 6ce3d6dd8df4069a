import FoundationEssentials
import ReelCore

/// What an adapter is asked: one line of JSON on its standard input (docs/command-uploader.md).
struct AdapterRequest: Encodable, Sendable {
  /// What it is to do.
  enum Verb: String, Encodable, Sendable, CaseIterable {
    case prepare, upload, find, remove, readBack
  }
  /// The version of the protocol that we speak.
  static let version = 1

  let verb: Verb
  var store: String?
  var key: ObjectKey?
  var size: Int64?
  var digest: ContentDigest?
  var contentType: String?
  /// Bytes per second that the user allows this upload.
  var limitRate: Int64?

  private enum CodingKeys: String, CodingKey {
    case `protocol`, verb, store, key, size, digest, contentType, limitRate
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.version, forKey: .protocol)
    try container.encode(verb, forKey: .verb)
    try container.encodeIfPresent(store, forKey: .store)
    try container.encodeIfPresent(key, forKey: .key)
    try container.encodeIfPresent(size, forKey: .size)
    try container.encodeIfPresent(digest, forKey: .digest)
    try container.encodeIfPresent(contentType, forKey: .contentType)
    try container.encodeIfPresent(limitRate, forKey: .limitRate)
  }

  /// One line, without a space, its keys sorted, ended by a newline.
  func line() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
  }

  /// The answer to `staged`: make the object visible now.
  static let commit = Array("{\"commit\":true}\n".utf8)
}
