import FoundationEssentials
import ReelCore

/// A secret that requests are signed with or carry, and that expires. It is remembered until shortly before it expires,
/// then looked up anew. Callers that ask at the same time share one lookup, and a failed lookup does not discard a
/// secret that is still valid.
actor RenewedSecret<Value: Sendable> {
  struct Held: Sendable {
    let value: Value
    /// When it expires; nil if it does not.
    let ends: Date?
    /// The number of seconds before the end at which a new one is looked up.
    var margin = 300.0
  }
  /// Looks the secret up once.
  typealias Look = @Sendable () async throws(UploadError) -> Held

  private let look: Look
  private let clock: any WallClock
  private var held: Held?
  private var looking: Task<Result<Held, UploadError>, Never>?
  /// Until then the held secret is used without another lookup, as the last one gave nothing better.
  private var pausedUntil = Date.distantPast

  /// A secret with fewer seconds left is not used: a request takes time.
  private static var least: Double { 30 }
  /// The number of seconds to wait after a lookup that gave nothing better.
  private static var pause: Double { 10 }

  init(clock: any WallClock, look: @escaping Look) {
    (self.clock, self.look) = (clock, look)
  }

  /// Returns the remembered secret, or a fresh one.
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

  /// Forgets the held secret if `isMeant` is true of it.
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

  /// Keeps a secret that lasts at least as long, and pauses lookups after one that gave nothing better.
  private func settle(_ result: Result<Held, UploadError>) {
    let fresh = try? result.get()
    let before = held.map { left(of: $0) } ?? -.infinity
    let now = fresh.map { left(of: $0) } ?? -.infinity
    if now >= before, let fresh { held = fresh }
    if now <= before { pausedUntil = clock.now().addingTimeInterval(Self.pause) }
  }

  /// Returns the number of seconds left.
  private func left(of held: Held) -> Double {
    held.ends?.timeIntervalSince(clock.now()) ?? .infinity
  }
}
