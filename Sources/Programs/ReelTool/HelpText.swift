/// Changes to the help that the argument parser writes for a command.
enum HelpText {
  /// Puts a command's own options first, or right after the most common ones. The parser puts them after those that
  /// many commands share.
  static func ownFirst(_ help: String) -> String {
    var sections: [[Substring]] = [[]]
    for line in help.split(separator: "\n", omittingEmptySubsequences: false) {
      if isTitle(line) { sections.append([]) }
      sections[sections.count - 1].append(line)
    }
    guard let own = sections.firstIndex(where: { $0.first == "OPTIONS:" }),
      let first = sections.firstIndex(where: { $0.first.map { isTitle($0) && !isIntroduction($0) } ?? false }
      ),
      first < own
    else { return help }
    var moved = sections.remove(at: own)
    // Every section but the last ends with an empty line.
    while moved.last == "" { moved.removeLast() }
    moved.append("")
    if own == sections.count, sections[own - 1].last == "" { sections[own - 1].removeLast() }
    sections.insert(moved, at: sections[first].first == "COMMON:" ? first + 1 : first)
    return sections.joined().joined(separator: "\n")
  }

  private static func isTitle(_ line: Substring) -> Bool {
    line.hasSuffix(":") && line.first.map { $0.isUppercase } == true && !line.contains { $0.isLowercase }
  }

  private static func isIntroduction(_ title: Substring) -> Bool { title == "ARGUMENTS:" }
}
