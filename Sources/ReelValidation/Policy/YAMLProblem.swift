import Yams

/// What the YAML parser says, as a problem with a place.
enum YAMLProblem {
  static func problem(_ error: any Error, source: String) -> PolicyProblem {
    guard let error = error as? YamlError else {
      return PolicyProblem(source: source, message: "it is no YAML: \(error)")
    }
    switch error {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      return PolicyProblem(
        source: source, line: mark.line, column: mark.column,
        message: "it is no YAML: \(problem)" + hint(problem))
    case .duplicatedKeysInMapping(let keys, let context):
      let named = keys.prefix(3).map { $0.prefix(60) }.joined(separator: ", ")
      return PolicyProblem(
        source: source, line: context.mark.line, column: context.mark.column,
        message: "this key is here twice: \(named); keep one")
    case .reader(let problem, _, _, _):
      return PolicyProblem(source: source, message: "it is no text: \(problem)")
    default:
      return PolicyProblem(source: source, message: "it is no YAML")
    }
  }

  private static func hint(_ problem: String) -> String {
    problem.contains("alias") ? "; a pattern that begins with * stands in quotes: \"*.mov\"" : ""
  }
}

/// Finds anchors before the parser does: a few lines of aliases to aliases make a tree that nobody can walk.
enum YAMLAnchors {
  struct Place: Hashable {
    let line: Int
    let column: Int
  }

  /// The first `&name` that YAML could take for an anchor; some that stand in quotes are among them.
  static func first(in text: String) -> Place? {
    for (number, line) in lines(of: text).enumerated() {
      var previous: Unicode.Scalar = " "
      if line.first(where: { $0 != " " && $0 != "\t" }) == "#" { continue }
      for (column, scalar) in line.enumerated() {
        let next = column + 1 < line.count ? line[column + 1] : " "
        if scalar == "&", mayBegin(after: previous), next != " " {
          return Place(line: number + 1, column: column + 1)
        }
        previous = scalar
      }
    }
    return nil
  }

  /// Only an ASCII line break surely ends a comment; after another, `&` is found as after any such character.
  private static func lines(of text: String) -> [[Unicode.Scalar]] {
    text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r" }.map(Array.init)
  }

  private static func mayBegin(after scalar: Unicode.Scalar) -> Bool {
    guard scalar.isASCII else { return true }
    switch scalar.value {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: return false
    default: return !"._/&%=)".unicodeScalars.contains(scalar)
    }
  }
}
