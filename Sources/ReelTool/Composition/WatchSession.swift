import ReelCore
import ReelIngest
import ReelSource
import ReelTerminal

/// What `reel watch` does until a signal ends it: one run after the other, each until the settings are to be read again
/// or something that it needs can't be used.
struct WatchSession: Sendable {
  /// What a run needs, by the settings as they are.
  struct Plan: Sendable {
    let session: RunSession
    let feed: WatchFeed
    let options: IngestOptions
  }

  /// Reads the settings and opens what they name.
  let plan: @Sendable () async throws -> Plan
  let signals: WatchSignals
  let manager: ServiceManager

  /// How long to wait before a run is begun again: longer each time.
  private static let shortestPause = Duration.seconds(5)
  private static let longestPause = Duration.seconds(60)

  /// - Throws: what keeps the first run from beginning; ``OutputClosed``.
  func run() async throws {
    let watchdog = manager.beginWatchdog()
    defer { watchdog?.cancel() }
    var next = try await plan()
    var pause = Self.shortestPause
    while true {
      let begun = ContinuousClock.now
      let report = try await next.session.watch(next.feed, signals: signals, options: next.options)
      switch signals.take() {
      case .end:
        manager.tell("STOPPING=1")
        return try next.session.tell(report)
      case .reload: manager.tell("RELOADING=1\nMONOTONIC_USEC=\(ServiceManager.monotonicMicroseconds)")
      case nil:
        // It could not go on.
        try next.session.tell(report)
        if ContinuousClock.now - begun > Self.longestPause { pause = Self.shortestPause }
        guard await waits(pause) else { return }
        pause = min(Self.longestPause, pause * 2)
      }
      guard let planned = await replan(&pause) else { return }
      next = planned
    }
  }

  /// Until it can go on; nil when a signal ends it before that.
  private func replan(_ pause: inout Duration) async -> Plan? {
    while true {
      do {
        return try await plan()
      } catch {
        (error as? CommandFailure)?.tell()
        guard await waits(pause) else { return nil }
        pause = min(Self.longestPause, pause * 2)
      }
    }
  }

  /// - Returns: false when a signal ends everything.
  private func waits(_ pause: Duration) async -> Bool {
    await signals.wait(atMost: pause)
    return signals.take() != .end
  }
}
