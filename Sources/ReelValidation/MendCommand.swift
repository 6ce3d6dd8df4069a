import ReelModel

/// Puts names into the commands that mend files, so that a shell takes them for names and for nothing else.
enum MendCommand {
  /// - Parameter template: `FILE` stands for the path, `NAME` for it without its extension, `OUT` for that and
  ///   `-mended`.
  static func text(_ template: String, for path: SourcePath) -> String {
    template.split(separator: " ", omittingEmptySubsequences: false).map { word in
      if word == "FILE" { return quoted(path.bytes) }
      if word.hasPrefix("NAME.") { return quoted(stem(path.bytes) + Array(word.dropFirst(4).utf8)) }
      if word.hasPrefix("OUT.") {
        return quoted(stem(path.bytes) + Array("-mended\(word.dropFirst(3))".utf8))
      }
      return String(word)
    }.joined(separator: " ")
  }

  private static func stem(_ path: [UInt8]) -> [UInt8] {
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > name else { return path }
    return Array(path[..<dot])
  }

  /// One word for a POSIX shell; for one with control characters or bytes that are no UTF-8 bash's `$'…'`.
  static func quoted(_ path: [UInt8]) -> String {
    let path = path.first == UInt8(ascii: "-") ? Array("./".utf8) + path : path
    if !path.isEmpty, path.allSatisfy(isPlain) { return String(decoding: path, as: UTF8.self) }
    if path.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), let text = String(validating: path, as: UTF8.self) {
      return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
        + "'"
    }
    return "$'" + path.map(escaped).joined() + "'"
  }

  private static func escaped(_ byte: UInt8) -> String {
    if isPlain(byte) || byte == UInt8(ascii: " ") { return String(UnicodeScalar(byte)) }
    let digits = String(byte, radix: 16)
    return #"\x"# + (digits.count == 1 ? "0" : "") + digits
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "/._-+,=@%".utf8.contains(byte)
    }
  }
}
