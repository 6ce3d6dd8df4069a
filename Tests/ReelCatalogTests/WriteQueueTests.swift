import ReelModel
import ReelSQLite
import Testing

@testable import ReelCatalog

@Suite struct WriteQueueTests {
  private struct Write: PendingWrite {
    let isAwaited: Bool
    var number = 0
    func perform(in db: Connection) throws {}
    func end(_ failure: CatalogError?, at path: String) {}
  }

  private func numbers(_ writes: [any PendingWrite]) -> [Int] { writes.compactMap { ($0 as? Write)?.number } }

  @Test func writesAtOnceWhenIdleAndGathersWhenNot() {
    var queue = WriteQueue()
    #expect(queue.handIn(Write(isAwaited: true, number: 1)) == .commit)
    let first = queue.takeGroup()
    #expect(numbers(first) == [1])
    #expect(queue.handIn(Write(isAwaited: true, number: 2)) == .wait)
    #expect(queue.handIn(Write(isAwaited: false, number: 3)) == .wait)
    #expect(queue.flush() == .wait)
    #expect(queue.next(after: first, failed: false) == .commit)
    let second = queue.takeGroup()
    #expect(numbers(second) == [2, 3])
    #expect(queue.next(after: second, failed: false) == .wait)
    #expect(queue.handIn(Write(isAwaited: true)) == .commit)
  }

  @Test func whatNobodyWaitsForComesOnceInAWhile() {
    var queue = WriteQueue()
    #expect(queue.handIn(Write(isAwaited: false)) == .flushLater)
    #expect(queue.handIn(Write(isAwaited: false)) == .wait)
    #expect(queue.flush() == .commit)
    #expect(queue.next(after: queue.takeGroup(), failed: false) == .wait)
    #expect(queue.flush() == .wait)
    for _ in 1..<WriteQueue.largestGroup { #expect(queue.handIn(Write(isAwaited: false)) != .commit) }
    #expect(queue.handIn(Write(isAwaited: false)) == .commit)
  }

  @Test func aGroupHasItsLimit() {
    var queue = WriteQueue()
    for number in 0..<1500 { _ = queue.handIn(Write(isAwaited: true, number: number)) }
    var groups: [[Int]] = []
    var step = WriteQueue.Step.commit
    while step == .commit {
      let group = queue.takeGroup()
      groups.append(numbers(group))
      step = queue.next(after: group, failed: false)
    }
    #expect(groups.map(\.count) == [512, 512, 476])
    #expect(groups.flatMap { $0 } == Array(0..<1500))
  }

  @Test func afterAFailureNobodySpins() {
    var queue = WriteQueue()
    for number in 0..<4 { _ = queue.handIn(Write(isAwaited: number % 2 == 1, number: number)) }
    let failed = queue.takeGroup()
    _ = queue.handIn(Write(isAwaited: false, number: 4))
    // The flush that the first write asked for is still to come.
    #expect(queue.next(after: failed, failed: true) == .wait)
    #expect(numbers(queue.pending) == [0, 2, 4])
    #expect(queue.flush() == .commit)
    #expect(queue.next(after: queue.takeGroup(), failed: true) == .flushLater)
    _ = queue.flush()
    let group = queue.takeGroup()
    _ = queue.handIn(Write(isAwaited: true, number: 5))
    #expect(queue.next(after: group, failed: true) == .commit)
  }

  @Test func whatIsKeptOverAFailureHasALimit() {
    var queue = WriteQueue()
    for _ in 0..<(WriteQueue.mostKept + 1000) { _ = queue.handIn(Write(isAwaited: false)) }
    for _ in 0..<100 {
      let group = queue.takeGroup()
      _ = queue.next(after: group, failed: true)
      _ = queue.flush()
    }
    #expect(queue.pending.count < WriteQueue.mostKept + WriteQueue.largestGroup)
    #expect(queue.pending.count > WriteQueue.mostKept - WriteQueue.largestGroup)
  }

  @Test func closedItStillWritesWhatItHas() {
    var queue = WriteQueue()
    _ = queue.handIn(Write(isAwaited: true, number: 1))
    let group = queue.takeGroup()
    _ = queue.handIn(Write(isAwaited: true, number: 2))
    queue.close()
    #expect(queue.handIn(Write(isAwaited: true)) == .refuse)
    #expect(queue.next(after: group, failed: false) == .commit)
    #expect(numbers(queue.abandon()) == [2])
    #expect(queue.pending.isEmpty)
  }
}
