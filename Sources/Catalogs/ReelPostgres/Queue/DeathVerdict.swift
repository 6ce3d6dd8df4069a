/// What the death of a worker means for an item that it had taken: decided from facts that the caller reads, as a
/// verdict that the caller records.
enum DeathVerdict: Hashable, CaseIterable, Sendable {
  /// It is free again, unchanged.
  case innocent
  /// It may have killed the worker. It is in question, and tried alone next.
  case inQuestion
  /// It was all that the worker was working on, so the death counts against it.
  case counted
  /// The death counts against it, and is the last one allowed.
  case setAside

  /// The code of an item that is in question.
  static let code = "workerDied"

  struct Facts: Hashable, Sendable {
    /// Whether the worker was working on it, and not merely holding it; and whether it was working on nothing else.
    var wasInHand = true
    var wasAlone = true
    /// Whether the database was away since the worker was last heard of: it may have waited for that, or given up.
    var wasServerAway = false
    /// Whether most of the workers that were there fell silent with it.
    var fellSilentTogether = false
    /// Whether the item is already in question, and so was tried alone.
    var isInQuestion = false
    /// How many workers it has killed before.
    var deaths = 0
  }

  /// - Parameter mostDeaths: the number of workers that an item may kill; with the last of them it is set aside.
  static func decide(_ facts: Facts, mostDeaths: Int) -> DeathVerdict {
    guard facts.wasInHand, !facts.wasServerAway else { return .innocent }
    // An item in question is judged whatever happens to others: two that kill their workers at once would go on
    // forever.
    guard facts.wasAlone, facts.isInQuestion || !facts.fellSilentTogether else { return .inQuestion }
    return facts.deaths + 1 >= mostDeaths ? .setAside : .counted
  }
}
