import FoundationEssentials
import ReelCore
import ReelIngest
import Synchronization

/// Reports what became of posts that were to be changed, to people and to programs.
package final class ChangeReport: Sendable {
  private let kind: PostChange.Kind
  private let json: Bool
  private let isDryRun: Bool
  private let output: OutputStream
  private let traits: TerminalTraits
  private let wording: @Sendable (ErrorMessage) -> String
  private let hint: CommandHint
  /// The files by which posts were named.
  private let files: [SourcePath]
  private let state = Mutex(State())

  private struct State {
    var results: [Result] = []
    var changed = 0
    /// The first changed posts, as many as a command names.
    var first: [PostID] = []
    /// The number of changes that earlier commands had begun and that are finished now.
    var carriedOn = 0
    var unchanged = 0
    var failed = 0
    /// The number of posts that do not exist.
    var unknown = 0
    var notBegun = 0
    /// What stores still keep of removed objects.
    var remains: [PostID: [ObjectRemoval]] = [:]
    var forgotten: Int?
  }

  private struct Result: Encodable {
    let id: PostID
    /// `changed`, `unchanged`, `removed`, `taken`, `unknown`, `failed`, `carriedOn`, or `planned` in a dry run.
    let outcome: String
    var post: Post?
    var removal: Removal?
    var error: FileFailure?
    /// What its stores still keep of removed objects.
    var left: [ObjectRemoval]?
    /// Why it failed; not part of the JSON printed for the post.
    var problem: AnswerProblem?

    private enum CodingKeys: String, CodingKey { case id, outcome, post, removal, error, left }
  }

  private struct Document: Encodable {
    let changed: Int
    let unchanged: Int
    let failed: Int
    /// The number of rows that `reel prune` removed from the catalog, or would remove.
    let forgotten: Int?
    let posts: [Result]
  }

  /// - Parameters:
  ///   - output: where the report is printed.
  ///   - wording: words messages with the names that the user knows for settings.
  ///   - hint: writes the commands to suggest.
  ///   - subjects: the ids and files by which posts were named.
  package init(
    _ kind: PostChange.Kind, json: Bool, isDryRun: Bool = false, to output: OutputStream,
    wording: @escaping @Sendable (ErrorMessage) -> String, hint: CommandHint, subjects: [SourcePath] = []
  ) {
    (self.kind, self.json, self.isDryRun, self.output) = (kind, json, isDryRun, output)
    (self.wording, self.hint) = (wording, hint)
    files = subjects.filter { PostID($0.text) == nil }
    traits = output.traits
  }

  package func add(_ id: PostID, _ outcome: PostChanges.Outcome) throws {
    switch outcome {
    case .changed(let post):
      try note(Result(id: id, outcome: "changed", post: post), \.changed, "\(done) \(Self.name(post))")
    case .nothing(let post):
      try note(
        Result(id: id, outcome: "unchanged", post: post), \.unchanged, "\(unchanged) \(Self.name(post))")
    case .removed(let removed):
      let isAsked = if case .removal = kind { true } else { false }
      try note(
        Result(id: id, outcome: "removed", post: removed.post, removal: removed.removal),
        isAsked ? \.unchanged : \.failed,
        isAsked
          ? "already removed \(Self.name(removed.post))\(asItWas(removed.removal))"
          : "not changed, as it was removed: \(Self.name(removed.post))")
    case .taken(let other):
      try note(
        Result(id: id, outcome: "taken", post: other), \.failed,
        "not \(done): \(id): the video is post \(other.id) there already; remove one of the two")
    case .unknown:
      try note(
        Result(id: id, outcome: "unknown"), \.unknown, "there is no post \(id); reel feed lists the posts")
    // A change that was not begun is not a failure.
    case .notBegun(let failure) where failure.isCancellation: state.withLock { $0.notBegun += 1 }
    case .notBegun(let failure): try fail(id, failure, "")
    case .failed(let failure): try fail(id, failure, leftOver(failure))
    }
  }

  /// Reports a change that an earlier command had begun.
  package func addCarriedOn(_ id: PostID, _ outcome: PostChanges.Outcome) throws {
    switch outcome {
    case .changed(let post), .nothing(let post):
      try note(
        Result(id: id, outcome: "carriedOn", post: post), \.carriedOn,
        "finished what an earlier command had begun: \(Self.name(post))")
    // That change may be of another kind, to which this report's additional words do not apply.
    case .failed(let failure): try fail(id, failure, "")
    default: try add(id, outcome)
    }
  }

  private func fail(_ id: PostID, _ failure: FileFailure, _ rest: String) throws {
    let told = failure.worded(wording)
    let what = failure.isCancellation ? "interrupted: \(id)" : "failed: \(id): \(told.message) [\(told.code)]"
    try note(Result(id: id, outcome: "failed", error: told), \.failed, what + rest)
  }

  // MARK: Dry runs

  package func wouldRemove(_ id: PostID, keeping: Bool, in catalog: any PostChanging) async throws {
    if let post = try await catalog.post(id) { return try plan(post, nil, "would be removed") }
    guard let removed = try catalog.removedPost(id) else { return try add(id, .unknown) }
    if removed.mayBeStored, !keeping { try wouldRemove(removed) } else { try add(id, .removed(removed)) }
  }

  package func wouldRemove(_ removed: RemovedPost) throws {
    try plan(removed.post, removed.removal, "would be removed from the store")
  }

  /// Reports what pruning `catalog` would do.
  package func wouldPrune(_ catalog: any PostChanging) async throws {
    for left in try catalog.abandonedChanges() { try await wouldCarryOn(left.post, in: catalog) }
    var last = 0
    while true {
      let expired = try catalog.expiredPosts(at: .now, after: last, limit: 1000)
      guard let end = expired.last?.post.pageNumber else { break }
      last = end
      for removed in expired { try wouldRemove(removed) }
    }
    note(forgotten: try catalog.readings(besides: ReelVersion.current))
  }

  private func wouldCarryOn(_ id: PostID, in catalog: any PostChanging) async throws {
    let removed = try catalog.removedPost(id)
    guard let post = try await catalog.post(id) ?? removed?.post else { return }
    try plan(post, removed?.removal, "would be finished, as an earlier command had begun it")
  }

  private func plan(_ post: Post, _ removal: Removal?, _ what: String) throws {
    try note(
      Result(id: post.id, outcome: "planned", post: post, removal: removal), \.changed,
      "\(what): \(Self.name(post))")
  }

  private func note(
    _ result: Result, _ count: WritableKeyPath<State, Int> & Sendable, _ line: String
  ) throws {
    state.withLock { state in
      state[keyPath: count] += 1
      if count == \State.changed, state.first.count < Self.mostNamed { state.first.append(result.id) }
      if json {
        var result = result
        if count == \State.failed || count == \State.unknown {
          result.problem = AnswerProblem(
            result.error?.code.rawValue ?? result.outcome, result.error?.message ?? line,
            subject: result.id.description)
        }
        result.left = state.remains[result.id]
        state.results.append(result)
      }
    }
    if !json { try output.write(traits.text([line])) }
  }

  /// Notes what a store still keeps of an object of a post.
  package func note(_ removal: ObjectRemoval, of post: PostID) {
    if json { state.withLock { $0.remains[post, default: []].append(removal) } }
  }

  /// Notes the number of rows that the catalog no longer needs.
  package func note(forgotten rows: Int) { state.withLock { $0.forgotten = rows } }

  /// The result for the posts that were named or selected.
  package enum Ending {
    case done
    /// Some could not be changed.
    case someFailed
    /// Some do not exist.
    case someUnknown
  }

  /// Prints the end of the report.
  package func end() throws -> Ending {
    let state = state.withLock(\.self)
    let (unchanged, notBegun, rows) = (state.unchanged, state.notBegun, state.forgotten)
    let failed = state.failed + state.unknown
    if json {
      let document = Document(
        changed: state.changed + state.carriedOn, unchanged: unchanged,
        failed: failed, forgotten: rows,
        posts: state.results)
      var problems = state.results.compactMap(\.problem)
      if notBegun > 0 {
        problems.append(
          AnswerProblem("cancelled", "interrupted: \(HumanNumber.count(notBegun, "post", "posts")) not begun")
        )
      }
      try output.write(try AnswerDocument(document, problems: problems).json(pretty: traits.isTerminal))
    } else {
      let isPruning = if case .purge = kind { true } else { false }
      let planned = isPruning ? "would be removed or finished" : "would be removed"
      let changed = state.changed + (isPruning ? state.carriedOn : 0)
      var parts = ["\(changed) \(isDryRun ? planned : isPruning ? "removed or finished" : done)"]
      if state.carriedOn > 0, !isPruning { parts.append("\(state.carriedOn) from earlier commands finished") }
      if unchanged > 0 { parts.append("\(unchanged) \(self.unchanged)") }
      if failed > 0 { parts.append("\(failed) failed") }
      if notBegun > 0 { parts.append("\(notBegun) not begun") }
      if let rows, rows > 0 {
        let what = HumanNumber.count(rows, "row", "rows")
        parts.append(
          isDryRun ? "\(what) of the catalog would be forgotten" : "\(what) of the catalog forgotten")
      }
      var lines = [parts.joined(separator: ", ")]
      if case .removal(let removal) = kind, !isDryRun, state.changed > 0 {
        lines.append(restoration(of: state.changed > state.first.count ? [] : state.first, removal.keptUntil))
      }
      try output.write(traits.text(lines))
    }
    return state.unknown > 0 ? .someUnknown : failed == 0 ? .done : .someFailed
  }

  /// The largest number of posts or files named in a command.
  private static let mostNamed = 8

  /// How to restore `posts`; empty if there are too many to name.
  private func restoration(of posts: [PostID], _ end: Date?) -> String {
    let (it, file) = posts.count == 1 ? ("it", "the file that it was") : ("them", "the files that they were")
    let ids = posts.isEmpty ? "ID" : posts.map(\.description).joined(separator: " ")
    if let end { return "To put \(it) back until \(ISOTime.second(end)): \(hint.text("restore", ids))" }
    let isNamed = (1...Self.mostNamed).contains(files.count) && !posts.isEmpty
    let from = isNamed ? files.map { ShellWord.quoted($0.bytes, ascii: !traits.unicode) } : ["FILE"]
    return "To put \(it) back, with \(file) made from: "
      + hint.text("restore", ids + from.map { " --from \($0)" }.joined())
  }

  /// What remains of an earlier removal if this one differs from it.
  private func asItWas(_ earlier: Removal) -> String {
    let until = earlier.keptUntil.map { ", kept until \(ISOTime.second($0))" } ?? ""
    guard case .removal(let asked) = kind else { return until }
    let isOther =
      asked.keptUntil != nil || asked.reason != nil && asked.reason != earlier.reason
      || asked.by != nil && asked.by != earlier.by
    return until
      + (isOther ? "; the new details were not recorded: to change them, run reel restore first" : "")
  }

  /// What remains true although the change failed.
  private func leftOver(_ failure: FileFailure) -> String {
    // Another process has resumed the change, and the post may be in the feed again.
    if failure.code == .catalog(.leaseLost) { return "" }
    if case .removal = kind { return "; it has left the feed anyway, and reel prune tries the removal again" }
    return failure.isCancellation ? "; reel prune tries it again" : ""
  }

  private var done: String {
    switch kind {
    case .removal: "removed"
    case .purge: "removed from the store:"
    case .restoration: "restored"
    case .edit: "edited"
    case .move: "moved"
    }
  }

  private var unchanged: String {
    switch kind {
    case .removal: "already removed"
    case .purge: "back in the feed"
    case .restoration: "already in the feed"
    case .edit: "already so"
    case .move: "already there"
    }
  }

  private static func name(_ post: Post) -> String {
    let words = post.caption ?? post.sourceName
    return post.id.description + (words.map { " (\($0))" } ?? "")
  }
}
