import ReelCore
import ReelIngest
import ReelSource

/// What `reel publish` says at the end.
package struct PublishOutcome {
  private let path: SourcePath
  private let result: PublishResult
  /// What the command line says of the video.
  private let said: PostMetadata
  private let hint: CommandHint

  package init(
    path: SourcePath, result: PublishResult, said: PostMetadata = PostMetadata(),
    hint: CommandHint = CommandHint()
  ) {
    (self.path, self.result, self.said, self.hint) = (path, result, said, hint)
  }

  /// Whether there is no post to print, but a reason.
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

  /// What was asked for and did not happen, and what does it: sentences for people, and after them a command as it is to be
  /// copied; nil where there is nothing to say.
  package var notes: (sentences: [String], command: String?)? {
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
