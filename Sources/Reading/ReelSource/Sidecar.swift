import FoundationEssentials
import Glibc
import ReelCore

/// What `clip.json` beside `clip.mp4` says about it: `caption`, `music`, `author` and `authorName`, each a string or
/// null.
///
/// Its name is the video's with the extension replaced (or added if there is none); `clip.mp4.json` is not a sidecar.
/// It comes from the same untrusted person as its video, so it is opened like one, through no link, and at most
/// ``largest`` bytes are read. Unknown keys are ignored.
public enum Sidecar {
  /// The largest size of a sidecar in bytes.
  public static let largest = 64 * 1024

  /// Returns what the sidecar beside `file` says, or nil if there is none. Blocks.
  ///
  /// - Parameter trustAuthor: whether the author that it names counts (`--trust-sidecars`); otherwise the author is
  ///   left out.
  /// - Throws: `sidecarInvalid` if there is one but it can't be used; the message says why.
  public static func metadata(beside file: FoundFile, trustAuthor: Bool) throws(SourceError) -> PostMetadata?
  {
    try contents(beside: file, trustAuthor: trustAuthor)?.metadata
  }

  /// Everything in a sidecar.
  package struct Contents: Hashable, Sendable {
    package var metadata: PostMetadata
    /// The keys that mean nothing, sorted: perhaps misspellings of ``keys``.
    package let unknownKeys: [String]
  }

  /// As ``metadata(beside:trustAuthor:)``, together with the unknown keys.
  package static func contents(beside file: FoundFile, trustAuthor: Bool) throws(SourceError) -> Contents? {
    guard let bytes = try read(beside: file) else { return nil }
    var contents = try contents(in: bytes)
    if !trustAuthor { (contents.metadata.authorID, contents.metadata.authorName) = (nil, nil) }
    return contents
  }

  /// When the sidecar beside `file` was last modified; nil if there is none, or if that can't be determined. Blocks.
  package static func changed(beside file: FoundFile) -> Date? {
    guard case .local(let directory, _) = file.origin,
      let name = name(beside: file.path.lastComponent.bytes, in: directory),
      let status = try? directory.status(of: name)
    else { return nil }
    return Date(timeIntervalSince1970: Double(status.identity.modifiedAt) / 1e9)
  }

  /// The keys that a sidecar may have.
  package static let keys = Document.CodingKeys.allCases.map(\.rawValue)

  /// Whether the bytes are a JSON object with only a sidecar's keys. That distinguishes a sidecar from other JSON files
  /// if there is no video beside it.
  package static func isOne(_ bytes: [UInt8]) -> Bool {
    // The first key rules out most other files, of which a folder may hold many.
    let text = bytes.starts(with: "\u{FEFF}".utf8) ? bytes.dropFirst(3) : bytes[...]
    let beginning = text.prefix(256).filter { $0 > 0x20 }
    guard keys.contains(where: { beginning.starts(with: "{\"\($0)\"".utf8) }) else { return false }
    let found = (try? JSONDecoder().decode(Keys.self, from: Data(bytes)))?.names ?? []
    return !found.isEmpty && Set(found).isSubset(of: keys)
  }

  /// Returns the name of the sidecar of `video` in `directory`: ``name(for:)``, or else the only name that prints
  /// alike, except for the letter case of its extension. Returns nil if there is none. Blocks.
  /// - Throws: `sidecarInvalid` if several print alike; the error if this can't be determined.
  static func find(for video: [UInt8], in directory: DirectoryHandle) throws(SourceError) -> [UInt8]? {
    let exact = name(for: video)
    guard exact != video else { return nil }
    if try directory.has(exact) { return exact }
    let alike: [[UInt8]]
    if exact.allSatisfy({ $0 < 0x80 }) {
      let stem = Array(exact.dropLast(4))
      var found: [[UInt8]] = []
      for letters in ["JSON", "Json"] {
        let name = stem + Array(letters.utf8)
        if try directory.has(name) { found.append(name) }
      }
      alike = found
    } else {
      do throws(SourceError) {
        alike = try directory.sidecars(alike: exact)
      } catch {
        // In a folder whose files may be opened but not listed, only the exact name can be found.
        guard error.code == .denied else { throw error }
        alike = []
      }
    }
    let others = alike.filter { $0 != video }
    guard others.count <= 1 else {
      let names = others.map { SourcePath(bytes: $0).text }.sorted().joined(separator: ", ")
      throw SourceError(
        .sidecarInvalid, "several files beside it may be its sidecar (\(names)); keep the one that is meant")
    }
    return others.first
  }

  /// As ``find(for:in:)``, but also nil if several print alike, or if this can't be determined. Blocks.
  static func name(beside video: [UInt8], in directory: DirectoryHandle) -> [UInt8]? {
    (try? find(for: video, in: directory)) ?? nil
  }

