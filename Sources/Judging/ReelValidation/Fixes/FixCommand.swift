import ReelCore

/// Puts names into the commands that fix files, so that a shell takes them for names and for nothing else. They are there to
/// be pasted: no template removes or replaces a file.
enum FixCommand {
  /// - Parameter template: `FILE` stands for the path (also with something behind a dot), `NAME` for it without its extension, `OUT` for that and
  ///   `-mended`.
  static func text(_ template: String, for path: SourcePath) -> String {
    let path = unmistakable(path.bytes)
    return template.split(separator: " ", omittingEmptySubsequences: false).map { word in
      if word == "FILE" || word.hasPrefix("FILE.") {
        return ShellWord.quoted(path + Array(word.dropFirst(4).utf8))
      }
      if word.hasPrefix("NAME.") { return ShellWord.quoted(stem(path) + Array(word.dropFirst(4).utf8)) }
      if word.hasPrefix("OUT.") {
        return ShellWord.quoted(stem(path) + Array("-mended\(word.dropFirst(3))".utf8))
      }
      return String(word)
    }.joined(separator: " ")
  }

  /// What stands before a colon is a protocol to ffmpeg, and to Reel: `concat:a|b` would be two other files.
  private static func unmistakable(_ path: [UInt8]) -> [UInt8] {
    path.prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: ":")) ? Array("./".utf8) + path : path
  }

  private static func stem(_ path: [UInt8]) -> [UInt8] {
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > name else { return path }
    return Array(path[..<dot])
  }
}
