import ReelCore
import ReelIngest
import ReelTerminal

/// What became of the files of a run, as many as a report has room for.
package struct RunFiles: Sendable {
  private(set) var entries: [ReportPage.Entry] = []
  private(set) var leftOut = 0
  private var kept: [Bool: Int] = [:]
  private let limit: Int
  private let picture: @Sendable (Post) -> ReportPage.Picture?

  /// - Parameters:
  ///   - limit: files that became no post, and as many others: neither crowds the other out.
  ///   - picture: of a post, where there is one.
  package init(
    limit: Int = 2000, picture: @escaping @Sendable (Post) -> ReportPage.Picture? = { _ in nil }
  ) {
    self.limit = max(0, limit)
    self.picture = picture
  }

  /// Takes note of how a file ended.
  package mutating func note(_ event: IngestEvent) {
    switch event.body {
    case .postPublished(let file, let post): add(file, "published", .good, [Self.note(post)], picture(post))
    case .fileDuplicate(let file, let duplicate):
      let post = duplicate.post
      add(file, "duplicate", .plain, [ReportPage.Note(text: "It is a post already.")], post.flatMap(picture))
    case .filePlanned(let file, _): add(file, "would be published", .good, [])
    case .fileRefused(let file, let refusal):
      add(
        file, "refused", .warn,
        refusal.violations.map { ReportPage.Note(reason: $0.rule, text: ReportPage.sentence($0.message)) })
    case .fileFailed(let file, let failure):
      add(
        file, "failed", .bad,
        [ReportPage.Note(reason: failure.code, text: ReportPage.sentence(failure.message))])
    default: break
    }
  }

  private mutating func add(
    _ file: FileReference, _ result: String, _ tone: ReportPage.Tone, _ notes: [ReportPage.Note],
    _ picture: ReportPage.Picture? = nil
  ) {
    let isProblem = tone == .bad || tone == .warn
    guard kept[isProblem, default: 0] < limit else {
      leftOut += 1
      return
    }
    kept[isProblem, default: 0] += 1
    entries.append(
      ReportPage.Entry(path: file.path, result: result, tone: tone, notes: notes, picture: picture))
  }

  private static func note(_ post: Post) -> ReportPage.Note {
    let size = post.videoWidth.flatMap { width in post.videoHeight.map { "\(width) × \($0)" } }
    let facts = [
      post.duration.map(HumanNumber.clock), size, post.size.map(HumanNumber.bytes),
      post.videoFileExtension.uppercased(),
    ]
    return ReportPage.Note(
      text: post.caption ?? post.video.rawValue, details: [facts.compactMap(\.self).joined(separator: " · ")])
  }
}

/// A run's report as a page (`reel ingest --report html=FILE`).
package enum RunPage {
  package static func html(_ report: RunReport, _ files: RunFiles, links: SourceLinks) -> String {
    let summary = report.summary
    let counts = [
      ("published", summary.published), ("would be published", summary.planned),
      ("duplicates", summary.duplicates), ("refused", summary.refused), ("failed", summary.failed),
      ("ignored, not videos", summary.ignored),
    ]
    // What did not come in is what is looked for.
    let problems = files.entries.filter { $0.tone == .bad || $0.tone == .warn }
    let others = files.entries.filter { $0.tone != .bad && $0.tone != .warn }
    let place = report.destination.map { "To \($0.name), by" } ?? "By"
    let more =
      files.leftOut > 0
      ? "\(HumanNumber.count(files.leftOut, "more file is", "more files are")) not listed; --events FILE tells them all."
      : nil
    return ReportPage(
      command: "reel ingest", headline: ReportPage.sentence(report.headline),
      counts: counts.filter { $0.1 > 0 }.map { ($0.0, "\($0.1)") },
      about: "\(place) reel \(ReelVersion.current).",
      entries: problems + others, more: more, links: links
    ).html
  }
}
