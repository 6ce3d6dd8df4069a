import ReelCore
import ReelIngest

/// The final report of `reel ingest`.
package struct RunReport: Hashable, Sendable {
  /// The summary in `run.finished`.
  package var summary: RunSummary
  /// The destination; nil if the run ended before it was known.
  package var destination: Destination?
  package var dryRun: Bool
  /// The number of files that were found but did not end; nil if the walk was not completed, so that the number is
  /// unknown.
  package var unfinished: Int?
  package var troubles: ProblemList
  /// Whether only the store's own statement vouches for its objects (`UploadTraits.trustsClientDigest`).
  package var trustsClientDigest = false
  package var origin = Origin.files
  /// Whether `--include` or `--exclude` may have left files out.
  package var isFiltered = false
  /// A file that was changed less than this many seconds ago is left alone.
  package var settle = 0.0
  /// Videos that were or would be published although they already were posts; nil if not looked up.
  package var seconds: Seconds?
  /// Requests that had no effect because the videos already were posts; nil if not looked up.
  package var unheeded: UnheededWishes.Found?
  /// How often a file of a watch was postponed.
  package var postponements = 0

  /// The number of files in watched folders that were not complete yet.
  package var waiting = 0

  /// A run's videos that are also other posts.
  package struct Seconds: Hashable, Sendable {
    /// The number of videos with a post of the same author in another store.
    package var elsewhere = 0
    /// The number of videos with posts of other authors only.
    package var ofOthers = 0
    /// Whether only some of the run's videos were looked up.
    package var isAtLeast = false
    /// The posts that they have become; empty in a dry run.
    package var new: [PostID] = []
    /// The same author's posts in other stores, and those stores.
    package var old: [PostID] = []
    package var stores: [Destination] = []

    package init() {}

    var count: Int { elsewhere + ofOthers }
  }

  /// The source of the files.
  package enum Origin: Hashable, Sendable {
    case files, queue
    /// Watched folders, until the watch was ended.
    case watch
  }

  package init(
    summary: RunSummary, destination: Destination?, dryRun: Bool, unfinished: Int?, troubles: ProblemList
  ) {
    self.summary = summary
    self.destination = destination
    self.dryRun = dryRun
    self.unfinished = unfinished
    self.troubles = troubles
  }

  package init(_ summary: RunSummary, state: IngestState, troubles: ProblemList) {
    self.init(
      summary: summary, destination: state.destination, dryRun: state.dryRun,
      unfinished: state.scanComplete ? max(0, state.found - state.done) : nil, troubles: troubles)
    postponements = state.postponed.values.reduce(0, +)
  }

  /// Adds the counts of an earlier run of the same watch.
  package mutating func add(earlier: RunReport) {
    let other = earlier.summary
    summary.published += other.published
    summary.duplicates += other.duplicates
    summary.removed += other.removed
    summary.planned += other.planned
    summary.refused += other.refused
    summary.failed += other.failed
    summary.cancelled += other.cancelled
    summary.ignored += other.ignored
    summary.leftAlone += other.leftAlone
    summary.publishedBytes = summary.publishedBytes.addingClamped(other.publishedBytes)
    summary.postersFailed += other.postersFailed
    summary.reasons.merge(other.reasons, uniquingKeysWith: +)
    postponements += earlier.postponements
    troubles.add(earlier: earlier.troubles)
  }

  /// How the run went, in one sentence.
  package var headline: String { RunHeadline(report: self).text }

  /// The report for people, with a newline after each line.
  ///
  /// - Parameters:
  ///   - listing: the largest number of problems to list; 0 if they were shown as they happened.
  ///   - hint: writes the commands to suggest.
  package func text(_ traits: TerminalTraits, listing: Int = 20, hint: CommandHint = CommandHint()) -> String
  {
    let headline = RunHeadline(report: self)
    var lines = traits.wrapped(traits.sanitized(headline.text), headline.style)
    lines += counts(traits)
    lines += listed(listing, traits, hint)
    for advice in advice(hint) {
      lines +=
        advice.command.map { traits.wrapped(advice.sentence, command: traits.command($0), .dim) }
        ?? traits.wrapped(advice.sentence, .dim)
    }
    return lines.text(traits)
  }
}

