import ReelFeeds
import ReelIngest
import ReelProcess
import ReelTerminal

/// The work of `reel watch`, until a signal ends it: one run after the other. A run ends when the settings are to be
/// reread, or when something that it needs can't be used.
struct WatchSession: Sendable {
  /// What a run needs, according to the current settings.
  struct Plan: Sendable {
    let session: RunSession
    let feed: WatchFeed
    let options: IngestOptions
    let greeting: WatchGreeting
  }

  /// Reads the settings and opens what they name.
  let plan: @Sendable () async throws -> Plan
  let signals: WatchSignals
  let manager: ServiceManager

  /// The first and the longest pause before a failed run is started again. Each pause is twice as long as the one
  /// before.
  private static let shortestPause = Duration.seconds(5)
  private static let longestPause = Duration.seconds(60)

  /// - Throws: what keeps the first run from starting; ``OutputClosed``; ``CommandExit`` where Reel was updated.
  func run() async throws {
    let watchdog = manager.beginWatchdog()
    defer { watchdog?.cancel() }
    let start = ContinuousClock.now
    var next = try await plan()
    var outage = Outage()
    var total: RunReport?
    var greeting: (WatchNotice.Code, String)?
    next.session.greet(next.greeting)
    while true {
      let begun = ContinuousClock.now
      var report = try await next.session.watch(next.feed, signals: signals, options: next.options)
      if let total { report.add(earlier: total) }
      report.summary.seconds = (ContinuousClock.now - start) / .seconds(1)
      total = report
      if next.feed.hasAnnounced { greeting = nil }
      switch signals.take() {
      case .end: return try end(next.session, report)
      case .reload:
        manager.tell("RELOADING=1\nMONOTONIC_USEC=\(ServiceManager.monotonicMicroseconds)")
        greeting = (.reloaded, "the settings were read again")
      case nil:
        if ContinuousClock.now - begun > Self.longestPause { outage = Outage() }
        let reason = report.summary.error?.message ?? "no reason was given"
        // The installed worker has another version, and only a newly started process can have the same one.
        if next.session.appContext.prober.hasMetOtherVersion {
          next.session.warn("could not continue: \(reason)")
          try end(next.session, report, .couldNotRun)
          throw CommandExit(code: .couldNotRun)
        }
        if outage.isNew(reason) {
          next.session.warn("could not continue: \(reason); retrying")
          greeting = (.restarted, "the previous run could not continue: \(reason)")
        }
        guard await waits(outage.nextPause()) else { return try end(next.session, report) }
      }
      guard let planned = await replan(&outage, next.session) else { return try end(next.session, report) }
      next = planned
      if let (code, message) = greeting {
        next.feed.announce(code, message)
        if code == .reloaded { next.session.greet(next.greeting) }
      }
    }
  }

  /// Reports what became of everything since the start.
  private func end(_ session: RunSession, _ report: RunReport, _ exit: ReelExit = .done) throws {
    manager.tell("STOPPING=1")
    try session.tell(report, exit)
  }

  /// Plans the next run, and retries until that succeeds; nil when a signal ends the watch first.
  private func replan(_ outage: inout Outage, _ session: RunSession) async -> Plan? {
    while true {
      do {
        return try await plan()
      } catch {
        let reason = CommandFailure.reason(error)
        if outage.isNew(reason) { session.warn("\(reason); retrying") }
        guard await waits(outage.nextPause()) else { return nil }
      }
    }
  }

  /// A period in which no run makes progress.
  private struct Outage {
    private var pause = WatchSession.shortestPause
    private var told: Set<String> = []

    /// Whether that reason has not been reported yet.
    mutating func isNew(_ reason: String) -> Bool { told.insert(reason).inserted }

    /// The next pause, twice as long as the one before.
    mutating func nextPause() -> Duration {
      defer { pause = min(WatchSession.longestPause, pause * 2) }
      return pause
    }
  }

  /// Pauses. Returns false when a signal ends the watch.
  private func waits(_ pause: Duration) async -> Bool {
    await signals.wait(atMost: pause)
    return signals.take() != .end
  }
}
