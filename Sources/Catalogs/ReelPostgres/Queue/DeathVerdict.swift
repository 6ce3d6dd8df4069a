/// What the end of a worker means for an item that it had taken: decided from facts, which the caller reads and whose
/// verdict it writes down.
enum DeathVerdict: Hashable, CaseIterable, Sendable {
  /// It is free, as it was.
  case innocent
  /// It may have ended the worker: it is in question, and tried alone next.
  case inQuestion
  /// It was all that the worker was at.
  case counted
  /// So it was once too often.
  case setAside

  /// What is said of an item that is in question, as its code.
  static let code = "workerDied"

  struct Facts: Hashable, Sendable {
    /// Whether the worker was at it, not only held it; and whether at nothing else.
    var wasInHand = true
    var wasAlone = true
    /// Whether the database was away since the worker was heard of last: it may have waited for that, or given up.
    var wasServerAway = false
    /// Whether most of those who were there fell silent with it.
    var fellSilentTogether = false
    /// Whether it is in question already, which is why it was tried alone.
    var isInQuestion = false
    /// How many workers it has ended before.
    var deaths = 0
  }

  /// - Parameter mostDeaths: how many workers an item may end before it is set aside.
  static func decide(_ facts: Facts, mostDeaths: Int) -> DeathVerdict {
    guard facts.wasInHand, !facts.wasServerAway else { return .innocent }
    // Who is in question is judged whatever happens to others: two that end their workers at once would go on for ever.
    guard facts.wasAlone, facts.isInQuestion || !facts.fellSilentTogether else { return .inQuestion }
    return facts.deaths + 1 >= mostDeaths ? .setAside : .counted
  }
}
