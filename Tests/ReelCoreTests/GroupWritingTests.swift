import Dispatch
import ReelCore
import Synchronization
import Testing

struct GroupWritingTests {
  /// Records the groups that it is given; numbers above 0 are awaited.
  private final class Store: Sendable {
    private let state = Mutex((groups: [[Int]](), isFailing: false))
    private let gate = DispatchSemaphore(value: 0)

    var groups: [[Int]] { state.withLock { $0.groups } }

    func fail(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

    func open() { gate.signal() }

    /// - Parameter waits: Whether the first group blocks until this is opened.
    func writing(
      waits: Bool = false, _ change: (inout GroupWriting<Int>.Limits) -> Void = { _ in }
    ) -> GroupWriting<Int> {
      var limits = GroupWriting<Int>.Limits()
      limits.patience = .seconds(3600)
      change(&limits)
      return GroupWriting(label: "test", limits: limits, isAwaited: { $0 > 0 }) { [self] group in
        let isFirst = state.withLock { state in
          state.groups.append(group)
          return state.groups.count == 1
        }
        if isFirst, waits { gate.wait() }
        return state.withLock { !$0.isFailing }
      }
    }
  }

  /// Waits until everything under way is done.
  private func settle(_ writing: GroupWriting<Int>) async {
    await withCheckedContinuation { continuation in writing.between { continuation.resume() } }
  }

  @Test func whatComesWhileOneIsWrittenIsTheNext() async {
    let store = Store()
    let writing = store.writing(waits: true) { $0.group = 4 }
    #expect(writing.handIn(1))
    while store.groups.isEmpty { await Task.yield() }
    for number in [2, -1, 3, 4, 5] { #expect(writing.handIn(number)) }
    #expect(writing.handIn([-2, 6]))
    store.open()
    await settle(writing)
    #expect(store.groups == [[1], [2, -1, 3, 4], [5, -2, 6]])
  }

  @Test func whatNobodyWaitsForIsWrittenSoonOrWithTheNext() async {
    let store = Store()
    let patient = store.writing()
    #expect(patient.handIn(-1) && patient.handIn([]))
    await settle(patient)
    #expect(store.groups.isEmpty)
    #expect(patient.handIn(1))
    await settle(patient)
    #expect(store.groups == [[-1, 1]])
    let hasty = store.writing { $0.patience = .milliseconds(1) }
    #expect(hasty.handIn(-2))
    while store.groups.count < 2 { await Task.yield() }
    #expect(store.groups.last == [-2])
  }

  @Test func whatNobodyWaitsForIsKeptOverAFailureWhileItIsLittle() async {
    let store = Store()
    let writing = store.writing { $0.kept = 3 }
    store.fail(true)
    #expect(writing.handIn([-1, 1]))
    await settle(writing)
    for number in -10 ... -2 { #expect(writing.handIn(number)) }
    store.fail(false)
    #expect(writing.handIn(2))
    await settle(writing)
    #expect(store.groups == [[-1, 1], [-1, -10, -9, 2]])
  }

  @Test func whatIsClosedTakesNothing() async {
    let store = Store()
    let writing = store.writing()
    #expect(writing.handIn(-1))
    writing.close()
    #expect(!writing.handIn(1) && writing.isClosed)
    await settle(writing)
    #expect(store.groups.isEmpty)
  }
}
