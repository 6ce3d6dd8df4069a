import Dispatch
import Synchronization

/// Threads for calls that block (disk, sockets, SQLite), so that none of Swift's cooperative threads ever waits for
/// a device: there are only as many of those as cores, and each that waits is missing for all other tasks.
package final class BlockingQueue: Sendable {
  /// One serial queue for each place. A concurrent queue would not do: on Linux its blocked threads count as busy
  /// cores, and new ones start only about once a second.
  let lanes: [DispatchQueue]
  private let places: AsyncSemaphore

  /// - Parameters:
  ///   - label: Shown by debuggers.
  ///   - width: How many calls may block at once; at least 1.
  package init(label: String, width: Int) {
    let count = max(1, width)
    lanes = (0..<count).map { DispatchQueue(label: "\(label).\($0)") }
    places = AsyncSemaphore(count: count)
  }

  /// How many calls are waiting for a thread.
  var waitingCount: Int { places.waitingCount }

  /// Runs `body` on one of the threads, and returns its result.
  ///
  /// Cancellation does not interrupt `body`: a system call that has begun runs to its end.
  package func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let place = await places.take()
    defer { places.giveBack(place) }
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      lanes[place].async {
        continuation.resume(returning: Result(catching: body))
      }
    }
    return try result.get()
  }

  /// Runs a `body` that checks the flag, which is set when the task is cancelled.
  package func runCancellable<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable (CancellationFlag) throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let flag = CancellationFlag()
    return try await flag.whileRunning { () async throws(Failure) in
      try await run { () throws(Failure) in try body(flag) }
    }
  }
}

extension BlockingQueue {
  /// Runs `transform` on every element, on all threads at once, and passes the results to `body` one by one, in
  /// order, until there are no more, `body` returns false, or the task is cancelled.
  ///
  /// Each thread fetches its next element itself.
  /// - Parameters:
  ///   - elements: May block for the next element.
  ///   - ahead: How many elements may be begun whose results have not been passed to `body`, as when they wait
  ///     behind one that takes long.
  ///   - transform: Its flag is set when no more results are wanted.
  ///   - body: Called in the caller's isolation.
  package func mapInOrder<Elements: IteratorProtocol & Sendable, Output: Sendable>(
    _ elements: Elements, ahead: Int = 256, isolation: isolated (any Actor)? = #isolation,
    _ transform: @escaping @Sendable (Elements.Element, CancellationFlag) -> Output,
    _ body: (Output) async -> Bool
  ) async {
    let source = NumberedElements(elements, ahead: max(1, ahead))
    // A thread that has finished sends nil.
    let (results, continuation) = AsyncStream.makeStream(of: (Int, Output)?.self)
    await withTaskGroup { group in
      for _ in lanes {
        group.addTask { [self] in
          await source.isOver.whileRunning {
            await run {
              while let (number, element) = source.next() {
                continuation.yield((number, transform(element, source.isOver)))
              }
              continuation.yield(nil)
            }
          }
        }
      }
      await Self.inOrder(results, of: lanes.count, source.room, isolation: isolation, body)
      source.isOver.set()
    }
  }

  private static func inOrder<Output: Sendable>(
    _ results: AsyncStream<(Int, Output)?>, of threads: Int, _ room: DispatchSemaphore,
    isolation: isolated (any Actor)?, _ body: (Output) async -> Bool
  ) async {
    var early: [Int: Output] = [:]
    var (given, running) = (0, threads)
    // The loop also ends when the task is cancelled.
    for await result in results {
      guard let (number, output) = result else {
        running -= 1
        if running == 0 { return }
        continue
      }
      early[number] = output
      while let output = early.removeValue(forKey: given) {
        guard !Task.isCancelled, await body(output) else { return }
        given += 1
        room.signal()
      }
    }
  }
}

