import ReelCore

/// Compares files as they are now with a lock. Pure if `git` is.
package struct LockComparison: Sendable {
  private let lock: LockFile
  private let acceptance: String?
  private let git: @Sendable (SourcePath) -> GitFacts?

  /// - Parameters:
  ///   - acceptance: the command that locks everything as it was found.
  ///   - git: called for files that differ from those that were locked.
  package init(
    _ lock: LockFile, acceptance: String? = nil, git: @escaping @Sendable (SourcePath) -> GitFacts?
  ) {
    (self.lock, self.acceptance, self.git) = (lock, acceptance, git)
  }

  /// Returns the findings of a file under the lock. A rule that it broke when it was locked is no longer a failure. It
  /// is a failure if the file is a different one, is read differently, or is new.
  ///
  /// - Parameters:
  ///   - path: relative to the lock's folder.
  ///   - current: the file as it is now, with what its findings say.
  ///   - facts: the facts of the file, with the path by which it is reported.
  package func findings(
    _ path: SourcePath, _ current: LockEntry, findings: [Finding], _ facts: FixtureFacts
  ) -> [Finding] {
    guard let locked = lock.entries[path] else { return findings + [accepting(new, beside: findings)] }
    let accepted = findings.map { finding in
      guard finding.state == .broken, locked.broken.contains(finding.rule) else { return finding }
      var accepted = finding
      (accepted.state, accepted.fix) = (.locked, nil)
      return accepted
    }
    let changes = LockChanges(from: locked, to: current, tolerances: lock.tolerances)
    guard locked.digest == current.digest else {
      return changed(locked, current, changes, facts, accepted)
    }
    guard !changes.isEmpty else { return acceptance == nil ? accepted : Self.lockedAnew(accepted) }
    return accepted + [accepting(Self.readAnew(locked, current, changes), beside: accepted)]
  }

  /// Returns `finding` with the command that locks the file as it is, unless something else is wrong with the file.
  private func accepting(_ finding: Finding, beside others: [Finding]) -> Finding {
    var finding = finding
    let isElse = others.contains { $0.state == .broken && ($0.severity == .error || $0.fix != nil) }
    (finding.fix, finding.hasRemedy) = (isElse ? nil : acceptance, acceptance != nil)
    return finding
  }

  /// Adds a hint to findings whose fix would mend or rename a locked file, as that makes it differ from the lock.
  private static func lockedAnew(_ findings: [Finding]) -> [Finding] {
    findings.map { finding in
      guard finding.state == .broken, finding.fix != nil || finding.rule == RuleIDs.name else {
        return finding
      }
      var finding = finding
      finding.sentence += "; it is in the lock: lock it anew afterwards"
      return finding
    }
  }

  /// Whether the file can't be judged now, and could not be judged in the same way when it was locked.
  package func accepts(_ path: SourcePath, _ current: LockEntry) -> Bool {
    guard let locked = lock.entries[path], let error = locked.facts["error"] else { return false }
    return locked.digest == current.digest && current.facts["error"] == error
  }

  /// Returns a finding for each locked file that is not in `found`.
  ///
  /// - Parameters:
  ///   - found: the paths relative to the lock's folder.
  ///   - isCovered: whether the run would have found a file at this path.
  package func gone(found: Set<SourcePath>, isCovered: (SourcePath) -> Bool) -> [(SourcePath, Finding)] {
    lock.entries.keys.filter { !found.contains($0) && isCovered($0) }.sorted().map {
      ($0, accepting(gone, beside: []))
    }
  }

  // MARK: The findings

  /// Returns `findings` for a file that is not the one that was locked. Only bringing that one back helps, whatever
  /// else is wrong.
  private func changed(
    _ locked: LockEntry, _ current: LockEntry, _ changes: LockChanges, _ facts: FixtureFacts,
    _ findings: [Finding]
  ) -> [Finding] {
    let git = facts.isRemote ? nil : facts.git ?? git(facts.path)
    var (sentence, fix): (String, String?) = ("it is not the file that was locked", nil)
    if let digest = locked.digest, facts.pointsTo == digest {
      if findings.contains(where: { $0.rule == RuleIDs.lfsPointer && $0.severity == .error }) {
        return findings
      }
      sentence = "it is a Git LFS pointer to the file that was locked, which is not fetched"
      fix = git?.lfsPlace.map { GitCommand.fetching(facts.path, at: $0) }
    } else {
      sentence += changes.isEmpty ? "; its facts are the same" : ": \(changes.sentence)"
      if let digest = locked.digest, git?.committed == digest {
        fix = GitCommand.restoring(facts.path)
      } else if let committed = git?.committed, [current.digest, facts.pointsTo].contains(committed) {
        sentence += GitCommand.committed(facts.path)
      }
    }
    let changed = Finding(
      rule: LockRules.changed, severity: .error, state: .broken, expected: Self.shown(locked.digest),
      found: Self.shown(current.digest), sentence: sentence)
    return (findings + [changed]).map { finding in
      var finding = finding
      if finding.state == .broken { (finding.fix, finding.hasRemedy) = (fix, fix != nil) }
      return finding
    }
  }

  private static func readAnew(_ locked: LockEntry, _ current: LockEntry, _ changes: LockChanges) -> Finding {
    let who =
      locked.reader == current.reader
      ? "the same reader"
      : "reel \(locked.reader.reel) with libavformat \(locked.reader.ffmpeg)"
    return Finding(
      rule: LockRules.reading, severity: .error, state: .broken, expected: changes.old, found: changes.new,
      sentence: "its bytes are those that were locked, but \(who) read them differently: \(changes.sentence)")
  }

  private let new = Finding(
    rule: LockRules.new, severity: .error, state: .broken, expected: "a file of the lock",
    found: "a new file",
    sentence: "it is not in the lock")

  private let gone = Finding(
    rule: LockRules.gone, severity: .error, state: .broken, expected: "the locked file", found: "none",
    sentence: "it is in the lock, but no longer exists")

  private static func shown(_ digest: ContentDigest?) -> String {
    digest.map { "sha256:" + $0.hex.prefix(12) + "…" } ?? "bytes that can't be read"
  }
}

