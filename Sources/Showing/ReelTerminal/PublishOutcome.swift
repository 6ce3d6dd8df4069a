import ReelCore
import ReelIngest

/// The final output of `reel publish`.
package struct PublishOutcome {
  private let path: SourcePath
  private let result: PublishResult
  /// The metadata given on the command line.
  private let said: PostMetadata
  /// Whether the command line asks for a poster.
  private let wantsPoster: Bool
  private let hint: CommandHint

  package init(
    path: SourcePath, result: PublishResult, said: PostMetadata = PostMetadata(), wantsPoster: Bool = false,
    hint: CommandHint = CommandHint()
  ) {
    (self.path, self.result, self.said, self.hint) = (path, result, said, hint)
    self.wantsPoster = wantsPoster
  }

  /// Whether there is a reason to print instead of a post.
  package var isProblem: Bool {
    switch result {
    case .refused, .failed, .cancelled: true
    case .published, .duplicate, .removed, .planned: false
    }
  }

  package func text(_ traits: TerminalTraits) -> String {
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

  /// What was requested but not done, and how to do it: sentences for people, followed by a command that can be copied;
  /// nil if there is nothing to report.
  package var notes: (sentences: [String], command: String?)? {
    switch result {
    case .duplicate(let post?): edit(of: post)
    case .removed(let removed):
      (
        ["To publish the video as a new post: --again", "To bring the post back:"],
        // By its id, because the file may also be the video of other authors' posts.
        hint.text(
          "restore", "\(removed.post.id) --from \(ShellWord.quoted(path.bytes, ascii: isASCII))")
      )
    case .published, .duplicate, .planned, .refused, .failed, .cancelled: nil
    }
  }

  private var isASCII: Bool { !TerminalTraits.standardError().unicode }

  /// The note about a post that differs from the command line, or lacks a requested poster.
  private func edit(of post: Post) -> (sentences: [String], command: String?)? {
    let edit = PostEdit(said)
    let lacksPoster = wantsPoster && post.poster == nil
    guard edit.changes(post) else {
      return lacksPoster
        ? (["The post has no poster, and was left unchanged. To make one:"], hint.text("poster", "--missing"))
        : nil
    }
    let differing = edit.differing(from: post).map(\.what).joined(separator: ", ")
    let poster =
      lacksPoster ? ["The post has no poster: `\(hint.text("poster", "--missing"))` makes one."] : []
    return (
      poster + ["The post differs (\(differing)) and was left unchanged. To change it:"],
      edit.command(for: post, hint, ascii: isASCII)
    )
  }

  private func problem(_ code: String, _ message: String, refused: Bool, _ traits: TerminalTraits) -> String {
    ProblemSummary.text(ProblemList.Entry(path: path, code: code, message: message, refused: refused), traits)
  }

  /// The post; for a file without one, `{"ok": false, …}` with the reason.
  package func json(pretty: Bool) throws -> String {
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

  /// The post, and whether it is new.
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

extension PostEdit {
  /// The texts of `post` that the edit changes, with the flags that set them.
  fileprivate func differing(from post: Post) -> [(what: String, flag: String, value: String)] {
    [
      ("caption", "--caption", caption, PostEdit(caption: caption)),
      ("music", "--music", music, PostEdit(music: music)),
      ("author's name", "--author-name", authorName, PostEdit(authorName: authorName)),
    ].filter { $0.3.changes(post) }.map { ($0.0, $0.1, $0.2 ?? "") }
  }

  /// The command that makes this edit to `post`.
  func command(for post: Post, _ hint: CommandHint, ascii: Bool = false) -> String {
    let flags = differing(from: post).map { "\($0.flag)=\(ShellWord.quoted(value: $0.value, ascii: ascii))" }
    return hint.text("edit", ([post.id.description] + flags).joined(separator: " "))
  }
}
