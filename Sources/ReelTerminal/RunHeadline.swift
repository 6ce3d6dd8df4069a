import ReelIngest

/// The sentence that a run's report begins with.
struct RunHeadline {
  let report: RunReport

  private var summary: RunSummary { report.summary }

  /// Files that have had their end.
  private var ended: Int {
    summary.published + summary.duplicates + summary.planned + summary.refused + summary.failed
  }

  var text: String { sentence.text }

  var style: StyledLine.TextStyle? { sentence.style }

  private var sentence: (text: String, style: StyledLine.TextStyle?) {
    switch summary.outcome {
    case .aborted: ("could not go on: \(summary.error?.message ?? "no reason was given")", .failure)
    case .cancelled: ("interrupted: \(soFar); \(goesOn)", .warning)
    case .stopped: ("stopped at a failure, as --on-error stop asks: \(soFar); \(goesOn)", .warning)
    case .completed: completed
    }
  }

  private var completed: (text: String, style: StyledLine.TextStyle?) {
    if ended == 0 { return (nothingFound, .warning) }
    if report.dryRun { return ("dry run, nothing was written: \(planned)", .strong) }
    let troubles = summary.refused + summary.failed
    if summary.published > 0 { return (published, troubles == 0 ? .success : .strong) }
    if troubles > 0 { return ("nothing published: \(soFar)", .warning) }
    return (
      summary.duplicates == 1
        ? "nothing new: the video is a post already"
        : "nothing new: all \(summary.duplicates) videos are posts already", .strong
    )
  }

  private var nothingFound: String {
    switch summary.ignored {
    case 0: "nothing to take in: no file was found"
    case 1: "nothing to take in: the only file found is not a video"
    default: "nothing to take in: none of the \(summary.ignored) files found is a video"
    }
  }

  private var published: String {
    let videos = HumanNumber.count(summary.published, "video", "videos")
    let place = report.destination.map { " to \($0.name)" } ?? ""
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
    var parts = report.dryRun ? ["\(summary.planned) would be published"] : ["\(summary.published) published"]
    if summary.duplicates > 0 {
      parts.append(HumanNumber.count(summary.duplicates, "duplicate", "duplicates"))
    }
    if summary.refused > 0 { parts.append("\(summary.refused) refused") }
    if summary.failed > 0 { parts.append("\(summary.failed) failed") }
    if summary.outcome != .completed {
      parts.append(report.unfinished.map { "\($0) not started" } ?? "the rest not started")
    }
    return parts.joined(separator: ", ")
  }

  private var goesOn: String { "the same command again goes on where this stopped" }
}
