import Glibc
import Synchronization
import Testing

@testable import ReelSystem

@Suite struct BlockingQueueTests {
  @Test func givesTheResult() async throws {
    let queue = BlockingQueue(label: "test", width: 1)
    #expect(await queue.run { 42 } == 42)
    await #expect(throws: SystemError(code: ENOENT, call: "open")) {
      try await queue.run { () throws(SystemError) -> Int in throw SystemError(code: ENOENT, call: "open") }
    }
  }

  @Test("no more than its width run at once, and as many as that", arguments: [1, 3, 16])
  func width(_ width: Int) async throws {
    let queue = BlockingQueue(label: "test", width: width)
    let crowd = Crowd()
    await withTaskGroup { group in
      for _ in 0..<(width * 4) {
        group.addTask { await queue.run { crowd.visit(until: width) } }
      }
    }
    #expect(crowd.most == width)
  }

  @Test func aWidthOfNothingIsOne() async {
    #expect(await BlockingQueue(label: "test", width: 0).run { true })
  }

  @Test func firstComeFirstServed() async throws {
    let queue = BlockingQueue(label: "test", width: 1)
    let order = Order()
    await withTaskGroup { group in
      let gate = Gate()
      group.addTask { await queue.run { gate.wait() } }
      await gate.isWaitedFor()
      for number in 0..<200 {
        group.addTask { await queue.run { order.add(number) } }
        while queue.waitingCount <= number { await Task.yield() }
      }
      gate.open()
    }
    #expect(order.all == Array(0..<200))
  }

  @Test func aCancelledTaskStillGetsItsResult() async {
    let queue = BlockingQueue(label: "test", width: 1)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await queue.run { 7 }
    }
    #expect(await task.value == 7)
  }
}

/// Counts who is there at the same time.
private final class Crowd: Sendable {
  private let state = Mutex((now: 0, most: 0))

  var most: Int { state.withLock { $0.most } }

  /// Stays until `count` were there at once, for a minute at most.
  func visit(until count: Int) {
    state.withLock { state in
      state.now += 1
      state.most = max(state.most, state.now)
    }
    let end = ContinuousClock.now + .seconds(60)
    while most < count, ContinuousClock.now < end { usleep(1000) }
    state.withLock { $0.now -= 1 }
  }
}

private final class Order: Sendable {
  private let numbers = Mutex<[Int]>([])
  var all: [Int] { numbers.withLock { $0 } }
  func add(_ number: Int) { numbers.withLock { $0.append(number) } }
}

private final class Asked: Sendable {
  private let stream = AsyncStream<Void>.makeStream()
  func now() { stream.continuation.finish() }
  func wait() async { for await _ in stream.stream {} }
}

/// Blocks a thread until it is opened.
private final class Gate: Sendable {
  private let asked = Asked()
  private let isOpen = Atomic<Bool>(false)

  func wait() {
    asked.now()
    while !isOpen.load(ordering: .acquiring) { usleep(1000) }
  }

  func isWaitedFor() async { await asked.wait() }
  func open() { isOpen.store(true, ordering: .releasing) }
}
