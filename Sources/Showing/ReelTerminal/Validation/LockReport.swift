import ReelCore
import ReelUpkeep
import ReelValidation

/// The output and effect of `reel lock`. An existing lock is replaced only on request.
package struct LockReport: Sendable {
  private let change: LockUpdate
  private let isNew: Bool
  private let isWritten: Bool
  private let place: LockPlace
  private let command: String
  /// Git LFS pointers, which are not locked in place of their videos.
  package let pointers: [FixtureReview.EvaluatedFile]
  /// Files that could not be read.
  package let unread: [FixtureReview.EvaluatedFile]

  /// - Parameters:
  ///   - old: nil if there is no lock yet.
  ///   - replaces: whether to replace an existing lock.
  ///   - command: the command that replaces it.
  package init(
    _ review: FixtureReview, _ judgement: FixtureReview.Outcome, old: LockFile?, place: LockPlace,
    replaces: Bool, command: String
  ) {
    (self.place, self.command) = (place, command)
    change = review.update(judgement, old: old, place: place)
    pointers = review.pointers(in: judgement, old: old, place: place)
    unread = review.unread(in: judgement)
    isNew = old == nil
    let isMade = isNew && (pointers.isEmpty && unread.isEmpty || !change.lock.entries.isEmpty)
    isWritten = isMade || replaces && !change.lines.isEmpty
  }

  /// The lock to write; nil for nothing.
  package var written: LockFile? { isWritten ? change.lock : nil }

  private var differences: [String] { isNew ? [] : change.lines }

  /// Whether the lock differs and its replacement was not requested.
  package var isRefused: Bool { !isWritten && !differences.isEmpty }

  /// The files that are not locked, with the reasons.
  private var problems: [AnswerProblem] {
    let unread: [AnswerProblem] = unread.compactMap { file in
      guard case .unreachable(let error) = file.facts.reading else { return nil }
      return AnswerProblem(error.code.rawValue, "\(error.message); it is not locked", path: file.facts.path)
    }
    return unread
      + pointers.map { file in
        let command = file.findings.lazy.compactMap(\.fix).first.map { "; fetch it first: \($0)" } ?? ""
        return AnswerProblem(
          "\(ProbeError.Code.lfsPointer)",
          "it is a Git LFS pointer, and is not locked in the place of the video\(command)",
          path: file.facts.path)
      }
  }

  /// Entries that are locked although they break rules, which the user should know.
  private var broken: [(path: SourcePath, entry: LockEntry)] {
    change.lock.entries.filter { !$0.value.broken.isEmpty }.sorted { $0.key < $1.key }
      .map { ($0.key, $0.value) }
  }

  /// The state of a lock after `reel lock`.
  package struct Answer: Encodable {
    let lock: String
    let files: Int
    /// How many of these are locked as broken.
    let broken: Int?
    let written: Bool
    /// Lines for people; `reel validate --lock --json` reports them by file and fact.
    let differences: [String]
  }

  package static let noFiles = "no files were found to lock; use --allow-empty to accept that"

  /// The answer if there are no files.
  package static func ofNoFiles(_ place: LockPlace, _ old: LockFile?) -> AnswerDocument<Answer> {
    let lock = Answer(
      lock: place.path, files: old?.entries.count ?? 0, broken: nil, written: false, differences: [])
    return AnswerDocument(lock, problems: [.noFiles(noFiles)])
  }

  package var answer: AnswerDocument<Answer> {
    let lock = Answer(
      lock: place.path, files: change.lock.entries.count, broken: broken.count, written: isWritten,
      differences: differences)
    let refusal = AnswerProblem("differs", "\(refusal) \(command)", subject: place.path)
    return AnswerDocument(
      lock, problems: problems + (isRefused ? [refusal] : []),
      ok: !isRefused && pointers.isEmpty && unread.isEmpty)
  }

  private var refusal: String { "\(place.path) was not changed; this writes these differences:" }

  package func text(_ traits: TerminalTraits) -> String {
    let all = change.lock.entries.count
    let count = HumanNumber.count(all, "file", "files")
    var text = traits.indented(differences)
    if isRefused {
      text += traits.text([refusal])
      text += "  " + traits.command(command) + "\n"
    } else if isWritten {
      text += traits.text(["\(place.path) written: \(count)"] + told(of: all))
    } else if !isNew {
      text += traits.text(["\(place.path) is up to date: \(count)"])
    }
    // These are not wrapped, because they name commands.
    return text + problems.map { traits.sanitized($0.told) + "\n" }.joined()
  }

  private func told(of all: Int) -> [String] {
    let broken = broken
    guard let first = broken.first?.entry.broken.first else { return [] }
    let names = broken.prefix(3).map { "\($0.path.text) (\($0.entry.broken.joined(separator: ", ")))" }
    let more = broken.count > names.count ? " and \(broken.count - names.count) more" : ""
    return [
      "\(all - broken.count) pass, \(broken.count) \(broken.count == 1 ? "is" : "are") locked as broken: "
        + names.joined(separator: ", ") + more + "; see reel validate --explain \(first)"
    ]
  }
}
