import FoundationEssentials
import ReelCore
import ReelIngest
import ReelTerminal

/// The results of a run's files, as many as a report has room for.
package struct RunFiles: Sendable {
  private(set) var leftOut = 0
  private var problems: [Ended] = []
  private var others: [Ended] = []
  private(set) var warnings = 0
  private(set) var warningsLeftOut = 0
  private var warned: [SourcePath: [ReportPage.Note]] = [:]
  /// Paths in ``warned``, in the order of their first warnings.
  private var warnedPaths: [SourcePath] = []
  private let limit: Int

  /// The entry of a file, with the time of its end.
  private struct Ended {
    let entry: ReportPage.Entry
    let at: Date
  }

  /// - Parameter limit: applies separately to refused and failed files, to all other files, and to warnings, so that
  ///   none of them crowds out the rest.
  package init(limit: Int = 2000) {
    self.limit = max(0, limit)
  }

  /// Collects the results from `events`; empty without events.
  package init(_ events: IngestEvents?) async {
    self.init()
    guard let events else { return }
    for await batch in events.batches() {
      for event in batch { note(event) }
    }
  }

  /// Notes the result of a file, or a warning.
  package mutating func note(_ event: IngestEvent) {
    if let problem = event.body.problem, problem.concern == .warning {
      warn(problem.path, problem.code, problem.message)
    }
    switch event.body {
    case .fileProbed(let file, let report):
      for warning in report.media.warnings { warn(file.path, warning.code.rawValue, warning.message) }
    case .postPublished(let file, let post): add(file, event, "published", .good, [Self.note(post)])
    case .fileDuplicate(let file, _):
      add(file, event, "duplicate", .plain, [ReportPage.Note(text: "It is already published.")])
    case .fileRemoved(let file, let removed):
      add(
        file, event, "removed before", .plain,
        [ReportPage.Note(text: ReportPage.sentence(removed.explanation))])
    case .filePlanned(let file, _): add(file, event, "would be published", .good, [])
    case .fileRefused(let file, let refusal):
      add(
        file, event, "refused", .warn,
        refusal.violations.map { ReportPage.Note(reason: $0.rule, text: ReportPage.sentence($0.message)) })
    case .fileFailed(_, let failure) where failure.isCancellation: break
    case .fileFailed(let file, let failure):
      add(
        file, event, "failed", .bad,
        [ReportPage.Note(reason: failure.code.rawValue, text: ReportPage.sentence(failure.message))])
    case .filePostponed(let file, let failure):
      add(
        file, event, "postponed", .plain,
        [ReportPage.Note(reason: failure.code.rawValue, text: ReportPage.sentence(failure.message))])
    case .runStarted, .runScanned, .metadataWarning, .watchNotice, .fileStarted, .fileNotMended, .posterMade,
      .posterFailed, .fileNamed, .uploadProgress, .uploadRetrying, .postRemoved, .postRestored, .postEdited,
      .postMoved, .runFinished:
      break
    }
  }

  private mutating func add(
    _ file: FileReference, _ event: IngestEvent, _ result: String, _ tone: ReportPage.Tone,
    _ notes: [ReportPage.Note]
  ) {
    let isProblem = tone == .bad || tone == .warn
    guard (isProblem ? problems : others).count < limit else {
      leftOut += 1
      return
    }
    let ended = Ended(
      entry: ReportPage.Entry(path: file.path, result: result, tone: tone, notes: notes), at: event.at)
    if isProblem { problems.append(ended) } else { others.append(ended) }
  }

  private mutating func warn(_ path: SourcePath, _ code: String, _ message: String) {
    guard warnings < limit else {
      warningsLeftOut += 1
      return
    }
    warnings += 1
    if warned[path] == nil { warnedPaths.append(path) }
    warned[path, default: []].append(
      ReportPage.Note(reason: code, word: "warning", text: ReportPage.sentence(message)))
  }

  /// The entries in the order of the report: problems come first, because readers look for those. Warnings are shown
  /// with their files, or in an entry of their own if the file is not listed.
  var entries: [ReportPage.Entry] {
    var left = warned
    func told(_ ended: [Ended]) -> [ReportPage.Entry] {
      ended.map { one in
        var entry = one.entry
        entry.notes += left.removeValue(forKey: entry.path) ?? []
        return entry
      }
    }
    let (problems, others) = (told(problems), told(others))
    let alone = warnedPaths.compactMap { path in
      left[path].map { ReportPage.Entry(path: path, result: "warning", tone: .warn, notes: $0) }
    }
    return problems + alone + others
  }

  /// The files whose pictures the report shows.
  package var pictured: [ListedFile] {
    (problems + others).prefix(ReportPictures.most).map { ListedFile(path: $0.entry.path, at: $0.at) }
  }

  private static func note(_ post: Post) -> ReportPage.Note {
    let size = post.videoWidth.flatMap { width in post.videoHeight.map { "\(width) × \($0)" } }
    let facts = [
      post.duration.map(HumanNumber.clock), size, post.size.map(HumanNumber.bytes),
      post.videoFileExtension.uppercased(),
    ]
    return ReportPage.Note(
      text: post.caption ?? "post \(post.id)", details: [facts.compactMap(\.self).joined(separator: " · ")])
  }
}

/// A run's report as a page (`reel ingest --report html=FILE`).
package enum RunPage {
  package static func html(
    _ report: RunReport, _ files: RunFiles, pictures: ReportPictures = ReportPictures(), links: SourceLinks
  ) -> String {
    let summary = report.summary
    let counts = [
      ("published", summary.published), ("would be published", summary.planned),
      ("duplicates", summary.duplicates), ("removed", summary.removed), ("refused", summary.refused),
      ("failed", summary.failed),
      ("ignored, not videos", summary.ignored), ("left alone, just changed", summary.leftAlone),
      ("warnings", files.warnings + files.warningsLeftOut),
    ]
    let place = report.destination.map { "To \($0.name), by" } ?? "By"
    let leftOut = [
      files.leftOut > 0 ? HumanNumber.count(files.leftOut, "more file", "more files") : nil,
      files.warningsLeftOut > 0
        ? HumanNumber.count(files.warningsLeftOut, "more warning", "more warnings") : nil,
    ].compactMap(\.self)
    let more =
      leftOut.isEmpty
      ? nil : "Not listed: \(leftOut.joined(separator: ", ")). Use --events FILE to get all of them."
    return ReportPage(
      command: "reel ingest", headline: ReportPage.sentence(report.headline),
      counts: counts.filter { $0.1 > 0 }.map { ($0.0, "\($0.1)") },
      about: "\(place) reel \(ReelVersion.current).",
      entries: files.entries, more: more, pictures: pictures, links: links
    ).html
  }
}
