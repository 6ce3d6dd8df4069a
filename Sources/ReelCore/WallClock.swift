import FoundationEssentials

/// The time of day, for what is written down (posts, leases). A test sets its own.
public protocol WallClock: Sendable {
  func now() -> Date
}

/// The machine's clock.
public struct SystemWallClock: WallClock {
  /// The clock has no settings.
  public init() {}

  /// The system's time; it may jump when somebody sets it.
  public func now() -> Date { Date() }
}
