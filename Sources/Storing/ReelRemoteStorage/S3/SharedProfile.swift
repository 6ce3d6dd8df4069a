import Glibc
import ReelCore

/// One of the two files that AWS's tools share (AWS, "Configuration and credential file settings"): sections in square
/// brackets, settings as `name = value`, comments after `#` or `;`. A line that is indented further than the setting
/// above it is nested in that setting.
struct SharedFile: Sendable {
  private var sections: [Section] = []

  private struct Section {
    /// The text in the brackets, split as a shell does.
    let words: [String]
    let name: String
    var settings = SharedProfile()
  }

  init(_ text: String) {
    var (depth, outer): (Int, String?) = (0, nil)
    // Some editors put a byte order mark at the beginning.
    for line in text.drop(while: { $0 == "\u{FEFF}" }).split(whereSeparator: \.isNewline) {
      if let name = Self.section(line) {
        sections.append(Section(words: Self.words(name), name: name))
        outer = nil
      } else if !sections.isEmpty, let (key, value) = Self.setting(line) {
        let indentation = line.prefix { $0.isWhitespace }.count
        let isInner = outer != nil && indentation > depth
        if !isInner { (depth, outer) = (indentation, key) }
        sections[sections.count - 1].settings.add(value, of: key, in: isInner ? outer : nil)
      }
    }
  }

  /// Returns a profile of the credentials file; nil if there is none of that name.
  func credentials(_ name: String) -> SharedProfile? { merged { $0.name == name || $0.words == [name] } }

  /// Returns a profile of the config file, whose sections are called `profile NAME`, except for `default`.
  func profile(_ name: String) -> SharedProfile? {
    merged { $0.words == ["profile", name] || name == "default" && $0.words == [name] }
  }

  /// Returns the section `services NAME` of the config file, to which profiles refer (AWS SDKs,
  /// "Service-specific endpoints").
  func services(_ name: String) -> SharedProfile? { merged { $0.words == ["services", name] } }

  private func merged(_ isIt: (Section) -> Bool) -> SharedProfile? {
    let found = sections.filter(isIt)
    return found.isEmpty ? nil : found.reduce(SharedProfile()) { $0.or($1.settings) }
  }

  private static func section(_ line: Substring) -> String? {
    let line = line.trimmingWhiteSpace()
    guard line.first == "[", let end = line.firstIndex(of: "]") else { return nil }
    return line[line.index(after: line.startIndex)..<end].trimmingWhiteSpace()
  }

  /// Splits text at white space that is not quoted; empty if a quotation mark is not closed.
  private static func words(_ text: String) -> [String] {
    var (words, word, quote, isEscaped): ([String], String?, Character?, Bool) = ([], nil, nil, false)
    for character in text {
      if isEscaped {
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if let mark = quote {
        if character == mark { quote = nil } else { word = (word ?? "") + String(character) }
      } else if character == "\"" || character == "'" {
        (quote, word) = (character, word ?? "")
      } else if character.isWhitespace {
        words += word.map { [$0] } ?? []
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    return quote == nil && !isEscaped ? words + (word.map { [$0] } ?? []) : []
  }

  private static func setting(_ line: Substring) -> (String, String)? {
    let bare = line.drop { $0.isWhitespace }
    guard let first = bare.first, first != "#", first != ";",
      let equals = bare.firstIndex(where: { $0 == "=" || $0 == ":" })
    else { return nil }
    let key = bare[..<equals].trimmingWhiteSpace().lowercased()
    return (key, withoutComment(bare[bare.index(after: equals)...]).trimmingWhiteSpace())
  }

  /// Removes a comment, which must be preceded by white space, as a secret may contain a #.
  private static func withoutComment(_ value: Substring) -> Substring {
    var before: Character = "="
    for index in value.indices {
      if value[index] == "#" || value[index] == ";", before == " " || before == "\t" {
        return value[..<index]
      }
      before = value[index]
    }
    return value
  }
}

/// The settings of a section.
struct SharedProfile: Sendable, Hashable {
  private struct Name: Hashable {
    let outer: String?
    let key: String
  }
  private var settings: [Name: String] = [:]

  /// The setting's value; nil if it is missing or empty.
  subscript(_ key: String) -> String? { value(Name(outer: nil, key: key)) }

  /// The value of a setting nested in another.
  subscript(_ outer: String, _ key: String) -> String? { value(Name(outer: outer, key: key)) }

  private func value(_ name: Name) -> String? { settings[name].flatMap { $0.isEmpty ? nil : $0 } }

  /// Adds a setting; the first of a name counts.
  fileprivate mutating func add(_ value: String, of key: String, in outer: String?) {
    let name = Name(outer: outer, key: key)
    if settings[name] == nil { settings[name] = value }
  }

  /// Returns these settings, with those of `other` that are missing here.
  func or(_ other: SharedProfile) -> SharedProfile {
    var both = self
    both.settings.merge(other.settings) { mine, _ in mine }
    return both
  }
}

/// Reads the small files that hold credentials.
struct CredentialFiles: Sendable {
  private let queue = BlockingQueue(label: "reel.s3-credentials", width: 1)

  /// Returns at most a mebibyte of the file; nil if it does not exist.
  func text(of path: String) async throws(SystemError) -> String? {
    try await queue.run { () throws(SystemError) in try Self.contents(of: path) }
  }

  private static func contents(of path: String) throws(SystemError) -> String? {
    let descriptor: Descriptor
    do throws(SystemError) {
      descriptor = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
    } catch  where error.code == ENOENT || error.code == ENOTDIR {
      return nil
    }
    return String(decoding: try descriptor.readToEnd(limit: 1 << 20), as: UTF8.self)
  }
}
