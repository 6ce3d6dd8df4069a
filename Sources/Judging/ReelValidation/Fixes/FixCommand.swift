import ReelCore

/// Puts names into the commands that fix files, so that a shell takes them for names and for nothing else. They are there to
/// be pasted: no template removes or replaces a file.
enum FixCommand {
  /// - Parameters:
  ///   - template: `FILE` stands for the path (also with something behind a dot), `NAME` for it without its extension,
  ///     `OUT` for a new file beside it.
  ///   - claim: whether nothing has this name, and nothing else gets it.
  static func text(_ template: String, for path: SourcePath, claim: (SourcePath) -> Bool) -> String {
    let path = unmistakable(path.bytes)
    return template.split(separator: " ", omittingEmptySubsequences: false).map { word in
      if word == "FILE" || word.hasPrefix("FILE.") {
        return ShellWord.quoted(path + Array(word.dropFirst(4).utf8))
      }
      if word.hasPrefix("NAME.") { return ShellWord.quoted(stem(path) + Array(word.dropFirst(4).utf8)) }
      if word.hasPrefix("OUT.") {
        return ShellWord.quoted(output(of: path, String(word.dropFirst(3)), claim).bytes)
      }
      return String(word)
    }.joined(separator: " ")
  }

  /// The first of `a-mended.mp4`, `a.mkv-mended.mp4`, `a.mkv-mended-2.mp4`, … that is free.
  private static func output(
    of path: [UInt8], _ dotExtension: String, _ claim: (SourcePath) -> Bool
  ) -> SourcePath {
    func name(_ stem: [UInt8], _ end: String) -> SourcePath {
      SourcePath(bytes: stem + Array("-mended\(end)\(dotExtension)".utf8))
    }
    let short = name(stem(path), "")
    if claim(short) { return short }
    var (number, long) = (1, name(path, ""))
    while !claim(long), number < 1000 {
      number += 1
      long = name(path, "-\(number)")
    }
    return long
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
