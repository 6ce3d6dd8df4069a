import ArgumentParser
import ReelCore
import ReelIngest
import ReelPage
import ReelSource
import ReelTerminal
import ReelValidation

/// The forms that a report of `reel validate` has.
enum ReportKind: Hashable, Sendable {
  case text(ValidationReportKind)
  case html

  init?(name: String) {
    if name == "html" {
      self = .html
    } else {
      guard let kind = ValidationReportKind(rawValue: name) else { return nil }
      self = .text(kind)
    }
  }

  static let names = ValidationReportKind.allCases.map(\.rawValue) + ["html"]

  /// - Parameters:
  ///   - pictures: of its files.
  ///   - path: the file that it is for; nil for stdout.
  func text(
    _ report: ValidationReport, _ pictures: ReportPictures, for path: String?, _ traits: TerminalTraits
  ) throws -> String {
    switch self {
    case .text(let kind): try kind.text(report, traits)
    case .html:
      ValidationPage.html(
        report, pictures: pictures, links: SourceLinks(from: path, workingFolder: WorkingFolder.path()))
    }
  }

  /// Whether its files are shown with pictures.
  var hasPictures: Bool {
    if case .html = self { true } else { false }
  }
}

/// `--report html=FILE` of a run.
struct RunReportTarget: ExpressibleByArgument {
  let path: String

  init?(argument: String) {
    guard let text = try? RawArguments.text(argument), text.hasPrefix("html="), text != "html=" else {
      return nil
    }
    path = String(text.dropFirst("html=".count))
  }
}

/// One `--report`: a form, and the file that it goes to; none for stdout.
struct ReportTarget: ExpressibleByArgument, Hashable {
  let kind: ReportKind
  let path: String?

  /// `KIND` or `KIND=FILE`.
  init?(argument: String) {
    guard let text = try? RawArguments.text(argument) else { return nil }
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let name = parts.first, let kind = ReportKind(name: name),
      parts.last?.isEmpty == false
    else { return nil }
    self.kind = kind
    path = parts.count > 1 && !OutputStream.isStandardOutput(SourcePath(parts[1])) ? parts[1] : nil
  }

  static var allValueStrings: [String] { ReportKind.names.map { "\($0)[=FILE]" } }
}

/// Where the reports of one run go.
struct ReportWriter {
  private let files: [(ReportKind, UserFile)]
  private let output: ReportKind
  private let summary: UserFile?

  /// Opens every file, before anything is read.
  ///
  /// - Parameters:
  ///   - targets: at most one of them without a file.
  ///   - stepSummary: `$GITHUB_STEP_SUMMARY`; used when a report for GitHub is asked for.
  /// - Throws: ``CommandFailure``.
  init(_ targets: [ReportTarget], stepSummary: String?) throws {
    files = try targets.compactMap { target in
      try target.path.map { (target.kind, try UserFile(writing: $0, as: target.kind.form)) }
    }
    for (index, file) in files.enumerated() {
      guard let other = files[..<index].first(where: { $0.1.isSameFile(as: file.1) }) else { continue }
      throw CommandFailure(
        .usage,
        "two reports can't go to one file: \(other.1.path) and \(file.1.path) are the same; name another")
    }
    output = targets.first { $0.path == nil }?.kind ?? .text(.people)
    let wantsSummary = targets.contains { if case .text(.github) = $0.kind { true } else { false } }
    summary =
      try wantsSummary
      ? stepSummary.map { try UserFile(writing: $0, as: nil) } : nil
  }

  /// Whether one of them shows its files with pictures.
  var hasPictures: Bool { output.hasPictures || files.contains { $0.0.hasPictures } }

  /// - Throws: ``CommandFailure`` or `OutputClosed` when one can't be written.
  func write(_ report: ValidationReport, _ pictures: ReportPictures) throws {
    for (kind, file) in files {
      try file.write(try kind.text(report, pictures, for: file.path, TerminalTraits()))
    }
    try summary?.write(MarkdownReport.text(report, room: MarkdownReport.mostBytes - (summary?.size ?? 0)))
    try OutputStream.standardOutput.write(try output.text(report, pictures, for: nil, .standardOutput()))
  }
}

/// What `reel publish` says at the end.
struct PublishOutcome {
  let path: SourcePath
  let result: PublishResult
  /// What the command line says of the video.
  var said = PostMetadata()
  var hint = CommandHint()

