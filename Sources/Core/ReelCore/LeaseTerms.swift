/// How long a process that nobody hears of counts as alive, where nobody says otherwise.
package enum LeaseTerms {
  /// In a library, and of the unfinished copies in a folder.
  package static let library: Duration = .seconds(60)
  /// In a catalog on a server, and of a worker.
  package static let server: Duration = .seconds(120)
  /// Milliseconds after the end of its lease: from then on nobody waits for an owner, and its row goes.
  package static let untilRowGoes: Int64 = 86_400_000
}
