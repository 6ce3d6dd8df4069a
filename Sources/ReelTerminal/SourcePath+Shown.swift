import ReelCore

extension SourcePath {
  /// As people are shown it, in a line that they can still read: the middle of a very long one is left out. Not for
  /// programs.
  var shown: String { DisplayWidth.cuttingMiddle(text, to: 1000) }
}
