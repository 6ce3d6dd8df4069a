import ReelCore
import Synchronization
import Testing

@Suite struct CancellationFlagTests {
  private final class Count: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
  }

  @Test func callsWhatIsRegistered() {
    let flag = CancellationFlag()
    let (kept, cleared) = (Count(), Count())
    _ = flag.onSet { kept.add() }
    flag.clear(flag.onSet { cleared.add() })
    #expect(!flag.isSet && kept.value == 0)
    flag.set()
    #expect(flag.isSet && kept.value == 1 && cleared.value == 0)
  }

  @Test func callsAtOnceWhenItIsSet() {
    let flag = CancellationFlag()
    flag.set()
    let calls = Count()
    _ = flag.onSet { calls.add() }
    #expect(calls.value == 1)
  }

  @Test func aChildIsSetWithItsParentAndAlone() {
    let parent = CancellationFlag()
    let (one, other) = (CancellationFlag(parent: parent), CancellationFlag(parent: parent))
    let (calls, cleared) = (Count(), Count())
    _ = other.onSet { calls.add() }
    other.clear(other.onSet { cleared.add() })
    one.set()
    #expect(one.isSet && !parent.isSet && !other.isSet && calls.value == 0)
    parent.set()
    #expect(other.isSet && calls.value == 1 && cleared.value == 0)
    _ = one.onSet { cleared.add() }
    #expect(cleared.value > 0)
  }

  @Test func anActionMayAskWhetherItIsSet() {
    let flag = CancellationFlag()
    let seen = Count()
    _ = flag.onSet { [weak flag] in if flag?.isSet == true { seen.add() } }
    flag.set()
    #expect(seen.value == 1)
  }

  /// Whatever an action works on may be reused as soon as the action is cleared.
  @Test func noActionIsCalledOnceItIsCleared() async {
    for _ in 0..<500 {
      let flag = CancellationFlag()
      let (over, late) = (Count(), Count())
      await withTaskGroup { group in
        group.addTask {
          let registration = flag.onSet { if over.value > 0 { late.add() } }
          flag.clear(registration)
          over.add()
        }
        group.addTask { flag.set() }
      }
      #expect(late.value == 0)
    }
  }

  @Test func carriesTheCancellationOfATask() async {
    let flag = CancellationFlag()
    let task = Task {
      await flag.whileRunning {
        while !flag.isSet { await Task.yield() }
      }
    }
    task.cancel()
    await task.value
    #expect(flag.isSet)
  }
}
