import CFFmpeg
import FoundationEssentials
import Glibc

/// The tags of a file or of a stream: text by name, both as the file has them.
struct Tags: Hashable {
  private let values: [String: String]

  /// Bytes of one value that are kept; a longer one is cut.
  static let longestValue = 4096
  /// Tags that are looked at.
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

  /// The texts of an AVI's `INFO` list, which FFmpeg takes for UTF-8.
  init(_ avi: AVIHeaders) {
    let names: [FourCharacterCode: String] = ["INAM": "title", "IART": "artist", "ICRD": "date"]
    var values: [String: String] = [:]
    for (name, key) in names {
      values[key] = avi.texts[name].flatMap { LegacyText.decode($0.bytes, isCut: $0.isCut) }
    }
    self.values = values
  }

  /// These, and those of `others` that are not among them.
  func joined(with others: Tags) -> Tags { Tags(values.merging(others.values) { own, _ in own }) }

  /// The first of `keys` (lower case) that has a value, blanks around it removed.
  func first(of keys: String...) -> String? {
    for key in keys {
      let trimmed = (values[key] ?? "").trimmed
      if !trimmed.isEmpty { return trimmed }
    }
    return nil
  }

  /// The moment that a camera noted; nil when it noted none.
  var recordingTime: Date? { values["com.apple.quicktime.creationdate"].flatMap(CreationTime.parse) }

  /// When it was recorded: what the camera noted as the moment, else when the file says that it was made.
  var creationTime: Date? {
    for key in ["com.apple.quicktime.creationdate", "creation_time", "date_recorded", "date"] {
      if let text = values[key], let time = CreationTime.parse(text) { return time }
    }
    return nil
  }

  /// Bytes of no coding that is known become replacement characters.
  private static func text(_ pointer: UnsafePointer<CChar>) -> String {
    let length = strnlen(pointer, longestValue + 1)
    let bytes = UnsafeRawBufferPointer(start: pointer, count: min(length, longestValue))
    return LegacyText.decode(bytes, isCut: length > longestValue) ?? String(decoding: bytes, as: UTF8.self)
  }
}

extension String {
  /// Without blanks and zeros around it.
  var trimmed: String {
    let blank: (Character) -> Bool = { $0.isWhitespace || $0 == "\0" }
    guard let first = firstIndex(where: { !blank($0) }), let last = lastIndex(where: { !blank($0) }) else {
      return ""
    }
    return String(self[first...last])
  }
}
