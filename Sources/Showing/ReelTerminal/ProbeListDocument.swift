import ReelCore
import ReelIngest

extension ProbedFile {
  /// Its JSON on one line, and a newline: as ``json(pretty:)`` has it.
  package func jsonLine() throws -> String {
    try PlainProbeLine.text(of: self) ?? json()
  }
}

/// Several files: `{"v": 1, "files": […]}`.
package struct ProbeListDocument: Encodable, Sendable {
  private let v = 1
  private let files: [ProbedFile]

  /// - Parameter files: in the order of the question.
  package init(_ files: [ProbedFile]) {
    self.files = files
  }
}
