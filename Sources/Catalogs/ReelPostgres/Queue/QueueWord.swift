/// What a notification tells workers that wait for items: how many items there are, and how many workers.
///
/// Anyone who can log in to the database can send anything on the channel. So each word stands alone: it can add to
/// what others have sent, at most one look by every worker, and takes nothing away from it.
struct QueueWord: Hashable, Sendable {
  /// The probability that a waiting worker goes: several go for each item, as some are busy. An item that none goes for
  /// is found by the next worker that looks.
  let share: Double
  /// The time over which the workers that go are spread.
  let spread: Duration

  /// Nil if none of the messages is a word.
  /// - Parameter said: the messages that arrived together.
  init?(_ said: [String]) {
    let words = said.compactMap(Self.word)
    guard let spread = words.map(\.spread).min() else { return nil }
    self.spread = spread
    share = min(1, words.reduce(0) { $0 + $1.share })
  }

  private static let most = 1_000_000

  /// Reads two numbers, both in digits alone; or nothing, because an older Reel only says that there is something.
  private static func word(_ said: String) -> (share: Double, spread: Duration)? {
    if said.isEmpty { return (1, .zero) }
    let parts = said.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2, let items = number(parts[0]), let workers = number(parts[1]), items > 0 else {
      return nil
    }
    if workers <= 4 { return (1, .zero) }
    return (min(1, 4 * Double(items) / Double(workers)), .milliseconds(2 * min(workers, 1000)))
  }

  /// Returns ``most`` for anything larger; nil for what is not a number.
  private static func number(_ text: Substring) -> Int? {
    guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
    return min(Int(text) ?? most, most)
  }
}
