/// What is told to those who wait for something to take: how much there is, and how many they are.
///
/// Whoever may log in to the database may say anything on the channel. So each word stands for itself: it can add to what
/// others have said, at most to one look by everybody, and takes nothing from it.
struct QueueWord: Hashable, Sendable {
  /// How likely one of those who wait is to go: several for each item, as some are at work. What nobody goes for is found
  /// by whoever looks next.
  let share: Double
  /// The time over which those that go spread.
  let spread: Duration

  /// - Parameter said: what came at once; nil where nothing of it is a word.
  init?(_ said: [String]) {
    let words = said.compactMap(Self.word)
    guard let spread = words.map(\.spread).min() else { return nil }
    self.spread = spread
    share = min(1, words.reduce(0) { $0 + $1.share })
  }

  private static let most = 1_000_000

  /// Two numbers, both of them in digits alone; or nothing, as an older Reel only says that there is something.
  private static func word(_ said: String) -> (share: Double, spread: Duration)? {
    if said.isEmpty { return (1, .zero) }
    let parts = said.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2, let items = number(parts[0]), let workers = number(parts[1]), items > 0 else {
      return nil
    }
    if workers <= 4 { return (1, .zero) }
    return (min(1, 4 * Double(items) / Double(workers)), .milliseconds(2 * min(workers, 1000)))
  }

  /// No more than ``most``; nil for what is no number.
  private static func number(_ text: Substring) -> Int? {
    guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
    return min(Int(text) ?? most, most)
  }
}
