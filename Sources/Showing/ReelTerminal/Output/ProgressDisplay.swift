import ReelCore
import ReelIngest
import ReelLibrary
import Synchronization

/// Shows a run on stderr: events as they come, bars or lines on a clock.
package actor ProgressDisplay {
  private let style: ProgressStyle
  private let showsProblems: Bool
  private let telling: Telling
  private let stream = OutputStream.standardError
  private let queue = BlockingQueue(label: "reel.progress", width: 1)
  private var bars = BarsRenderer()
  private var plain: PlainProgress
  private var throughput = ThroughputWindow()
  private var pending: [IngestEvent] = []
  package private(set) var troubles = ProblemList()
  private var isBroken = false
  /// What the run waits for, and what its walk passes by, until a frame is drawn below it.
  private let told: ToldLines

  /// Which files get a line as they end, besides those with a problem.
  package enum Telling {
    case none, published, all
  }

  /// - Parameters:
  ///   - showsProblems: whether a file that failed gets a line as it ends; warnings get one always.
  ///   - told: sentences that are to be shown, too.
  package init(
    style: ProgressStyle, showsProblems: Bool, telling: Telling = .none, told: ToldLines = ToldLines(),
    isOfWatch: Bool = false
  ) {
    self.style = style
    plain = PlainProgress(isOfWatch: isOfWatch)
    (self.showsProblems, self.telling, self.told) = (showsProblems, telling, told)
  }

  private var draws: Bool { style == .bar || style == .plain || telling == .all }

  /// How often it is drawn.
  private var interval: Duration { style == .bar ? .milliseconds(100) : .seconds(1) }

  /// Takes the events in until the run's end.
  package func listen(to events: IngestEvents) async {
    for await batch in events.batches() {
      for event in batch {
        troubles.note(event)
        if draws, isShown(event.body) { pending.append(event) }
      }
    }
  }

  private func isShown(_ body: IngestEvent.Body) -> Bool {
    switch (body.concern, body) {
    case (.warning, _): true
    case (.some, _): showsProblems
    case (nil, .postPublished): telling != .none
    case (nil, _): telling == .all && body.isTerminal
    }
  }

  private func lines(_ events: [IngestEvent], _ traits: TerminalTraits) -> [String] {
    traits.lines(told.take())
      + events.flatMap { event in
        ProblemSummary.lines(for: event, traits) + EndLine.lines(for: event, traits)
      }
  }

  /// Draws until cancelled, and leaves a clean line behind.
  package func draw(_ model: IngestModel) async {
    guard draws else { return }
    // Lines that others write would stand where the bars are drawn over.
    if style == .bar { LongWait.tell(by: { [told] in told.add($0) }) }
    // A run that is over at once needs no progress.
    try? await Task.sleep(for: interval)
    while !Task.isCancelled {
      await show(await model.state)
      try? await Task.sleep(for: interval)
    }
    LongWait.tell(by: nil)
    await end(await model.state)
  }

  private func show(_ state: IngestState) async {
    let traits = TerminalTraits.standardError()
    let now = ContinuousClock.now
    let speed = throughput.throughput(of: state, at: now)
    let events = pending
    pending = []
    let above = lines(events, traits)
    switch style {
    case .bar: await write(bars.frame(state, throughput: speed, above: above, traits: traits))
    case .plain:
      let status = plain.lines(for: [], state, throughput: speed, at: now, traits: traits)
      await write((above + status).map { $0 + "\n" }.joined())
    case .auto, .none: await write(above.map { $0 + "\n" }.joined())
    }
  }

  private func end(_ state: IngestState) async {
    let traits = TerminalTraits.standardError()
    let lines = lines(pending, traits)
    pending = []
    let cleared = style == .bar ? bars.clear(traits: traits) : ""
    await write(cleared + lines.map { $0 + "\n" }.joined())
  }

  /// Progress that nobody can see any more is no reason to end a run.
  private func write(_ text: String) async {
    guard !text.isEmpty, !isBroken else { return }
    let stream = stream
    isBroken = await queue.run { (try? stream.write(text)) == nil }
  }
}

/// Sentences that are to be shown.
package final class ToldLines: Sendable {
  private let sentences = Mutex<[String]>([])

  package init() {}

  package func add(_ sentence: String) { sentences.withLock { $0.append(sentence) } }

  /// Those since the last call.
  package func take() -> [String] {
    sentences.withLock { sentences in
      defer { sentences = [] }
      return sentences
    }
  }
}

/// Says on standard error what a run waits for, so that nobody takes it for a hang, and what a store can't promise.
package enum LongWait {
  /// What shows it while bars are drawn; nil where nothing is drawn. One for the process, as standard error is.
  private static let display = Mutex<(@Sendable (String) -> Void)?>(nil)
  private static let told = Mutex<Set<String>>([])

  /// - Parameter show: given each sentence, and not to take long; nil for standard error itself.
  package static func tell(by show: (@Sendable (String) -> Void)?) { display.withLock { $0 = show } }

  /// One line, over whatever line is being drawn there.
  package static func tell(_ hold: LockHolder) { tell(hold.sentence) }

  /// As ``tell(_:)``; what was told so before is not told again.
  package static func tellOnce(_ sentence: String) {
    if told.withLock({ $0.insert(sentence).inserted }) { tell(sentence) }
  }

  /// As ``tell(_:)``.
  package static func tell(_ sentence: String) {
    // Within the lock: who takes the display away shows what it was given.
    let isShown = display.withLock { show in
      show?("reel: " + sentence)
      return show != nil
    }
    if isShown { return }
    let clearing = TerminalTraits.standardError().isTerminal ? "\r\u{1B}[2K" : ""
    // Who does not read what we say waits all the same.
    let errors = OutputStream.standardError
    try? errors.write(clearing + errors.traits.complaint(["reel: " + sentence]))
  }
}
