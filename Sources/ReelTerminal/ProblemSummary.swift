/// One file that failed or was refused, for people.
package enum ProblemSummary {
  /// A newline after each line.
  package static func text(_ trouble: ProblemList.Entry, _ traits: TerminalTraits) -> String {
    lines(trouble, traits).text(traits)
  }

  /// `failed: notes.mp4 is an HLS playlist, not a video [playlist]`
  static func lines(_ trouble: ProblemList.Entry, _ traits: TerminalTraits) -> [StyledLine] {
    let sentence = Sentence.naming(trouble.path.shown, trouble.message)
    return traits.wrapped(
      trouble.refused ? "refused:" : "failed:", trouble.refused ? .warning : .failure,
      traits.sanitized("\(sentence) [\(trouble.code)]"))
  }
}
