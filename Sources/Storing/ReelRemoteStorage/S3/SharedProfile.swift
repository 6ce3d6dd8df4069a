import Glibc
import ReelCore

/// The two files that AWS's tools share (AWS, "Configuration and credential file settings"): sections in square
/// brackets, settings as `name = value`, comments after `#` or `;`. A setting that is indented belongs to the one above
/// it: of interest only in a section of services.
struct SharedProfile: Sendable, Hashable {
  private var settings: [String: String] = [:]

  /// Nil when `text` has no section of that name.
  /// - Parameter isConfig: whether it is the config file, whose sections are called `profile NAME`, but for `default`.
  init?(_ name: String, in text: String, isConfig: Bool) {
    var isFound = false
    var isInside = false
    for line in text.split(whereSeparator: \.isNewline) {
      if let section = Self.section(line) {
        isInside = Self.names(section, name, isConfig)
        isFound = isFound || isInside
      } else if isInside, let (key, value) = Self.setting(line), settings[key] == nil {
        settings[key] = value
      }
    }
    guard isFound else { return nil }
  }

  /// The endpoint of S3 in the section `services NAME` of a config file, to which profiles refer (AWS SDKs,
  /// "Service-specific endpoints"); nil when there is none.
  static func endpoint(ofServices name: String, in text: String) -> String? {
    var (isInside, service) = (false, "")
    for line in text.split(whereSeparator: \.isNewline) {
      if let section = section(line) {
        isInside = section.split(whereSeparator: \.isWhitespace).elementsEqual(["services", name[...]])
      } else if isInside, let (key, _) = setting(line) {
        service = key
      } else if isInside, service == "s3", let (key, value) = setting(line.trimmingWhiteSpace()[...]),
        key == "endpoint_url", !value.isEmpty
      {
        return value
      }
    }
    return nil
  }

  /// The setting's value; nil when it is not there or empty.
  subscript(_ key: String) -> String? { settings[key].flatMap { $0.isEmpty ? nil : $0 } }

  private static func section(_ line: Substring) -> String? {
    let line = line.trimmingWhiteSpace()
    guard line.first == "[", let end = line.firstIndex(of: "]") else { return nil }
    return line[line.index(after: line.startIndex)..<end].trimmingWhiteSpace()
  }

  private static func names(_ section: String, _ name: String, _ isConfig: Bool) -> Bool {
    let words = section.split(whereSeparator: { $0 == " " || $0 == "\t" })
    if isConfig, name != "default" || words.count == 2 {
      return words.count == 2 && words[0] == "profile" && words[1] == name
    }
    return section == name
  }

  private static func setting(_ line: Substring) -> (String, String)? {
    guard let first = line.first, !first.isWhitespace, first != "#", first != ";",
      let equals = line.firstIndex(of: "=")
    else { return nil }
    let key = line[..<equals].trimmingWhiteSpace().lowercased()
    return (key, withoutComment(line[line.index(after: equals)...]).trimmingWhiteSpace())
  }

  /// Only a comment with white space before it is one: a secret may hold a #.
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

/// Reads the small files that credentials lie in.
struct CredentialFiles: Sendable {
  private let queue = BlockingQueue(label: "reel.s3-credentials", width: 1)

  /// Nil when there is no such file; at most a mebibyte of it.
  func text(of path: String) async throws(SystemError) -> String? {
    try await queue.run { () throws(SystemError) in try Self.contents(of: path) }
  }

  private static func contents(of path: String) throws(SystemError) -> String? {
    let descriptor: Descriptor
    do throws(SystemError) {
      descriptor = Descriptor(
        adopting: try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) })
    } catch  where error.code == ENOENT || error.code == ENOTDIR {
      return nil
    } catch {
      throw error
    }
    return String(decoding: try descriptor.readToEnd(limit: 1 << 20), as: UTF8.self)
  }
}
