@testable import ReelPostgres

extension WorkQueue {
  /// Puts back what ended in one of `states`, whatever else is true of it.
  func putBack(_ states: [ItemState]) throws -> Int {
    var filter = ItemFilter()
    filter.states = states
    return try steer(.retry, filter)
  }
}
