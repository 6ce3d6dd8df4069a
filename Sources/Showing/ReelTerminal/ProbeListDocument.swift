import ReelIngest

extension ProbedFile {
  /// Its JSON on one line with a newline, the same as ``json(pretty:)`` returns.
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

/// The results of several files: `{"files": […]}`.
package struct ProbeListDocument: Encodable, Sendable {
  private let files: [ProbedFile]

  /// - Parameter files: in the order in which they were given.
  package init(_ files: [ProbedFile]) {
    self.files = files
  }
}
