import ReelCore

/// The versions of everything that takes part (`reel version`).
package struct VersionView: JSONDocument, Hashable, Sendable {
  /// Of this program.
  package var reel: String
  /// Of `reel-probe-worker`; nil when it does not answer.
  @ExplicitNull package var worker: String?
  /// Of libavformat, as the worker says.
  @ExplicitNull package var ffmpeg: String?
  /// Of the SQLite that the catalog uses.
  @ExplicitNull package var sqlite: String?
  /// Why the worker does not answer, and what to do; one sentence.
  @ExplicitNull package var workerProblem: String?

  /// What is nil is shown as unknown.
  package init(
    reel: String = ReelVersion.current, worker: String?, ffmpeg: String?, sqlite: String?,
    workerProblem: String? = nil
  ) {
    self.reel = reel
    _worker = ExplicitNull(wrappedValue: worker)
    _ffmpeg = ExplicitNull(wrappedValue: ffmpeg)
    _sqlite = ExplicitNull(wrappedValue: sqlite)
    _workerProblem = ExplicitNull(wrappedValue: workerProblem)
  }

  /// A newline after each line.
  package func text(_ traits: TerminalTraits) -> String {
    var sheet = FactSheet(traits)
    sheet.add("reel", reel, .strong)
    sheet.add(
      "reel-probe-worker", worker ?? workerProblem ?? "does not answer", worker == nil ? .failure : nil)
    sheet.add("libavformat", ffmpeg ?? "unknown")
    sheet.add("SQLite", sqlite ?? "unknown")
    if worker != nil { sheet.add("problem", workerProblem, .failure) }
    return sheet.lines(indent: 0).text(traits)
  }
}
