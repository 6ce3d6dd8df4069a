import ReelModel
import Synchronization

/// Gives each seat to one file at a time, first come, first served; a file that is cancelled leaves the line at once.
final class SeatLine: Sendable {
  private struct Waiting {
    let interruption: CancellationFlag
    let continuation: CheckedContinuation<Seat?, Never>
  }
  private struct State {
    /// The one given back last is given out first: its worker is warm, and seats that are not needed start none.
    var idle: [Seat]
    var waiting: [Waiting] = []
    var busy: [ObjectIdentifier: CancellationFlag] = [:]
    var isClosed = false
    var closing: [CheckedContinuation<Void, Never>] = []
  }
  private let state: Mutex<State>

  init(_ seats: [Seat]) {
    state = Mutex(State(idle: seats))
  }

  /// How many have a seat, and how many stand in line for one.
  var counts: (seated: Int, inLine: Int) {
    state.withLock { (seated: $0.busy.count, inLine: $0.waiting.count) }
  }

  /// A seat, to be given back; nil when `interruption` has come meanwhile, or the line is closed.
  func take(_ interruption: CancellationFlag) async -> Seat? {
    let leaving = interruption.onSet { [weak self, weak interruption] in
      if let interruption { self?.leave(interruption) }
    }
    defer { interruption.clear(leaving) }
    return await withCheckedContinuation { continuation in
      enter(Waiting(interruption: interruption, continuation: continuation))
    }
  }

  /// The seat is free for the next in line.
  func giveBack(_ seat: Seat, _ interruption: CancellationFlag) {
    let (next, closing) = state.withLock { state in
      state.busy[ObjectIdentifier(interruption)] = nil
      return (Self.passOn(seat, &state), Self.finished(&state))
    }
    next?.continuation.resume(returning: seat)
    for continuation in closing { continuation.resume() }
  }

  /// Seats that nobody has, warm ones first, each to be given back.
  func takeIdle(atMost count: Int) -> [(Seat, CancellationFlag)] {
    state.withLock { state in
      let taken = state.idle.suffix(max(0, count)).map { ($0, CancellationFlag()) }
      state.idle.removeLast(taken.count)
      for (_, interruption) in taken { state.busy[ObjectIdentifier(interruption)] = interruption }
      return taken
    }
  }

  /// Sends everybody away, interrupts who has a seat, and returns when all seats are back and gone.
  func close() async {
    let (waiting, busy) = state.withLock { state in
      defer { (state.waiting, state.idle) = ([], []) }
      state.isClosed = true
      return (state.waiting, Array(state.busy.values))
    }
    for one in waiting { one.continuation.resume(returning: nil) }
    for interruption in busy { interruption.set() }
    await withCheckedContinuation { continuation in
      let isEmpty = state.withLock { state in
        if !state.busy.isEmpty { state.closing.append(continuation) }
        return state.busy.isEmpty
      }
      if isEmpty { continuation.resume() }
    }
  }

  private func enter(_ one: Waiting) {
    let answer: Seat?? = state.withLock { state in
      if state.isClosed || one.interruption.isSet { return .some(nil) }
      guard let seat = state.idle.popLast() else {
        state.waiting.append(one)
        return nil
      }
      state.busy[ObjectIdentifier(one.interruption)] = one.interruption
      return seat
    }
    if let answer { one.continuation.resume(returning: answer) }
  }

  private func leave(_ interruption: CancellationFlag) {
    let left: Waiting? = state.withLock { state in
      guard let place = state.waiting.firstIndex(where: { $0.interruption === interruption }) else {
        return nil
      }
      return state.waiting.remove(at: place)
    }
    left?.continuation.resume(returning: nil)
  }

  private static func passOn(_ seat: Seat, _ state: inout State) -> Waiting? {
    if state.isClosed { return nil }
    guard !state.waiting.isEmpty else {
      state.idle.append(seat)
      return nil
    }
    let next = state.waiting.removeFirst()
    state.busy[ObjectIdentifier(next.interruption)] = next.interruption
    return next
  }

  private static func finished(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
    guard state.isClosed, state.busy.isEmpty else { return [] }
    defer { state.closing = [] }
    return state.closing
  }
}
