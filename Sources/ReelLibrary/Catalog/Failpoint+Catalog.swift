import ReelCore

extension Failpoint {
  /// The process has come here, in the middle of work on the database: an error that is armed is one of SQLite's.
  func reachInDatabase() throws {
    do throws(SystemError) {
      try reach()
    } catch {
      throw SQLiteError(.inputOutput, error.description)
    }
  }
}
