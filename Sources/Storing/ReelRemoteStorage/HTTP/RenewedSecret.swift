import FoundationEssentials
import ReelCore

/// What requests are signed with or carry, and which ends: remembered until shortly before that, then looked for anew. Those
/// who ask at once share a look, and one that fails is no reason to throw away what is still good.
actor RenewedSecret<Value: Sendable> {
  struct Held: Sendable {
    let value: Value
    /// Nil where it does not end.
    let ends: Date?
    /// Looked for anew when so many seconds are left.
    var margin = 300.0
  }
  /// Looks once.
  typealias Look = @Sendable () async throws(UploadError) -> Held

  private let look: Look
  private let clock: any WallClock
  private var held: Held?
  private var looking: Task<Result<Held, UploadError>, Never>?
  /// Until then what is held does, as a look has just given nothing better.
  private var pausedUntil = Date.distantPast

  /// With fewer seconds left it is not used any more: a request takes its time.
  private static var least: Double { 30 }
  /// Seconds between two looks that give nothing better.
  private static var pause: Double { 10 }

  init(clock: any WallClock, look: @escaping Look) {
    (self.clock, self.look) = (clock, look)
  }

  /// What is remembered, or a fresh one.
  func current() async throws(UploadError) -> Value {
    if let held, left(of: held) > (clock.now() < pausedUntil ? Self.least : held.margin) { return held.value }
    let task = looking ?? Task { await outcome() }
    looking = task
    let result = await task.value
    if looking == task {
      looking = nil
      settle(result)
    }
    if let held, left(of: held) > Self.least { return held.value }
    return try result.get().value
  }

  /// Forgets what is held if it is meant.
  func forget(where isMeant: @Sendable (Value) -> Bool = { _ in true }) {
    if let held, isMeant(held.value) { (self.held, pausedUntil) = (nil, .distantPast) }
  }

  private func outcome() async -> Result<Held, UploadError> {
    do throws(UploadError) {
      return .success(try await look())
    } catch {
      return .failure(error)
    }
  }

  /// Keeps what is good for longer, and asks no more for a while after a look that gave no such.
  private func settle(_ result: Result<Held, UploadError>) {
    let fresh = try? result.get()
    let before = held.map { left(of: $0) } ?? -.infinity
    let now = fresh.map { left(of: $0) } ?? -.infinity
    if now >= before, let fresh { held = fresh }
    if now <= before { pausedUntil = clock.now().addingTimeInterval(Self.pause) }
  }

  /// Seconds.
  private func left(of held: Held) -> Double {
    held.ends?.timeIntervalSince(clock.now()) ?? .infinity
  }
}
