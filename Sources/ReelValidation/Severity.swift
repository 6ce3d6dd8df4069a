/// How much a broken rule matters.
package enum Severity: String, Codable, Sendable, CaseIterable, Comparable {
  /// It is not looked at.
  case off
  /// It is told, and the file passes.
  case warn
  /// The file fails.
  case error

  /// `off` before `warn` before `error`.
  package static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .off: 0
    case .warn: 1
    case .error: 2
    }
  }
}
