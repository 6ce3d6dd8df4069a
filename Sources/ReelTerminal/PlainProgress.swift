import ReelIngest

/// Progress as plain lines now and then (`--progress plain`): for logs, pipes and terminals that cannot draw.
///
/// Call ``lines(for:_:throughput:at:traits:)`` with what has happened since the last call, and every second or so with
/// nothing.
package struct PlainProgress: Sendable {
  private let interval: Duration
  private let announcements: Announcements
  private var lastSpoken: ContinuousClock.Instant?
  private var saidScanned = false

  /// - Parameters:
  ///   - interval: between two lines about the run.
  ///   - announcements: which events get a line at once.
  package init(interval: Duration = .seconds(5), announcements: Announcements = .troubles) {
    self.interval = interval
    self.announcements = announcements
  }

  /// The lines to write, without newlines: those of `events`, and one about the run when it is time for it, or when
  /// the walk has come to its end.
  package mutating func lines(
    for events: [IngestEvent], _ state: IngestState, throughput: RunThroughput? = nil,
    at instant: ContinuousClock.Instant,
    traits: TerminalTraits
  ) -> [String] {
    let announced = events.flatMap { announcements.styled($0, traits) }
    let status = isTimeToSpeak(state, instant) ? status(state, throughput, traits) : []
    return (announced + status).map { $0.text(traits) }
  }

  private mutating func isTimeToSpeak(_ state: IngestState, _ instant: ContinuousClock.Instant) -> Bool {
    guard state.phase == .running else { return false }
    let isNews = state.scanComplete && !saidScanned
    let isTime = lastSpoken.map { instant - $0 >= interval } ?? true
    guard isNews || isTime else { return false }
    saidScanned = state.scanComplete
    lastSpoken = instant
    return true
  }

  private func status(_ state: IngestState, _ throughput: RunThroughput?, _ traits: TerminalTraits)
    -> [StyledLine]
  {
    let line = RunLine(state: state, throughput: throughput ?? RunThroughput(), traits: traits)
    return traits.columns == nil ? [line.whole()] : [line.line()]
  }
}
