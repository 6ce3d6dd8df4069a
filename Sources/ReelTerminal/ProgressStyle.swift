/// How progress is shown (`--progress`).
package enum ProgressStyle: String, Hashable, Sendable, CaseIterable {
  /// Bars where they can be drawn, plain lines elsewhere, nothing when quiet.
  case auto
  case bar
  case plain
  case none

  /// What `auto` means for `traits`, and `plain` for bars that cannot be drawn there; never `auto`.
  package func resolved(for traits: TerminalTraits, quiet: Bool) -> ProgressStyle {
    switch self {
    case .none, .plain: self
    case .bar: traits.canRedraw ? .bar : .plain
    case .auto: quiet ? .none : traits.canRedraw ? .bar : .plain
    }
  }
}
