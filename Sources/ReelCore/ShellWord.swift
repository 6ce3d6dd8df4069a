/// Names put into commands that a person may copy.
public enum ShellWord {
  /// `path` as one word for a POSIX shell, which takes it for a name and for nothing else; with control characters
  /// or bytes that are not UTF-8 it is bash's `$'…'`.
  public static func quoted(_ path: [UInt8]) -> String {
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