extension RunReport {
  /// The number of different kinds of results. If there is only one, the headline has said it.
  private var kinds: Int {
    [
      summary.published, summary.duplicates, summary.removed, summary.planned, summary.refused,
      summary.failed,
      summary.ignored, summary.leftAlone, summary.postersFailed,
    ].count { $0 > 0 }
  }

  private func counts(_ traits: TerminalTraits) -> [StyledLine] {
    // An interrupted run gets only one line.
    guard kinds > 1 || waiting > 0, origin == .watch || summary.outcome != .cancelled else { return [] }
    var sheet = FactSheet(traits)
    func add(_ label: String, _ number: Int, _ detail: String = "", _ style: StyledLine.TextStyle? = nil) {
      guard number > 0 else { return }
      sheet.add(label, detail.isEmpty ? "\(number)" : "\(number), \(detail)", style)
    }
    add("published", summary.published, HumanNumber.bytes(summary.publishedBytes))
    add("no poster", summary.postersFailed, "published without", .warning)
    add("would publish", summary.planned)
    add("duplicates", summary.duplicates, "already published")
    add(
      "removed", summary.removed,
      summary.removed == 1 ? "its post was removed, and stays so" : "their posts were removed, and stay so")
    add("refused", summary.refused, "", .warning)
    add("failed", summary.failed, "", .failure)
    sheet.add("reasons", reasons)
    add("ignored", summary.ignored, "not videos")
    add("waiting", waiting, "not complete yet; the next reel watch looks again")
    add("left alone", summary.leftAlone, "changed less than \(HumanNumber.time(settle)) ago")
    return sheet.lines()
  }

