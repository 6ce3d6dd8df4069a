import ReelCore

/// Names of files that are more likely something else: an option, an address, standard input, or a path that a shell
/// should have expanded.
enum MistakenPath {
  /// What it probably is, and what to do; nil if nothing suggests that it is not a file's name.
  static func told(_ text: String) -> String? {
    if text == "-" {
      return
        "Reel reads files, and not standard input: write it to a file first (./- for a file of that name)"
    }
    if let option = option(text) {
      return
        "\(text) begins with another dash than -, as word processors and web pages write it; did you mean \(option)?"
    }
    if let problem = ShellWord.unexpandedHome(in: text) { return "there is no file \(text): \(problem)" }
    return address(text)
  }

  /// Whether a folder's place is written as an address, `scheme://…`.
  static func isAddress(_ text: String) -> Bool {
    text.prefixMatch(of: /[A-Za-z][A-Za-z0-9+.-]*:\/\//) != nil
  }

  /// The option that was meant by a word that begins with a typographic dash, as in `—dry-run`.
  private static func option(_ text: String) -> String? {
    let name = text.drop { $0 == "-" || dashes.contains($0) }
    guard text[..<name.startIndex].contains(where: dashes.contains), name.first?.isLetter == true else {
      return nil
    }
    return (name.prefix { $0 != "=" }.count == 1 ? "-" : "--") + name
  }

  /// Hyphens and dashes of Unicode, and the minus.
  private static let dashes: Set<Character> = [
    "\u{2010}", "\u{2011}", "\u{2012}", "\u{2013}", "\u{2014}", "\u{2015}", "\u{2212}", "\u{FE58}",
    "\u{FE63}", "\u{FF0D}",
  ]

  /// `s3:/bucket/name`, `file:///srv/clip.mp4`, `ftp://host/clip.mp4`: an address that lacks a slash, or that Reel does
  /// not read.
  private static func address(_ text: String) -> String? {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let (scheme, rest) = (text[..<colon].lowercased(), text[text.index(after: colon)...])
    switch scheme {
    case "s3":
      return "there is no file \(text); an address has two slashes after the colon: s3://bucket/name"
    case "http", "https":
      // It may hold a password.
      return "there is no file \(scheme):…; an address has two slashes after the colon: \(scheme)://host/name"
    case "file" where rest.hasPrefix("///"):
      guard let path = PercentEncoding.decode(rest.dropFirst(2)) else { return nil }
      return "there is no file \(text); write its path: \(ShellWord.quoted(Array(path.utf8)))"
    default:
      guard isAddress(text) else { return nil }
      return
        "there is no file \(scheme)://…; Reel takes paths, and addresses that begin with s3://, https:// or http://"
    }
  }
}
