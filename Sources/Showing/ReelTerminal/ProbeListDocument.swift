import ReelIngest

extension ProbedFile {
  /// Its JSON on one line, and a newline: as ``json(pretty:)`` has it.
  package func jsonLine() throws -> String {
    try PlainProbeLine.text(of: self) ?? json()
  }

  package var problem: AnswerProblem? {
    if case .failure(let failure) = result {
      AnswerProblem(failure.code.rawValue, failure.message, path: path)
    } else {
      nil
    }
  }
}

/// Several files: `{"files": […]}`.
package struct ProbeListDocument: Encodable, Sendable {
  private let files: [ProbedFile]

  /// - Parameter files: in the order of the question.
  package init(_ files: [ProbedFile]) {
    self.files = files
  }
}
