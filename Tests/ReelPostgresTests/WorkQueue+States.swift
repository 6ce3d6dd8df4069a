@testable import ReelPostgres

extension WorkQueue {
  /// Puts back all items that ended in one of `states`.
  func putBack(_ states: [ItemState]) throws -> Int {
    var filter = ItemFilter()
    filter.states = states
    return try steer(.retry, filter)
  }

  /// Deletes all items that ended in one of `states`.
  func prune(states: [ItemState], endedBefore age: Duration, dryRun: Bool = false) throws -> Int {
    var filter = ItemFilter()
    filter.states = states
    return try prune(filter, endedBefore: age, dryRun: dryRun)
  }
}
