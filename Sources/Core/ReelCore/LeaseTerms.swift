/// Default times for which a process counts as alive without a heartbeat.
package enum LeaseTerms {
  /// In a library, and for unfinished copies in a folder.
  package static let library: Duration = .seconds(60)
  /// In a catalog on a server, and for a queue worker.
  package static let server: Duration = .seconds(120)
  /// Milliseconds from the end of a lease until nobody waits for the owner any longer and its row is deleted.
  package static let untilRowGoes: Int64 = 86_400_000
}
