/// Something in a policy file that can't be used, and where.
package struct PolicyProblem: Hashable, Sendable {
  /// The file's name as given, or the preset's.
  package let source: String
  /// Counted from 1; nil when it is about the file as a whole.
  package let line: Int?
  /// Counted from 1, in characters.
  package let column: Int?
  /// What is wrong and what to do; one sentence.
  package let message: String

  /// From its parts.
  package init(source: String, line: Int? = nil, column: Int? = nil, message: String) {
    self.source = source
    self.line = line
    self.column = column
    self.message = message
  }
}

extension PolicyProblem: CustomStringConvertible {
  /// `policy.yaml:3:5: there is no rule …`
  package var description: String {
    let place = [line, column].compactMap { $0.map { ":\($0)" } }.joined()
    return "\(source)\(place): \(message)"
  }
}

/// Why a policy can't be used: everything that is wrong with it.
package struct PolicyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// At least one, in the order of the file.
  package let problems: [PolicyProblem]

  /// From its parts.
  package init(_ problems: [PolicyProblem]) {
    self.problems = problems
  }

  /// A line for each.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}