/// The facts that differ between two entries.
package struct LockChanges: Hashable, Sendable {
  package struct Change: Hashable, Sendable {
    /// The fact's name, such as `video.rotation`.
    package let key: String
    /// The locked value; nil if there was none.
    package let old: String?
    /// The current value; nil if there is none.
    package let new: String?

    var sentence: String {
      switch (old, new) {
      case (let old?, let new?): "\(key) was \(old) and is \(new)"
      case (let old?, nil) where key == LockChanges.rules: "it broke \(old) and no longer does"
      case (let old?, nil): "\(key) was \(old) and is gone"
      case (nil, let new): "there was no \(key) and now it is \(new ?? "")"
      }
    }
  }
  /// The key for rules that are no longer broken.
  static let rules = "broken rules"
  /// The most telling changes come first.
  package let changes: [Change]

  /// - Parameter tolerances: how much two values of one fact may differ.
  package init(from old: LockEntry, to new: LockEntry, tolerances: LockTolerances) {
    let keys = Set(old.facts.keys).union(new.facts.keys)
    var changes = keys.sorted(by: { Self.rank($0) < Self.rank($1) }).compactMap { key -> Change? in
      let change = Change(key: key, old: old.facts[key], new: new.facts[key])
      if let before = change.old, let after = change.new, tolerances.admits(key, before, after) { return nil }
      return change
    }
    // A rule that is broken now but was not before is reported by its own finding.
    let mended = Set(old.broken).subtracting(new.broken).sorted()
    if !mended.isEmpty {
      changes.insert(Change(key: Self.rules, old: mended.joined(separator: " "), new: nil), at: 0)
    }
    self.changes = changes
  }

  private static func rank(_ key: String) -> (Int, String) {
    (weighty.firstIndex(of: key) ?? weighty.count, key)
  }

  private static let weighty = [
    "error", "container", "duration", "video.size", "video.codec", "audio.0.codec", "video.rotation",
    "video.frameRate", "truncated",
  ]

  var isEmpty: Bool { changes.isEmpty }

  /// `duration was 12.5 and is 12.6, …`, for the first five changes. If the file became unreadable, or readable, only
  /// that.
  var sentence: String {
    let most = changes.first?.key == "error" ? 1 : 5
    let told = changes.prefix(most).map(\.sentence)
    return told.joined(separator: ", ")
      + (changes.count > most && most > 1 ? " and \(changes.count - most) more" : "")
  }

  var old: String { values(\.old) }
  var new: String { values(\.new) }

  private func values(_ side: (Change) -> String?) -> String {
    changes.prefix(5).map { change in side(change).map { "\(change.key) \($0)" } ?? "no \(change.key)" }
      .joined(separator: ", ")
  }
}

