/// What a lock can find, with ids like those of the rules.
package enum LockRules {
  /// The bytes are others.
  package static let changed = "lock.changed"
  /// The bytes are the same, and the facts are others.
  package static let reading = "lock.reading"
  /// The lock does not know the file.
  package static let new = "lock.new"
  /// The file is not there any more.
  package static let gone = "lock.gone"

  static let infos = [
    RuleInfo(
      id: changed, title: "the file is the one that was locked",
      explanation:
        "Its bytes have another SHA-256 than when it was locked. Bring the old file back, or look at the "
        + "difference with `reel lock --update` and commit it."),
    RuleInfo(
      id: reading, title: "the file is read as it was when it was locked",
      explanation:
        "The bytes are the same, and the facts are others: another FFmpeg or another Reel reads it in "
        + "another way. Decide whether the new reading is right, then `reel lock --update`."),
    RuleInfo(
      id: new, title: "the file is in the lock",
      explanation: "The lock does not know this file. Look at it, then `reel lock --update`."),
    RuleInfo(
      id: gone, title: "the locked file is there",
      explanation: "The lock has a file that is not there any more. Bring it back, or `reel lock --update`."),
  ]
}

/// What a rule means, for people.
package struct RuleInfo: Hashable, Sendable {
  /// Stable, such as `duration.max`.
  package let id: String
  /// What it asks of a file, in a few words.
  package let title: String
  /// Why, and how to mend a file; a few sentences.
  package let explanation: String
}

extension RuleRegistry {
  /// Every rule and every finding of a lock.
  package static let infos: [RuleInfo] =
    rules.map { RuleInfo(id: $0.id, title: $0.title, explanation: $0.explanation) } + LockRules.infos

  /// Nil when there is no such rule.
  package static func info(_ id: String) -> RuleInfo? { infos.first { $0.id == id } }
}