  /// Whether there is no post to print, but a reason.
  var isProblem: Bool {
    switch result {
    case .refused, .failed, .cancelled: true
    case .published, .duplicate, .removed, .planned: false
    }
  }

  func text(_ traits: TerminalTraits) -> String {
    switch result {
    case .published(let post): PostSummary.text(post, title: .published, traits)
    case .duplicate(let post?): PostSummary.text(post, title: .duplicate, traits)
    case .duplicate(nil): traits.sanitized("\(path.text) would be a duplicate") + "\n"
    case .removed(let removed): PostSummary.text(removed, traits)
    case .planned(let plan): PlanSummary.text(plan, of: path, traits)
    case .refused(let refusal): problem(refusal.code.rawValue, refusal.message, refused: true, traits)
    case .failed(let failure): problem(failure.code.rawValue, failure.message, refused: false, traits)
    case .cancelled: traits.text(["interrupted: \(path.text) is not published"])
    }
  }

  /// What was asked for and did not happen, and what does it: sentences for people, and after them a command as it is to be
  /// copied; nil where there is nothing to say.
  var notes: (sentences: [String], command: String?)? {
    switch result {
    case .duplicate(let post?): edit(of: post)
    case .removed(let removed):
      (
        ["To publish the video as a new post: --again", "To bring the post back:"],
        // By its id: the file may be the video of others' posts, too.
        hint.text(
          "restore", "\(removed.post.id) --from \(ShellWord.quoted(path.bytes, ascii: isASCII))")
      )
    case .published, .duplicate, .planned, .refused, .failed, .cancelled: nil
    }
  }

  private var isASCII: Bool { !TerminalTraits.standardError().unicode }

  /// For a post that says something else than the command line.
  private func edit(of post: Post) -> (sentences: [String], command: String?)? {
    var edited = post
    _ = PostEdit(caption: said.caption, music: said.music, authorName: said.authorName).apply(to: &edited)
    let words = [
      ("caption", "--caption", said.caption, post.caption != edited.caption),
      ("music", "--music", said.music, post.music != edited.music),
      ("author's name", "--author-name", said.authorName, post.authorName != edited.authorName),
    ].filter(\.3)
    guard !words.isEmpty else { return nil }
    let flags = words.map { "\($0.1)=\(ShellWord.quoted(value: $0.2 ?? "", ascii: isASCII))" }
    let differing = words.map(\.0).joined(separator: ", ")
    return (
      ["The post says something else (\(differing)) and stays as it is. To change it:"],
      hint.text("edit", ([post.id.description] + flags).joined(separator: " "))
    )
  }

  private func problem(_ code: String, _ message: String, refused: Bool, _ traits: TerminalTraits) -> String {
    ProblemSummary.text(ProblemList.Entry(path: path, code: code, message: message, refused: refused), traits)
  }

  /// The post; for a file without one `{"ok": false, …}` with the reason.
  func json(pretty: Bool) throws -> String {
    switch result {
    case .published(let post): try AnswerDocument(Told(post: post, isNew: true)).json(pretty: pretty)
    case .duplicate(let post?): try AnswerDocument(Told(post: post, isNew: false)).json(pretty: pretty)
    case .duplicate(nil): try AnswerDocument(FileDuplicate(post: nil)).json(pretty: pretty)
    case .removed(let removed): try AnswerDocument(removed).json(pretty: pretty)
    case .planned(let plan): try AnswerDocument(plan).json(pretty: pretty)
    case .refused(let refusal):
      try failed(Failed(error: nil, refused: refusal), refusal.code.rawValue, refusal.message, pretty)
    case .failed(let failure):
      try failed(Failed(error: failure, refused: nil), failure.code.rawValue, failure.message, pretty)
    case .cancelled:
      try failed(
        Failed(error: .cancelled, refused: nil), FileFailure.cancelled.code.rawValue,
        FileFailure.cancelled.message,
        pretty)
    }
  }

  private func failed(_ failed: Failed, _ code: String, _ message: String, _ pretty: Bool) throws -> String {
    try AnswerDocument(failed, problems: [AnswerProblem(code, message, path: path)]).json(pretty: pretty)
  }

  /// The post, and whether it was one before.
  private struct Told: Encodable {
    let post: Post
    let isNew: Bool

    private enum CodingKeys: String, CodingKey { case new }

    func encode(to encoder: any Encoder) throws {
      try post.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(isNew, forKey: .new)
    }
  }

  private struct Failed: Encodable {
    let error: FileFailure?
    let refused: FileRefused?
  }
}
