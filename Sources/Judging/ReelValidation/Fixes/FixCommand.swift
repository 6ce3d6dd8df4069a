import ReelCore

/// Inserts names into the commands that fix files, so that a shell takes them for names and nothing else. The commands
/// are meant to be pasted, so no template removes or replaces a file.
enum FixCommand {
  /// - Parameters:
  ///   - template: `FILE` stands for the path; followed by a dot and more, for a new name that begins with the path.
  ///     `NAME` stands for a name without the extension, `OUT` for a new file beside it.
  ///   - claim: whether the name may be used: no file has it, and no other command gets it.
  static func text(_ template: String, for path: SourcePath, claim: (SourcePath) -> Bool) -> String {
    let path = unmistakable(path.bytes)
    return template.split(separator: " ", omittingEmptySubsequences: false).map { word in
      let mended = Array("-mended".utf8)
      let (name, end) = (word.prefix { $0 != "." }, word.drop { $0 != "." })
      switch name {
      case "FILE" where end.isEmpty: return ShellWord.quoted(path)
      case "FILE" where !end.isEmpty: return ShellWord.quoted(firstFree(path, path, end, claim))
      case "NAME" where !end.isEmpty: return ShellWord.quoted(firstFree(stem(path), path, end, claim))
      case "OUT" where !end.isEmpty:
        return ShellWord.quoted(firstFree(stem(path) + mended, path + mended, end, claim))
      default: return String(word)
      }
    }.joined(separator: " ")
  }

  /// Returns the first of `a-mended.mp4`, `a.mkv-mended.mp4`, `a.mkv-mended-2.mp4`, … that is free.
  /// - Parameters:
  ///   - short: the beginning of the first of these names.
  ///   - long: the beginning of the others.
  ///   - end: what follows, with its dot.
  private static func firstFree(
    _ short: [UInt8], _ long: [UInt8], _ end: Substring, _ claim: (SourcePath) -> Bool
  ) -> [UInt8] {
    let first = short + Array(end.utf8)
    if claim(SourcePath(bytes: first)) { return first }
    var (number, name) = (1, long + Array(end.utf8))
    while !claim(SourcePath(bytes: name)), number < 1000 {
      number += 1
      name = long + Array("-\(number)\(end)".utf8)
    }
    return name
  }

  /// Adds `./` to a path with a colon: ffmpeg and Reel take what precedes a colon for a protocol, so `concat:a|b` would
  /// be two other files.
  private static func unmistakable(_ path: [UInt8]) -> [UInt8] {
    path.prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: ":")) ? Array("./".utf8) + path : path
  }

  private static func stem(_ path: [UInt8]) -> [UInt8] {
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > name else { return path }
    return Array(path[..<dot])
  }
}