extension BlockingQueue {
  /// Does the same with a `body` that may block. The threads call it themselves, one at a time, so that only
  /// results that had to wait are passed to another thread.
  package func mapInOrder<Elements: IteratorProtocol & Sendable, Output: Sendable>(
    _ elements: Elements, ahead: Int = 256,
    _ transform: @escaping @Sendable (Elements.Element, CancellationFlag) -> Output,
    blocking body: @escaping @Sendable (Output) -> Bool
  ) async {
    let source = NumberedElements(elements, ahead: max(1, ahead))
    let results = OrderedResults<Output>()
    await withTaskGroup { group in
      for _ in lanes {
        group.addTask { [self] in
          await source.isOver.whileRunning {
            await run {
              while let (number, element) = source.next() {
                results.add(transform(element, source.isOver), number: number) { output in
                  guard !source.isOver.isSet else { return }
                  if !body(output) { source.isOver.set() }
                  source.room.signal()
                }
              }
            }
          }
        }
      }
    }
  }
}

extension BlockingQueue {
  /// Does the same as ``mapInOrder(_:ahead:isolation:_:_:)`` with functions that may throw: the first error, in the
  /// order of the elements, ends the work.
  package func tryMapInOrder<Elements: IteratorProtocol & Sendable, Output: Sendable, Failure: Error>(
    _ elements: Elements, ahead: Int = 256, isolation: isolated (any Actor)? = #isolation,
    _ transform: @escaping @Sendable (Elements.Element, CancellationFlag) throws(Failure) -> Output,
    _ body: (Output) async throws(Failure) -> Bool
  ) async throws(Failure) {
    var problem: Failure?
    await mapInOrder(elements, ahead: ahead) { element, flag in
      Result { () throws(Failure) in try transform(element, flag) }
    } _: { result in
      do throws(Failure) {
        return try await body(try result.get())
      } catch {
        problem = error
        return false
      }
    }
    if let problem { throw problem }
  }

  /// Does the same with a `body` that may block.
  package func tryMapInOrder<Elements: IteratorProtocol & Sendable, Output: Sendable, Failure: Error>(
    _ elements: Elements, ahead: Int = 256,
    _ transform: @escaping @Sendable (Elements.Element, CancellationFlag) throws(Failure) -> Output,
    blocking body: @escaping @Sendable (Output) throws(Failure) -> Bool
  ) async throws(Failure) {
    let problem = Mutex<Failure?>(nil)
    await mapInOrder(elements, ahead: ahead) { element, flag in
      Result { () throws(Failure) in try transform(element, flag) }
    } blocking: { result in
      do throws(Failure) {
        return try body(try result.get())
      } catch {
        problem.withLock { $0 = error }
        return false
      }
    }
    if let problem = problem.withLock({ $0 }) { throw problem }
  }
}

/// Results that arrive in any order and are delivered in sequence.
private final class OrderedResults<Output: Sendable>: Sendable {
  private struct State {
    var early: [Int: Output] = [:]
    var given = 0
    var isGiving = false

    mutating func next() -> Output? {
      let next = early.removeValue(forKey: given)
      if next != nil { given += 1 }
      isGiving = next != nil
      return next
    }
  }
  private let state = Mutex(State())

  /// Calls `give` for every result that can be delivered now, unless another thread is doing so.
  func add(_ output: Output, number: Int, _ give: (Output) -> Void) {
    var next = state.withLock { state in
      state.early[number] = output
      return state.isGiving ? nil : state.next()
    }
    while let output = next {
      give(output)
      next = state.withLock { $0.next() }
    }
  }
}

/// Elements for several threads, numbered from 0.
private final class NumberedElements<Elements: IteratorProtocol & Sendable>: Sendable {
  private struct State {
    var elements: Elements
    var count = 0
    var isOver = false

    mutating func next() -> (Int, Elements.Element)? {
      guard !isOver, let element = elements.next() else {
        isOver = true
        return nil
      }
      defer { count += 1 }
      return (count, element)
    }
  }
  private let state: Mutex<State>
  /// Counts how many more elements may be begun.
  let room = DispatchSemaphore(value: 0)
  /// Set when no more elements are wanted.
  let isOver = CancellationFlag()

  init(_ elements: Elements, ahead: Int) {
    state = Mutex(State(elements: elements))
    for _ in 0..<ahead { room.signal() }
    // Each thread that wakes up wakes the next.
    _ = isOver.onSet { [room] in room.signal() }
  }

  /// Returns the next element. Blocks until there is room.
  func next() -> (Int, Elements.Element)? {
    room.wait()
    let next = isOver.isSet ? nil : state.withLock { $0.next() }
    if next == nil { room.signal() }
    return next
  }
}
