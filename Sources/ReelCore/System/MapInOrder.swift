import Dispatch
import Synchronization

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
  package func mapInOrder<Elements: IteratorProtocol & Sendable, Output: Sendable>(
    _ elements: Elements, ahead: Int = 256,
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
      await Self.inOrder(results, of: lanes.count, source.room, body)
      source.isOver.set()
    }
  }

  private static func inOrder<Output>(
    _ results: AsyncStream<(Int, Output)?>, of threads: Int, _ room: DispatchSemaphore,
    _ body: (Output) async -> Bool
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
