import ReelIngest
import ReelModel

/// What `reel ingest` says when it is done.
public struct RunReport: Hashable, Sendable {
  /// As in `run.finished`.
  public var summary: RunSummary
  /// Where it went; nil when the run ended before that was known.
  public var destination: Destination?
  /// Whether nothing was to be written.
  public var dryRun: Bool
  /// Files that were found and have had no end; nil when the walk did not get to its end, so that nobody knows.
  public var unfinished: Int?
  /// The files that failed or were refused.
  public var troubles: TroubleList

  /// From its parts.
  public init(
    summary: RunSummary, destination: Destination?, dryRun: Bool, unfinished: Int?, troubles: TroubleList
  ) {
    self.summary = summary
    self.destination = destination
    self.dryRun = dryRun
    self.unfinished = unfinished
    self.troubles = troubles
  }

  /// - Parameters:
  ///   - summary: of `run.finished`.
  ///   - state: the last one of the run.
  public init(_ summary: RunSummary, state: IngestState, troubles: TroubleList) {
    self.init(
      summary: summary, destination: state.destination, dryRun: state.dryRun,
      unfinished: state.scanComplete ? max(0, state.found - state.done) : nil, troubles: troubles)
  }

  /// The report for people, a newline after each line.
  ///
  /// - Parameter listing: at most so many troubles are told one by one.
  public func text(_ traits: TerminalTraits, listing: Int = 20) -> String {
    var lines = traits.wrapped(traits.harmless(headline.text), headline.ink)
    lines += counts(traits)
    lines += listed(listing, traits)
    lines += advice.flatMap { traits.wrapped($0, .dim) }
    return lines.text(traits)
  }
}

extension RunReport {
  /// Files that have had their end.
  private var ended: Int {
    summary.published + summary.duplicates + summary.planned + summary.refused + summary.failed
  }

  private var headline: (text: String, ink: StyledLine.Ink?) {
    switch summary.outcome {
    case .aborted: ("could not go on: \(summary.error?.message ?? "no reason was given")", .failure)
    case .cancelled: ("interrupted: \(soFar); \(goesOn)", .warning)
    case .stopped: ("stopped at a failure, as --on-error stop asks: \(soFar); \(goesOn)", .warning)
    case .completed: completed
    }
  }

  private var completed: (text: String, ink: StyledLine.Ink?) {
    if ended == 0 { return ("nothing to take in: no video was found", .warning) }
    if dryRun { return ("dry run, nothing was written: \(planned)", .strong) }
    let troubles = summary.refused + summary.failed
    if summary.published > 0 { return (published, troubles == 0 ? .success : .strong) }
    if troubles > 0 { return ("nothing published: \(soFar)", .warning) }
    return (
      summary.duplicates == 1
        ? "nothing new: the video is a post already"
        : "nothing new: all \(summary.duplicates) videos are posts already", .strong
    )
  }

  private var published: String {
    let videos = HumanNumber.count(summary.published, "video", "videos")
    let place = destination.map { " to \($0.name)" } ?? ""
    return "published \(videos)\(place): \(amount)"
  }

  /// `345 MB in 4.1 s (84.2 MB/s)`
  private var amount: String {
    let amount = "\(HumanNumber.bytes(summary.publishedBytes)) in \(HumanNumber.duration(summary.seconds))"
    guard summary.seconds > 0 else { return amount }
    return amount + " (\(HumanNumber.rate(Double(summary.publishedBytes) / summary.seconds)))"
  }

  private var planned: String {
    var parts = ["\(summary.planned) would be published"]
    if summary.duplicates == 1 { parts.append("1 is a post already") }
    if summary.duplicates > 1 { parts.append("\(summary.duplicates) are posts already") }
    if summary.refused > 0 { parts.append("\(summary.refused) would be refused") }
    if summary.failed > 0 { parts.append("\(summary.failed) would fail") }
    return parts.joined(separator: ", ")
  }

  private var soFar: String {
    var parts = dryRun ? ["\(summary.planned) would be published"] : ["\(summary.published) published"]
    if summary.duplicates > 0 {
      parts.append(HumanNumber.count(summary.duplicates, "duplicate", "duplicates"))
    }
    if summary.refused > 0 { parts.append("\(summary.refused) refused") }
    if summary.failed > 0 { parts.append("\(summary.failed) failed") }
    if summary.outcome != .completed {
      parts.append(unfinished.map { "\($0) not started" } ?? "the rest not started")
    }
    return parts.joined(separator: ", ")
  }

  private var goesOn: String { "the same command again goes on where this stopped" }
}

extension RunReport {
  private func counts(_ traits: TerminalTraits) -> [StyledLine] {
    var sheet = FactSheet(traits)
    func add(_ label: String, _ number: Int, _ detail: String = "", _ ink: StyledLine.Ink? = nil) {
      guard number > 0 else { return }
      sheet.add(label, detail.isEmpty ? "\(number)" : "\(number), \(detail)", ink)
    }
    add("published", summary.published, HumanNumber.bytes(summary.publishedBytes))
    add("would publish", summary.planned)
    add("duplicates", summary.duplicates, "posts already")
    add("refused", summary.refused, "", .warning)
    add("failed", summary.failed, "", .failure)
    sheet.add("reasons", reasons)
    add("ignored", summary.ignored, "no videos")
    return sheet.lines()
  }

  /// The most frequent first.
  private var reasons: String {
    summary.reasons
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.key) \($0.value)" }
      .joined(separator: ", ")
  }

  private func listed(_ limit: Int, _ traits: TerminalTraits) -> [StyledLine] {
    let shown = troubles.entries.prefix(max(0, limit))
    let hidden = troubles.entries.count - shown.count + troubles.leftOut
    var lines = shown.flatMap { entry in
      traits.wrapped(
        entry.refused ? "refused" : "failed", entry.refused ? .warning : .failure,
        "\(traits.harmless(entry.path.text)): \(traits.harmless(entry.message))")
    }
    if hidden > 0 { lines += traits.wrapped("and \(hidden) more: reel status", .dim) }
    return lines
  }

  /// What to do next.
  private var advice: [String] {
    if dryRun { return summary.planned > 0 ? ["To publish them, leave out --dry-run."] : [] }
    var advice: [String] = []
    if summary.published > 0 { advice.append("See them: reel feed") }
    if summary.failed + summary.refused > 0 { advice.append("What failed and why, at any time: reel status") }
    return advice
  }
}
