import ReelCore
import ReelIngest
import ReelLibrary
import Synchronization

/// Shows a run on stderr: events as they arrive, bars or lines on a timer.
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
  /// Sentences about what the run waits for and what its walk passes over, collected until the next frame is drawn
  /// below them.
  private let told: ToldLines

  /// Which files get a line when they end, besides those with a problem.
  package enum Telling {
    case none, published, all
  }

  /// - Parameters:
  ///   - showsProblems: whether a file that failed gets a line when it ends; warnings always get one.
  ///   - told: further sentences to show.
  package init(
    style: ProgressStyle, showsProblems: Bool, telling: Telling = .none, told: ToldLines = ToldLines(),
    isOfWatch: Bool = false
  ) {
    self.style = style
    plain = PlainProgress(isOfWatch: isOfWatch)
    (self.showsProblems, self.telling, self.told) = (showsProblems, telling, told)
  }

  private var draws: Bool { style == .bar || style == .plain || telling == .all }

  /// The time between two frames.
  private var interval: Duration { style == .bar ? .milliseconds(100) : .seconds(1) }

  /// Collects the events until the run's end.
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

  /// Draws until cancelled, and then leaves a clean line.
  package func draw(_ model: IngestModel) async {
    guard draws else { return }
    // The bars would be drawn over lines that others write to stderr.
    if style == .bar { LongWait.tell(by: { [told] in told.add($0) }) }
    // A run that ends at once needs no progress.
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

  /// Writes the text. An error only ends the display, not the run.
  private func write(_ text: String) async {
    guard !text.isEmpty, !isBroken else { return }
    let stream = stream
    isBroken = await queue.run { (try? stream.write(text)) == nil }
  }
}

/// Sentences to show.
package final class ToldLines: Sendable {
  private let sentences = Mutex<[String]>([])

  package init() {}

  package func add(_ sentence: String) { sentences.withLock { $0.append(sentence) } }

  /// The sentences added since the last call.
  package func take() -> [String] {
    sentences.withLock { sentences in
      defer { sentences = [] }
      return sentences
    }
  }
}

/// Says on standard error what a run is waiting for, so that it does not seem to hang, and what a store can't promise.
package enum LongWait {
  /// Shows sentences while bars are drawn; nil otherwise. There is one for the process, as there is one standard error.
  private static let display = Mutex<(@Sendable (String) -> Void)?>(nil)
  private static let told = Mutex<Set<String>>([])

  /// - Parameter show: called with each sentence, and must return quickly; nil for standard error itself.
  package static func tell(by show: (@Sendable (String) -> Void)?) { display.withLock { $0 = show } }

  /// Writes one line, replacing any line that is being drawn there.
  package static func tell(_ hold: LockHolder) { tell(hold.sentence) }

  /// Like ``tell(_:)``, but only once for the same sentence.
  package static func tellOnce(_ sentence: String) {
    if told.withLock({ $0.insert(sentence).inserted }) { tell(sentence) }
  }

  /// Writes one line, replacing any line that is being drawn there.
  package static func tell(_ sentence: String) {
    // Call it within the lock: once `tell(by: nil)` returns, every sentence has been passed on.
    let isShown = display.withLock { show in
      show?("reel: " + sentence)
      return show != nil
    }
    if isShown { return }
    let clearing = TerminalTraits.standardError().isTerminal ? "\r\u{1B}[2K" : ""
    // Ignore write errors: the run waits whether or not anyone reads this.
    let errors = OutputStream.standardError
    try? errors.write(clearing + errors.traits.complaint(["reel: " + sentence]))
  }
}
