import Dispatch
import ReelCore
import Synchronization

/// Lends each of its slots to one file at a time, first come, first served.
final class WorkerPool: Sendable {
  private struct Loan {
    let slot: WorkerSlot
    /// Whoever has the slot. ``close()`` sets it.
    let flag: CancellationFlag
  }
  private struct Waiter {
    let flag: CancellationFlag
    let isOver = DispatchSemaphore(value: 0)
  }
  private struct State {
    /// The one given back last is lent first: its worker is warm, and slots that are not needed start none.
    var idle: [WorkerSlot] = []
    /// By the identity of its flag.
    var lent: [ObjectIdentifier: Loan] = [:]
    var waiting: [Waiter] = []
    /// How often a slot was lent.
    var loans = 0
    /// Whether ``rest(_:)`` is about to look.
    var isWatched = false
    var isClosed = false
    var closing: [DispatchSemaphore] = []
  }
  private let state = Mutex(State())
  private let size: Int
  private let idleTime: Duration
  private let makeSlot: @Sendable () -> WorkerSlot
  private let rested: @Sendable () -> Void

  /// - Parameters:
  ///   - size: how many slots are lent at once.
  ///   - idleTime: when nobody has had a slot for that long, the slots go, and their workers with them.
  ///   - rested: called then.
  init(
    size: Int, idleTime: Duration, makeSlot: @escaping @Sendable () -> WorkerSlot,
    rested: @escaping @Sendable () -> Void = {}
  ) {
    self.size = size
    self.idleTime = idleTime
    self.makeSlot = makeSlot
    self.rested = rested
  }

  /// How many files have a slot, and wait for one.
  var counts: (lent: Int, waiting: Int) {
    state.withLock { ($0.lent.count, $0.waiting.count) }
  }

  /// How many slots nobody has.
  var idleSlots: Int { state.withLock { $0.idle.count } }

  /// Blocks for a slot, to be given back; nil when `flag` was set meanwhile, or the pool is closed.
  ///
  /// - Parameter flag: of this file alone.
  func take(_ flag: CancellationFlag) -> WorkerSlot? {
    let waiter = Waiter(flag: flag)
    let (slot, mustWait) = state.withLock { state -> (WorkerSlot?, Bool) in
      if state.isClosed || flag.isSet { return (nil, false) }
      state.waiting.append(waiter)
      serve(&state)
      let slot = state.lent[ObjectIdentifier(flag)]?.slot
      return (slot, slot == nil)
    }
    guard mustWait else { return slot }
    let leaving = flag.onSet { [self] in leave(flag) }
    waiter.isOver.wait()
    flag.clear(leaving)
    return state.withLock { $0.lent[ObjectIdentifier(flag)]?.slot }
  }

  /// Slots that nobody has or waits for, warm ones first, each to be given back.
  func takeFree(atMost count: Int) -> [(WorkerSlot, CancellationFlag)] {
    state.withLock { state in
      let free = state.isClosed ? 0 : min(count, size - state.lent.count)
      return (0..<max(0, free)).map { _ in
        let flag = CancellationFlag()
        return (lend(to: flag, &state), flag)
      }
    }
  }

  /// Its file needs the slot no more.
  func giveBack(_ flag: CancellationFlag) {
    let closing: [DispatchSemaphore] = state.withLock { state in
      guard let loan = state.lent.removeValue(forKey: ObjectIdentifier(flag)) else { return [] }
      if state.isClosed { return Self.finished(&state) }
      state.idle.append(loan.slot)
      serve(&state)
      watch(&state)
      return []
    }
    for one in closing { one.signal() }
  }

  /// Sees to it that slots that nobody needs go some day: a run may be busy with uploads for hours.
  private func watch(_ state: inout State) {
    guard !state.isWatched, state.lent.isEmpty else { return }
    state.isWatched = true
    let loans = state.loans
    DispatchQueue.global().asyncAfter(
      deadline: .now() + .milliseconds(Int(clamping: idleTime.wholeMilliseconds))
    ) { [weak self] in self?.rest(loans) }
  }

  /// - Parameter loans: as many as there were when the watch began.
  private func rest(_ loans: Int) {
    let idle = state.withLock { state -> [WorkerSlot] in
      state.isWatched = false
      guard !state.isClosed else { return [] }
      guard state.loans == loans else {
        watch(&state)
        return []
      }
      defer { state.idle = [] }
      return state.idle
    }
    guard !idle.isEmpty else { return }
    rested()
    withExtendedLifetime(idle) {}
  }

  /// Sends away who waits, cancels every reading, and blocks until the slots are back and gone.
  func close() {
    let (idle, waiting, loans) = state.withLock { state in
      defer { (state.idle, state.waiting) = ([], []) }
      state.isClosed = true
      return (state.idle, state.waiting, Array(state.lent.values))
    }
    for waiter in waiting { waiter.isOver.signal() }
    for loan in loans { loan.flag.set() }
    let isBack = DispatchSemaphore(value: 0)
    let closing = state.withLock { state in
      state.closing.append(isBack)
      return Self.finished(&state)
    }
    for one in closing { one.signal() }
    isBack.wait()
    withExtendedLifetime(idle) {}
  }

  private func serve(_ state: inout State) {
    while !state.waiting.isEmpty, state.lent.count < size {
      let waiter = state.waiting.removeFirst()
      _ = lend(to: waiter.flag, &state)
      waiter.isOver.signal()
    }
  }

  private func lend(to flag: CancellationFlag, _ state: inout State) -> WorkerSlot {
    let slot = state.idle.popLast() ?? makeSlot()
    state.loans += 1
    state.lent[ObjectIdentifier(flag)] = Loan(slot: slot, flag: flag)
    return slot
  }

  private func leave(_ flag: CancellationFlag) {
    state.withLock { state in
      guard let place = state.waiting.firstIndex(where: { $0.flag === flag }) else { return }
      state.waiting.remove(at: place).isOver.signal()
    }
  }

  private static func finished(_ state: inout State) -> [DispatchSemaphore] {
    guard state.isClosed, state.lent.isEmpty else { return [] }
    defer { state.closing = [] }
    return state.closing
  }
}
