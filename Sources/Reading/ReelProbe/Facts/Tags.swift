import CFFmpeg
import FoundationEssentials
import Glibc

/// The tags of a file or of a stream: texts by their names in lower case.
struct Tags: Hashable {
  private let values: [String: String]

  /// The most bytes of one value; a longer one is cut.
  static let longestValue = 4096
  /// The most tags to look at.
  static let mostTags = 1024

  init(_ values: [String: String]) {
    self.values = values
  }

  init(_ dictionary: OpaquePointer?) {
    var values: [String: String] = [:]
    var entry = av_dict_get(dictionary, "", nil, AV_DICT_IGNORE_SUFFIX)
    while let found = entry, values.count < Self.mostTags {
      if let key = found.pointee.key, let value = found.pointee.value {
        values[Self.text(key).lowercased()] = Self.text(value)
      }
      entry = av_dict_get(dictionary, "", found, AV_DICT_IGNORE_SUFFIX)
    }
    self.values = values
  }

  /// Reads the texts of an AVI's `INFO` list, which FFmpeg takes for UTF-8.
  init(_ avi: AVIHeaders) {
    let names: [FourCharacterCode: String] = ["INAM": "title", "IART": "artist", "ICRD": "date"]
    var values: [String: String] = [:]
    for (name, key) in names {
      values[key] = avi.texts[name].flatMap { LegacyText.decode($0.bytes, isCut: $0.isCut) }
    }
    self.values = values
  }

  /// Returns these tags, and those of `others` whose names are not among them.
  func joined(with others: Tags) -> Tags { Tags(values.merging(others.values) { own, _ in own }) }

  /// Returns the value of the first of `keys` (lower case) that has one, without blanks around it.
  func first(of keys: String...) -> String? {
    for key in keys {
      let trimmed = (values[key] ?? "").trimmed
      if !trimmed.isEmpty { return trimmed }
    }
    return nil
  }

  /// The moment that a camera noted; nil when it noted none.
  var recordingTime: Date? { values["com.apple.quicktime.creationdate"].flatMap(CreationTime.parse) }

  /// When it was recorded: the moment that the camera noted, otherwise the creation time that the file states.
  var creationTime: Date? {
    for key in ["com.apple.quicktime.creationdate", "creation_time", "date_recorded", "date"] {
      if let text = values[key], let time = CreationTime.parse(text) { return time }
    }
    return nil
  }

  /// Decodes a text; bytes in no known encoding become replacement characters.
  private static func text(_ pointer: UnsafePointer<CChar>) -> String {
    let length = strnlen(pointer, longestValue + 1)
    let bytes = UnsafeRawBufferPointer(start: pointer, count: min(length, longestValue))
    return LegacyText.decode(bytes, isCut: length > longestValue) ?? String(decoding: bytes, as: UTF8.self)
  }
}

extension String {
  /// The string without blanks and zeros around it.
  var trimmed: String {
    let blank: (Character) -> Bool = { $0.isWhitespace || $0 == "\0" }
    guard let first = firstIndex(where: { !blank($0) }), let last = lastIndex(where: { !blank($0) }) else {
      return ""
    }
    return String(self[first...last])
  }
}
