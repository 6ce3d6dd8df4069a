import Glibc
import Synchronization
import Testing

@testable import ReelCore

@Suite struct BlockingQueueTests {
  @Test func givesTheResult() async throws {
    let queue = BlockingQueue(label: "test", width: 1)
    #expect(await queue.run { 42 } == 42)
    await #expect(throws: SystemError(code: ENOENT, call: "open")) {
      try await queue.run { () throws(SystemError) -> Int in throw SystemError(code: ENOENT, call: "open") }
    }
  }

  @Test("exactly as many run at once as its width permits", arguments: [1, 3, 16])
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

  @Test func theFlagIsSetWithTheTask() async {
    let queue = BlockingQueue(label: "test", width: 1)
    let begun = Asked()
    let task = Task {
      await queue.runCancellable { flag in
        begun.now()
        while !flag.isSet { usleep(1000) }
        return 7
      }
    }
    await begun.wait()
    task.cancel()
    #expect(await task.value == 7)
  }
}

@Suite struct MapInOrderTests {
  @Test("the results come in order, whichever is ready first", arguments: [1, 4])
  func order(_ width: Int) async {
    var results: [Int] = []
    await BlockingQueue(label: "test", width: width).mapInOrder((0..<100).makeIterator()) { number, _ in
      usleep(UInt32(number % 7) * 300)
      return number * 2
    } _: { result in
      results.append(result)
      return true
    }
    #expect(results == (0..<100).map { $0 * 2 })
  }

  @Test("the threads deliver the results in order, one at a time", arguments: [1, 4])
  func orderOfThreads(_ width: Int) async {
    let results = Order()
    await BlockingQueue(label: "test", width: width).mapInOrder((0..<200).makeIterator(), ahead: 7) {
      number, _ in
      if number.isMultiple(of: 9) { usleep(UInt32(number % 5) * 400) }
      return number
    } blocking: { result in
      results.add(result)
      return true
    }
    #expect(results.all == Array(0..<200))
  }

  @Test func threadsEndWhenNoMoreAreWanted() async {
    let (begun, given) = (Order(), Order())
    await BlockingQueue(label: "test", width: 2).mapInOrder((1...1000).makeIterator(), ahead: 6) {
      number, flag in
      begun.add(number)
      while number == 4, !flag.isSet { usleep(1000) }
      return number
    } blocking: { number in
      given.add(number)
      return number < 3
    }
    #expect(given.all == [1, 2, 3])
    #expect(begun.all.count <= 9)
  }

  @Test func asManyAtOnceAsThereAreThreads() async {
    let crowd = Crowd()
    await BlockingQueue(label: "test", width: 3).mapInOrder((0..<12).makeIterator()) { _, _ in
      crowd.visit(until: 3)
    } _: { _ in
      true
    }
    #expect(crowd.most == 3)
  }

  /// Other results do not pile up behind a slow one.
  @Test func itIsBounded() async {
    let begun = Order()
    var counts: [Int] = []
    await BlockingQueue(label: "test", width: 2).mapInOrder((0..<50).makeIterator(), ahead: 6) { number, _ in
      begun.add(number)
      // The first waits for the other five that may start before it is delivered.
      while number == 0, begun.all.count < 6 { usleep(1000) }
      if number == 0 { usleep(20_000) }
    } _: { _ in
      counts.append(begun.all.count)
      return true
    }
    #expect(counts.first == 6 && counts.count == 50)
  }

  @Test func itEndsWhenNoMoreAreWanted() async {
    let begun = Order()
    await BlockingQueue(label: "test", width: 2).mapInOrder((1...1000).makeIterator(), ahead: 6) {
      number, flag in
      begun.add(number)
      // A task whose result is no longer wanted is ended by its flag.
      while number == 4, !flag.isSet { usleep(1000) }
      return number
    } _: { number in
      number < 3
    }
    #expect(begun.all.count <= 8)
  }

  @Test func itEndsWithTheTask() async {
    let begun = Asked()
    let task = Task {
      var results = 0
      await BlockingQueue(label: "test", width: 2).mapInOrder((0..<9).makeIterator()) { _, flag in
        begun.now()
        while !flag.isSet { usleep(1000) }
      } _: { _ in
        results += 1
        return true
      }
      return results
    }
    await begun.wait()
    task.cancel()
    #expect(await task.value == 0)
  }

  /// Threads that wait for space are woken.
  @Test func itEndsWhileOneIsBusyWithTheResults() async {
    var count = 0
    await BlockingQueue(label: "test", width: 4).mapInOrder((0..<100).makeIterator(), ahead: 5) {
      $1.isSet
    } _: { _ in
      count += 1
      try? await Task.sleep(for: .milliseconds(5))
      return count < 3
    }
    #expect(count == 3)
  }
}

/// Counts concurrent visitors.
private final class Crowd: Sendable {
  private let state = Mutex((now: 0, most: 0))

  var most: Int { state.withLock { $0.most } }

  /// Stays until `count` visitors were there at once, for at most a minute.
  func visit(until count: Int) {
    state.withLock { state in
      state.now += 1
      state.most = max(state.most, state.now)
    }
    let end = ContinuousClock.now + .seconds(600)
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
