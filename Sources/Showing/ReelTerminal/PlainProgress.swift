import ReelCore
import ReelIngest

/// Progress as occasional plain lines (`--progress plain`), for logs, pipes and terminals that cannot draw.
///
/// Call ``lines(for:_:throughput:at:traits:)`` with the events since the last call, and about every second without any.
package struct PlainProgress: Sendable {
  private static let interval = Duration.seconds(5)
  private let isOfWatch: Bool
  private var lastCounts: Counts?
  private var firstSpoken: ContinuousClock.Instant?
  private var lastSpoken: ContinuousClock.Instant?
  private var saidScanned = false

  /// - Parameter isOfWatch: whether to stay silent while nothing happens, which may be for days.
  package init(isOfWatch: Bool = false) { self.isOfWatch = isOfWatch }

  /// The numbers in a line.
  private struct Counts: Hashable {
    let found, done, inFlight: Int
    let worked: Int64

    init(_ state: IngestState) {
      (found, done, inFlight) = (state.found, state.done, state.inFlight.count)
      worked = state.workedBytes
    }
  }

  /// The lines to write, without newlines: those of `events`, and one about the run if it is due or the walk is
  /// complete.
  package mutating func lines(
    for events: [IngestEvent], _ state: IngestState, throughput: RunThroughput? = nil,
    at instant: ContinuousClock.Instant,
    traits: TerminalTraits
  ) -> [String] {
    let problems = events.flatMap { ProblemSummary.lines(for: $0, traits) }
    return problems + (isTimeToSpeak(state, instant) ? [status(state, throughput, traits).text(traits)] : [])
  }

  private mutating func isTimeToSpeak(_ state: IngestState, _ instant: ContinuousClock.Instant) -> Bool {
    guard state.phase == .running else { return false }
    let isNews = state.scanComplete && !saidScanned
    let isTime = lastSpoken.map { instant - $0 >= pause(at: instant) } ?? true
    guard isNews || isTime, !isOfWatch || lastCounts != Counts(state), !isOfWatch || state.found > 0 else {
      return false
    }
    lastCounts = Counts(state)
    firstSpoken = firstSpoken ?? instant
    saidScanned = state.scanComplete
    lastSpoken = instant
    return true
  }

  /// People read a log of many hours afterwards, so after a minute lines are written less often.
  private func pause(at instant: ContinuousClock.Instant) -> Duration {
    let isYoung = firstSpoken.map { instant - $0 < Self.interval * 12 } ?? true
    return isYoung ? Self.interval : Self.interval * 6
  }

  private func status(
    _ state: IngestState, _ throughput: RunThroughput?, _ traits: TerminalTraits
  ) -> StyledLine {
    let line = RunLine(state: state, throughput: throughput ?? RunThroughput(), traits: traits)
    return traits.columns == nil ? line.whole() : line.line()
  }
}

/// The lines of the two most frequent events of a run over a large folder, assembled without an encoder. They are
/// exactly what the encoder would write, and are used only if no text needs an escape.
enum PlainEventLine {
  /// Writes the line, or returns false and writes nothing.
  static func append(_ event: IngestEvent, at time: String, to line: inout [UInt8]) -> Bool {
    guard let file = event.body.file, isPlain(file.path.bytes) else { return false }
    let head = #"{"at":"\#(time)","#
    let place = #""file":\#(file.number),"path":""#
    let tail = #","type":"\#(event.body.type)","v":\#(IngestEvent.version)}"# + "\n"
    switch event.body {
    case .fileStarted(_, let size):
      line += (head + place).utf8
      line += file.path.bytes
      let bytes = size.map { "\($0)" } ?? "null"
      line += #"","seq":\#(event.sequence),"size":\#(bytes)"#.utf8
    case .fileFailed(_, let failure):
      guard isPlain(failure.code.rawValue.utf8), isPlain(failure.message.utf8) else { return false }
      line += (head + #""error":{"code":"\#(failure.code)","message":"\#(failure.message)"},"# + place).utf8
      line += file.path.bytes
      line += #"","seq":\#(event.sequence)"#.utf8
    default: return false
    }
    line += tail.utf8
    return true
  }

  private static let quoting = [UInt8(ascii: "\""), UInt8(ascii: "\\")]
  private static let paired = [UInt8(ascii: "#"), UInt8(ascii: ":")]

  /// Whether the text is printable ASCII without quotes, backslashes and the pairs that a CI runner acts on.
  static func isPlain(_ text: some Sequence<UInt8>) -> Bool {
    var previous: UInt8 = 0
    for byte in text {
      if !(0x20...0x7E).contains(byte) || quoting.contains(byte) { return false }
      if byte == previous, paired.contains(byte) { return false }
      previous = byte
    }
    return true
  }
}
