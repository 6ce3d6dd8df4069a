import ReelCore

/// Puts names into the commands that fix files, so that a shell takes them for names and for nothing else. They are there to
/// be pasted: no template removes or replaces a file.
enum FixCommand {
  /// - Parameter template: `FILE` stands for the path (also with something behind a dot), `NAME` for it without its extension, `OUT` for that and
  ///   `-mended`.
  static func text(_ template: String, for path: SourcePath) -> String {
    template.split(separator: " ", omittingEmptySubsequences: false).map { word in
      if word == "FILE" || word.hasPrefix("FILE.") {
        return ShellWord.quoted(path.bytes + Array(word.dropFirst(4).utf8))
      }
      if word.hasPrefix("NAME.") { return ShellWord.quoted(stem(path.bytes) + Array(word.dropFirst(4).utf8)) }
      if word.hasPrefix("OUT.") {
        return ShellWord.quoted(stem(path.bytes) + Array("-mended\(word.dropFirst(3))".utf8))
      }
      return String(word)
    }.joined(separator: " ")
  }

  private static func stem(_ path: [UInt8]) -> [UInt8] {
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > name else { return path }
    return Array(path[..<dot])
  }
}
