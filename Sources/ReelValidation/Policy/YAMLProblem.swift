/// What the YAML reader says, as a problem with a place.
enum YAMLProblem {
  static func problem(_ error: YAMLError, source: String) -> PolicyProblem {
    func problem(_ mark: YAMLMark?, _ message: String) -> PolicyProblem {
      PolicyProblem(source: source, line: mark?.line, column: mark?.column, message: message)
    }
    return switch error {
    case .syntax(_, let text, let mark, _): problem(mark, "it is not YAML: \(text)" + hint(text))
    case .duplicateKeys(let keys, let mark):
      problem(
        mark,
        "this key is here twice: \(keys.prefix(3).map { $0.prefix(60) }.joined(separator: ", ")); keep one")
    case .character(let text, _): problem(nil, "it is not text: \(text)")
    case .tooDeep(let mark):
      problem(mark, "\(YAMLError.depthProblem), and a policy is not; is it another file?")
    case .memory: problem(nil, "it is not YAML")
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