  /// Sorted, most frequent first.
  private var reasons: String {
    summary.reasons
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.key) \($0.value)" }
      .joined(separator: ", ")
  }

  private func listed(_ limit: Int, _ traits: TerminalTraits, _ hint: CommandHint) -> [StyledLine] {
    guard limit > 0 else { return [] }
    // A dry run leaves no record that `reel status` could show.
    let place = dryRun ? "use --events FILE to get all of them" : hint.text("status")
    return traits.listed(troubles.entries, most: limit, beside: troubles.leftOut, rest: ": \(place)") {
      ProblemSummary.lines($0, traits)
    }
      + traits.listed(
        troubles.warnings, most: limit, beside: troubles.warningsLeftOut,
        rest: " warnings: use --events FILE to get all of them"
      ) {
        ProblemSummary.lines($0, traits)
      }
  }

  /// What to do next, with the command for it.
  private typealias Advice = (sentence: String, command: String?)

  private func number(_ count: Int, _ isAtLeast: Bool) -> String {
    (isAtLeast ? "at least " : "") + "\(count) \(count == 1 ? "is a post" : "are posts")"
  }

  /// The largest number of posts named on one line.
  private static let mostNamed = 8

  private func named(_ posts: [PostID]) -> String {
    posts.count > Self.mostNamed ? "POST" : posts.map(\.description).joined(separator: " ")
  }

  private func seconds(_ hint: CommandHint) -> [Advice] {
    guard let seconds, seconds.count > 0 else { return [] }
    let (here, another) = (
      destination?.name ?? "STORE", seconds.elsewhere == 1 ? "has another" : "have another"
    )
    let elsewhere =
      "Of these, \(number(seconds.elsewhere, seconds.isAtLeast)) in another store of this library, too"
    let others = "Of these, \(number(seconds.ofOthers, seconds.isAtLeast)) of another author already"
    var advice: [Advice] = []
    if seconds.elsewhere > 0, dryRun {
      let old = seconds.stores.count == 1 ? seconds.stores[0].name : "OLD"
      advice += [
        ("\(elsewhere), and would get another one here.", nil),
        (
          "To move posts instead:",
          hint.text("move", "\(named(seconds.old)) --to \(ShellWord.quoted(Array(here.utf8)))")
        ),
        (
          "For a store that has been moved:",
          hint.text(
            "relocate", [old, here].map { ShellWord.quoted(Array($0.utf8)) }.joined(separator: " "))
        ),
      ]
    } else if seconds.elsewhere > 0 {
      advice.append(("\(elsewhere), and \(another) one here now.", nil))
    }
    if seconds.ofOthers > 0 {
      advice.append(("\(others)\(dryRun ? "." : ", and the feed shows both.")", nil))
    }
    if !dryRun {
      let one = "To have one post of each, remove those that are not wanted"
      advice.append(
        seconds.new.count > Self.mostNamed
          ? (one + ", by their ids or files.", nil) : (one + ":", hint.text("remove", named(seconds.new))))
    }
    return advice
  }

  private func unheeded(_ hint: CommandHint) -> [Advice] {
    guard let unheeded else { return [] }
    var advice: [Advice] = []
    if unheeded.differing > 0, let first = unheeded.first {
      let posts = "Of those already published, \(number(unheeded.differing, unheeded.isAtLeast))"
      let one =
        unheeded.differing == 1 ? ("differs", "was", "it") : ("differ", "were", "the first")
      advice.append(
        (
          "\(posts) that \(one.0) from what was given for the video now, and \(one.1) left unchanged. To change \(one.2):",
          PostEdit(unheeded.said).command(for: first, hint)
        ))
    }
    if unheeded.withoutPoster > 0 {
      let posts = "Of those already published, \(number(unheeded.withoutPoster, unheeded.isAtLeast))"
      let it = unheeded.withoutPoster == 1 ? "it" : "them"
      advice.append(("\(posts) without a poster. To make \(it):", hint.text("poster", "--missing")))
    }
    return advice
  }

  private func advice(_ hint: CommandHint) -> [Advice] {
    if summary.outcome == .aborted, origin != .watch, summary.published > 0 || unfinished != 0 {
      return [("Fix that, then run the same command again to continue.", nil)]
    }
    if summary.outcome == .cancelled, origin != .watch { return [] }
    if dryRun {
      return seconds(hint) + (summary.planned > 0 ? [("To publish them, leave out --dry-run.", nil)] : [])
    }
    var advice = seconds(hint) + unheeded(hint)
    if summary.published > 0 { advice.append(("See them:", hint.text("feed"))) }
    if summary.published > 0, trustsClientDigest {
      advice.append(
        (
          "The server acknowledged every byte but gave no checksum. To read back and compare what it stored:",
          hint.text("verify --read")
        ))
    }
    // Missing files do not count, because nothing is remembered of them.
    if summary.failed + summary.refused > summary.reasons[SourceError.Code.notFound.rawValue] ?? 0 {
      advice.append(("To see what failed and why:", hint.text("status")))
    }
    return advice
  }
}

/// The first sentence of a run's report.
struct RunHeadline {
  let report: RunReport

  private var summary: RunSummary { report.summary }

  var text: String { sentence.text }

  var style: StyledLine.TextStyle? { sentence.style }

  private var sentence: (text: String, style: StyledLine.TextStyle?) {
    switch summary.outcome {
    case _ where report.origin == .watch: watched
    case .aborted: ("reel: could not continue: \(summary.error?.message ?? "no reason was given")", .failure)
    case .cancelled: ("interrupted: \(soFar)" + (report.origin == .queue ? "" : "; \(goesOn)"), .warning)
    case .stopped: ("stopped at a failure, as --on-error stop asks: \(soFar); \(goesOn)", .warning)
    case .completed: completed
    }
  }

  private var watched: (text: String, style: StyledLine.TextStyle?) {
    let time = "watched for \(HumanNumber.duration(summary.seconds)): "
    if summary.ended == 0 {
      return report.postponements == 0
        ? (time + "no files arrived", nil)
        : (
          time + "no file could be ingested; those that arrived will be tried again at the next start",
          .warning
        )
    }
    guard summary.published > 0 else {
      return (
        time + "nothing published: \(others.joined(separator: ", "))",
        summary.refused + summary.failed > 0 ? .warning : .strong
      )
    }
    return (
      time + "published \(place), \(HumanNumber.bytes(summary.publishedBytes))",
      summary.refused + summary.failed == 0 ? .success : .strong
    )
  }

