@testable import ReelPostgres

extension WorkQueue {
  /// Puts back what ended in one of `states`, whatever else is true of it.
  func putBack(_ states: [ItemState]) throws -> Int {
    var filter = ItemFilter()
    filter.states = states
    return try steer(.retry, filter)
  }

  /// Forgets what ended in one of `states`.
  func prune(states: [ItemState], endedBefore age: Duration, dryRun: Bool = false) throws -> Int {
    var filter = ItemFilter()
    filter.states = states
    return try prune(filter, endedBefore: age, dryRun: dryRun)
  }
}
