import Dispatch
import ReelCore
import Synchronization

/// Lends each of its slots to one file at a time, first come, first served.
final class WorkerPool: Sendable {
  private struct Loan {
    let slot: WorkerSlot
    /// The flag of the file that has the slot. ``close()`` sets it.
    let flag: CancellationFlag
  }
  private struct Waiter {
    let flag: CancellationFlag
    let isOver = DispatchSemaphore(value: 0)
  }
  private struct State {
    /// The slot returned last is lent first: its worker is warm, and slots that are not needed start no worker.
    var idle: [WorkerSlot] = []
    /// Loans by the identity of their flags.
    var lent: [ObjectIdentifier: Loan] = [:]
    var waiting: [Waiter] = []
    /// How many loans there have been.
    var loans = 0
    /// Whether a call of ``rest(_:)`` is scheduled.
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
  ///   - size: How many slots can be lent at once.
  ///   - idleTime: When no slot has been lent for this long, all slots are released together with their workers.
  ///   - rested: Called when that happens.
  init(
    size: Int, idleTime: Duration, makeSlot: @escaping @Sendable () -> WorkerSlot,
    rested: @escaping @Sendable () -> Void = {}
  ) {
    self.size = size
    self.idleTime = idleTime
    self.makeSlot = makeSlot
    self.rested = rested
  }

  /// How many files have a slot, and how many are waiting for one.
  var counts: (lent: Int, waiting: Int) {
    state.withLock { ($0.lent.count, $0.waiting.count) }
  }

  /// How many slots are not lent.
  var idleSlots: Int { state.withLock { $0.idle.count } }

  /// Waits for a slot, which must be given back. Blocks. Nil if `flag` was set meanwhile, or if the pool is closed.
  ///
  /// - Parameter flag: The flag for this file alone.
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

  /// Lends slots that are free and not waited for, warm ones first. Each must be given back.
  func takeFree(atMost count: Int) -> [(WorkerSlot, CancellationFlag)] {
    state.withLock { state in
      let free = state.isClosed ? 0 : min(count, size - state.lent.count)
      return (0..<max(0, free)).map { _ in
        let flag = CancellationFlag()
        return (lend(to: flag, &state), flag)
      }
    }
  }

  /// Returns the slot of the file with this flag.
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

  /// Ensures that unneeded slots are released eventually: a run may be busy with uploads for hours.
  private func watch(_ state: inout State) {
    guard !state.isWatched, state.lent.isEmpty else { return }
    state.isWatched = true
    let loans = state.loans
    DispatchQueue.global().asyncAfter(
      deadline: .now() + .milliseconds(Int(clamping: idleTime.wholeMilliseconds))
    ) { [weak self] in self?.rest(loans) }
  }

  /// - Parameter loans: The number of loans when the watch began.
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

  /// Turns away waiting files, cancels every reading, and blocks until all slots are back and released.
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
