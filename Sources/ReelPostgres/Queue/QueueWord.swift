/// What is told to those who wait for something to take: how much there is, and how many they are.
struct QueueWord: Hashable, Sendable {
  let items: Int
  let workers: Int

  /// - Parameter said: what came at once; nil where nothing did. An older Reel only says that there is something.
  init?(_ said: [String]) {
    if said.isEmpty { return nil }
    let numbers = said.map { $0.split(separator: " ").compactMap { Int($0) } }
    guard numbers.allSatisfy({ $0.count == 2 }) else {
      (items, workers) = (.max, 1)
      return
    }
    items = numbers.reduce(0) { $0 + $1[0] }
    workers = numbers.map { $0[1] }.max() ?? 0
  }

  /// How likely one of them is to go: several for each item, as some are at work. What nobody goes for is found by whoever
  /// looks next.
  var share: Double { workers <= 4 ? 1 : min(1, 4 * Double(items) / Double(workers)) }

  /// The time over which those that go spread.
  var spread: Duration { workers <= 4 ? .zero : .milliseconds(2 * min(workers, 1000)) }
}