  private var completed: (text: String, style: StyledLine.TextStyle?) {
    if summary.ended == 0 { return (nothingFound, .warning) }
    if report.dryRun { return ("dry run, nothing was written: \(planned)", .strong) }
    let troubles = summary.refused + summary.failed
    if summary.published > 0 { return (published, troubles == 0 ? .success : .strong) }
    if troubles > 0 { return ("nothing published: \(others.joined(separator: ", "))", .warning) }
    if summary.removed > 0 {
      return ("nothing published: \(others.joined(separator: ", "))", .strong)
    }
    return (
      summary.duplicates == 1
        ? "nothing new: the video is already published"
        : "nothing new: all \(summary.duplicates) videos are already published", .strong
    )
  }

  private var nothingFound: String {
    if report.origin == .queue { return "nothing to do: nothing waits that this worker may take" }
    if summary.leftAlone > 0 {
      let files = HumanNumber.count(summary.leftAlone, "file", "files")
      return
        "nothing to ingest yet: \(files) left alone, changed less than \(HumanNumber.time(report.settle)) ago"
    }
    if report.isFiltered, summary.ignored > 0 {
      let found = HumanNumber.count(summary.ignored, "file", "files")
      return "nothing to ingest: of \(found) found, none is a video that --include and --exclude let through"
    }
    return switch summary.ignored {
    case 0: "nothing to ingest: no files were found"
    case 1: "nothing to ingest: the only file found is not a video"
    default: "nothing to ingest: none of the \(summary.ignored) files found is a video"
    }
  }

  private var published: String {
    "published \(place): \(amount)"
  }

  /// `12 videos to file:///srv/media`
  private var place: String {
    HumanNumber.count(summary.published, "video", "videos")
      + (report.destination.map { " to \($0.name)" } ?? "")
  }

  /// `345 MB in 4.1 s (84.2 MB/s)`
  private var amount: String {
    let amount = "\(HumanNumber.bytes(summary.publishedBytes)) in \(HumanNumber.duration(summary.seconds))"
    guard summary.seconds > 0 else { return amount }
    return amount + " (\(HumanNumber.rate(Double(summary.publishedBytes) / summary.seconds)))"
  }

  private var planned: String {
    var parts = ["\(summary.planned) would be published"]
    if summary.duplicates == 1 { parts.append("1 is already published") }
    if summary.duplicates > 1 { parts.append("\(summary.duplicates) are already published") }
    if summary.removed > 0 { parts.append(removed) }
    if summary.refused > 0 { parts.append("\(summary.refused) would be refused") }
    if summary.failed > 0 { parts.append("\(summary.failed) would fail") }
    return parts.joined(separator: ", ")
  }

  private var soFar: String {
    var parts = report.dryRun ? ["\(summary.planned) would be published"] : ["\(summary.published) published"]
    parts += others
    parts.append(toGo)
    return parts.joined(separator: ", ")
  }

  /// The files that were found but not done, whether begun or not.
  private var toGo: String {
    if report.origin == .queue { return "the rest left in the queue" }
    return report.unfinished.map { "\($0 + summary.cancelled) to go" } ?? "the rest not looked at"
  }

  /// The other results of files.
  private var others: [String] {
    var parts: [String] = []
    if summary.duplicates > 0 {
      parts.append(HumanNumber.count(summary.duplicates, "duplicate", "duplicates"))
    }
    if summary.removed > 0 { parts.append(removed) }
    if summary.refused > 0 { parts.append("\(summary.refused) refused") }
    if summary.failed > 0 { parts.append("\(summary.failed) failed") }
    return parts
  }

  private var removed: String {
    summary.removed == 1 ? "1 was removed before" : "\(summary.removed) were removed before"
  }

  private var goesOn: String { "run the same command again to continue" }
}