  /// Whether `name` may be a sidecar's, in any letter case.
  static func isName(_ name: [UInt8]) -> Bool {
    name.count > 5 && name.suffix(5).map { $0 | 0x20 }.elementsEqual(".json".utf8)
  }

  /// The name that is looked for first.
  static func name(for video: [UInt8]) -> [UInt8] {
    let dot = video.lastIndex(of: UInt8(ascii: ".")) ?? 0
    return (dot > 0 ? Array(video[..<dot]) : video) + Array(".json".utf8)
  }

  private static func read(beside file: FoundFile) throws(SourceError) -> [UInt8]? {
    do throws(SourceError) {
      let bytes: [UInt8]
      switch file.origin {
      case .local(let directory, _):
        guard let name = try find(for: file.path.lastComponent.bytes, in: directory) else { return nil }
        bytes = try directory.find(name).openRegular().head(largest + 1)
      case .remote(let origin):
        guard let found = try origin.sidecar() else { return nil }
        bytes = found
      }
      guard bytes.count <= largest else { throw invalid("is larger than 64 KB") }
      return bytes
    } catch {
      // A name that became too long by adding `.json` belongs to no file.
      guard error.code != .notFound, error.code != .invalidName else { return nil }
      // Not the sidecar's fault.
      if [.tooManyOpenFiles, .unreadable, .sidecarInvalid].contains(error.code) { throw error }
      throw invalid("can't be read: " + error.text)
    }
  }

  /// - Throws: `sidecarInvalid`.
  private static func contents(in bytes: [UInt8]) throws(SourceError) -> Contents {
    // `JSONDecoder` takes bytes with zeros for UTF-16 or UTF-32.
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
      throw invalid("is not UTF-8; save it as UTF-8")
    }
    let content: Document
    do {
      content = try JSONDecoder().decode(Document.self, from: Data(bytes))
    } catch DecodingError.typeMismatch(_, let context) {
      throw invalid(ErrorMessage(wrongType(at: context.codingPath)))
    } catch {
      throw invalid("is not valid JSON; check its quotes, commas and brackets")
    }
    if let key = RepeatedKey.first(in: bytes) {
      throw invalid("has the key \"\(key)\" twice; leave one out")
    }
    return Contents(
      metadata: PostMetadata(
        authorID: said(content.author), authorName: said(content.authorName),
        caption: said(content.caption), music: said(content.music)),
      unknownKeys: content.keys.filter { !keys.contains($0) }.sorted())
  }

  private struct Document: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
      case caption, music, author, authorName
    }
    let caption: String?
    let music: String?
    let author: String?
    let authorName: String?
    /// All keys that are present.
    let keys: [String]

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      caption = try container.decodeIfPresent(String.self, forKey: .caption)
      music = try container.decodeIfPresent(String.self, forKey: .music)
      author = try container.decodeIfPresent(String.self, forKey: .author)
      authorName = try container.decodeIfPresent(String.self, forKey: .authorName)
      keys = try Keys(from: decoder).names
    }
  }

  private struct Keys: Decodable {
    private struct Name: CodingKey {
      let stringValue: String
      let intValue: Int? = nil
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    let names: [String]

    init(from decoder: any Decoder) throws {
      names = try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue)
    }
  }

  /// Returns nil for words of which nothing is seen: white space, marks of a direction, a byte order mark.
  static func said(_ words: String?) -> String? {
    let isBlank = words?.unicodeScalars.allSatisfy {
      $0.properties.isWhitespace || $0.properties.generalCategory == .format
    }
    return isBlank == true ? nil : words
  }

  private static func wrongType(at path: [any CodingKey]) -> String {
    guard let key = path.last?.stringValue else {
      return #"is not a JSON object; it should look like {"caption": "…"}"#
    }
    return "has a value at \"\(key)\" that is not a string; put it in quotes, or leave the key out"
  }

  private static func invalid(_ problem: ErrorMessage) -> SourceError {
    SourceError(.sidecarInvalid, "its sidecar (the .json file of the same name beside it) " + problem)
  }
}

/// Finds a repeated key. JSON leaves open which of two values of a key counts (RFC 8259, section 4), and `JSONDecoder`
/// does not report that there are two.
private enum RepeatedKey {
  /// - Parameter json: a well-formed object.
  static func first(in json: [UInt8]) -> String? {
    var (seen, depth, isKey): (Set<String>, Int, Bool) = ([], 0, false)
    var position = 0
    while position < json.count {
      switch json[position] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        isKey = depth == 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ","): isKey = depth == 1
      case UInt8(ascii: "\""):
        let start = position
        position += 1
        while position < json.count, json[position] != UInt8(ascii: "\"") {
          position += json[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        if isKey, position < json.count,
          let key = try? JSONDecoder().decode(String.self, from: Data(json[start...position]))
        {
          guard seen.insert(key).inserted else { return key }
        }
        isKey = false
      default: break
      }
      position += 1
    }
    return nil
  }
}
