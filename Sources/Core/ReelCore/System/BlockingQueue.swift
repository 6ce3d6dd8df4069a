import Dispatch
import Synchronization

/// Threads for calls that block (disk, sockets, SQLite), so that none of Swift's cooperative threads ever
/// waits for a device: those are as many as cores, and one that waits is one less for everybody.
package final class BlockingQueue: Sendable {
  /// A serial queue for each place. A concurrent one would not do: on Linux its blocked threads count against
  /// the cores, and more come only about once a second.
  let lanes: [DispatchQueue]
  private let places: AsyncSemaphore

  /// - Parameters:
  ///   - label: shown by debuggers.
  ///   - width: how many calls may block at once; at least 1.
  package init(label: String, width: Int) {
    let count = max(1, width)
    lanes = (0..<count).map { DispatchQueue(label: "\(label).\($0)") }
    places = AsyncSemaphore(count: count)
  }

  /// How many calls wait for a thread now.
  var waitingCount: Int { places.waitingCount }

  /// Runs `body` on a thread of its own, and gives its result.
  ///
  /// Cancellation does not interrupt `body`: a system call that has begun ends first.
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

  /// The same for a `body` that looks at the flag, which is set when the task is cancelled.
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
  /// Runs `transform` on every element, on all threads at once, and gives `body` the results one by one, in order:
  /// until there are no more, it gives false, or the task is cancelled.
  ///
  /// Each thread takes one element after the other without being handed any.
  /// - Parameters:
  ///   - elements: may block for the next one.
  ///   - ahead: how many elements may be begun that were not given to `body`: results that wait behind one that takes
  ///     long.
  ///   - transform: its flag is set when no result is wanted any more.
  ///   - body: called where the caller is.
  package func mapInOrder<Elements: IteratorProtocol & Sendable, Output: Sendable>(
    _ elements: Elements, ahead: Int = 256, isolation: isolated (any Actor)? = #isolation,
    _ transform: @escaping @Sendable (Elements.Element, CancellationFlag) -> Output,
    _ body: (Output) async -> Bool
  ) async {
    let source = NumberedElements(elements, ahead: max(1, ahead))
    // A thread that is through tells so by nil.
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
    // Ends with the task, too.
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
  /// The same for a `body` that may block: the threads call it themselves, one at a time, and no result is handed to
  /// another thread but those that were waited for.
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
  /// ``mapInOrder(_:ahead:isolation:_:_:)`` of what may throw: the first error, in the order of the elements, ends it.
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

  /// The same for a `body` that may block.
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

/// Results that come in any order, and are given in theirs.
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

  /// Calls `give` for all that can be given now, unless another thread does.
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
  /// For elements that may be begun.
  let room = DispatchSemaphore(value: 0)
  /// Set when no more are wanted.
  let isOver = CancellationFlag()

  init(_ elements: Elements, ahead: Int) {
    state = Mutex(State(elements: elements))
    for _ in 0..<ahead { room.signal() }
    // One thread wakes the next.
    _ = isOver.onSet { [room] in room.signal() }
  }

  /// Blocks until there is room.
  func next() -> (Int, Elements.Element)? {
    room.wait()
    let next = isOver.isSet ? nil : state.withLock { $0.next() }
    if next == nil { room.signal() }
    return next
  }
}