/// What a comparison with a lock can find, with IDs like those of rules.
package enum LockRules {
  package static let changed = "lock.changed"
  package static let reading = "lock.reading"
  package static let new = "lock.new"
  package static let gone = "lock.gone"

  static let infos = [
    RuleInfo(
      id: changed, title: "the file is the one that was locked",
      explanation:
        "Its bytes have another SHA-256 than when it was locked. Bring the old file back; or, where it is meant to be "
        + "another one, lock it anew. \(again)"),
    RuleInfo(
      id: reading, title: "the file is read as it was when it was locked",
      explanation:
        "The bytes are the same, and the facts are others: another FFmpeg or another Reel reads it in "
        + "another way. Decide whether the new reading is right, and lock it then. \(again)"),
    RuleInfo(
      id: new, title: "the file is in the lock",
      explanation: "The lock does not know this file. Look at it, and lock it if it is right. \(again)"),
    RuleInfo(
      id: gone, title: "the locked file is there",
      explanation:
        "The lock has a file that no longer exists. Bring it back, or take it out of the lock. \(again)"),
  ]

  private static let again =
    "With the paths and the policy of your own, `reel lock fixtures` shows what differs, and "
    + "`reel lock fixtures --force` writes it; a lock elsewhere is named with -o."
}

/// The meaning of a rule, for people.
package struct RuleInfo: Hashable, Sendable {
  package let id: String
  package let title: String
  package let explanation: String
}

extension RuleRegistry {
  /// All rules, and all findings of a lock.
  package static let infos: [RuleInfo] =
    rules.map { RuleInfo(id: $0.id, title: $0.title, explanation: $0.explanation) } + LockRules.infos

  package static func info(_ id: String) -> RuleInfo? { infos.first { $0.id == id } }
}

/// What `reel lock --force` would change.
package struct LockUpdate: Hashable, Sendable {
  package let lock: LockFile
  /// A line for each file and each fact that changes, for people; empty if nothing does.
  package let lines: [String]

  /// An entry with the same bytes, facts and verdict is kept as it is, together with its reader's version, so that a
  /// new FFmpeg that reads the file like the old one changes nothing.
  ///
  /// - Parameters:
  ///   - old: nil if there is no lock yet.
  ///   - current: the files that were found.
  ///   - refused: those of these files that are not to be locked as they are; their old entries are kept.
  ///   - isCovered: whether the run would have found a file at this path; other entries are kept.
  package init(
    old: LockFile?, current: [SourcePath: LockEntry], refused: Set<SourcePath> = [],
    isCovered: (SourcePath) -> Bool
  ) {
    var lock = LockFile(entries: [:], tolerances: old?.tolerances ?? LockTolerances())
    var lines: [String] = []
    let known = old?.entries ?? [:]
    for path in Set(known.keys).union(current.keys).sorted() {
      let name = LockText.Escapes.escaped(path.bytes)
      switch (known[path], refused.contains(path) ? known[path] : current[path]) {
      case (let before?, let now?):
        let told = Self.lines(before, now, lock.tolerances)
        lock.entries[path] = told.isEmpty ? before : now
        if !told.isEmpty { lines += ["changed  \(name)"] + told }
      case (nil, let now?):
        lock.entries[path] = now
        lines.append("new      \(name)  \(now.broken.isEmpty ? "pass" : now.broken.joined(separator: " "))")
      case (let before?, nil):
        if isCovered(path) { lines.append("gone     \(name)") } else { lock.entries[path] = before }
      case (nil, nil): break
      }
    }
    self.lock = lock
    self.lines = lines
  }

  private static func lines(_ old: LockEntry, _ new: LockEntry, _ tolerances: LockTolerances) -> [String] {
    var lines: [String] = []
    if old.digest != new.digest {
      lines.append(
        "  sha256: \(old.digest?.hex.prefix(12) ?? "unknown") -> \(new.digest?.hex.prefix(12) ?? "unknown")")
    }
    if old.size != new.size { lines.append("  size: \(text(old.size)) -> \(text(new.size))") }
    if old.broken != new.broken { lines.append("  verdict: \(verdict(old)) -> \(verdict(new))") }
    let changes = LockChanges(from: old, to: new, tolerances: tolerances).changes
    for change in changes where change.key != LockChanges.rules {
      let values = [change.old, change.new].map { value in
        value.map { LockText.Escapes.escaped(Array($0.utf8)) } ?? "none"
      }
      lines.append("  \(change.key): \(values[0]) -> \(values[1])")
    }
    return lines
  }

  private static func text(_ size: Int64?) -> String { size.map { "\($0)" } ?? "unknown" }

  private static func verdict(_ entry: LockEntry) -> String {
    entry.broken.isEmpty ? "pass" : entry.broken.joined(separator: " ")
  }
}
