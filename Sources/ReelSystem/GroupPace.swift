import Synchronization

/// When the next group of something may begin that costs nearly the same for many as for one: a commit, a sync.
///
/// On a fast disk a group is over before a second member has come, and each member pays for a group of its own. So where
/// the last group showed that several are at it, the next one begins a moment after it began, and no sooner. Who is
/// alone never waits.
public final class GroupPace: Sendable {
  /// What a member waits at most beyond the group before it: little beside a sync of a disk that spins, and enough for
  /// some ten files to come together.
  public static let moment = Duration.milliseconds(8)

  private let earliest = Mutex<ContinuousClock.Instant?>(nil)

  /// The first group may begin at once.
  public init() {}

  /// How long to wait before the next group begins; zero for at once.
  public func wait(now: ContinuousClock.Instant = .now) -> Duration {
    earliest.withLock { $0.map { max(.zero, $0 - now) } ?? .zero }
  }

  /// A group has begun, of so many that somebody waits for.
  public func begins(with members: Int, now: ContinuousClock.Instant = .now) {
    earliest.withLock { $0 = members > 1 ? now + Self.moment : nil }
  }
}
