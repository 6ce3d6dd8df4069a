import ReelCore

/// What a lock says of files as they are now. Pure.
package struct LockComparison: Sendable {
  private let lock: LockFile
  private let isInRepository: Bool

  /// - Parameter isInRepository: whether Git could give back what was locked.
  package init(_ lock: LockFile, isInRepository: Bool) {
    (self.lock, self.isInRepository) = (lock, isInRepository)
  }

  /// The findings of a file under the lock: rules that it broke when it was locked are not failures any more; that
  /// it is another file, is read otherwise, or is new, is one.
  ///
  /// - Parameters:
  ///   - path: relative to the lock's folder.
  ///   - current: the file as it is now, with what its findings say.
  ///   - reported: the file as it is reported; for the command that fixes it.
  package func findings(
    _ path: SourcePath, _ current: LockEntry, findings: [Finding], reportedAs reported: SourcePath
  ) -> [Finding] {
    guard let locked = lock.entries[path] else { return findings + [Self.new] }
    let accepted = findings.map { finding in
      guard finding.state == .broken, locked.broken.contains(finding.rule) else { return finding }
      var accepted = finding
      accepted.state = .locked
      return accepted
    }
    return accepted + [difference(locked, current, reported)].compactMap { $0 }
  }

  /// Whether a file that can't be judged could not be judged, in the same way, when it was locked.
  package func accepts(_ path: SourcePath, _ current: LockEntry) -> Bool {
    guard let locked = lock.entries[path], let error = locked.facts["error"] else { return false }
    return locked.digest == current.digest && current.facts["error"] == error
  }

  /// A finding for each locked file that is not among `found`.
  ///
  /// - Parameters:
  ///   - found: relative to the lock's folder.
  ///   - isCovered: whether the run would have met a file of this path.
  package func gone(found: Set<SourcePath>, isCovered: (SourcePath) -> Bool) -> [(SourcePath, Finding)] {
    lock.entries.keys.filter { !found.contains($0) && isCovered($0) }.sorted().map { ($0, Self.gone) }
  }

  private func difference(
    _ locked: LockEntry, _ current: LockEntry, _ reported: SourcePath
  ) -> Finding? {
    let changes = LockChanges(from: locked, to: current, tolerances: lock.tolerances)
    guard locked.digest == current.digest else { return changed(locked, current, changes, reported) }
    guard !changes.isEmpty else { return nil }
    return Self.readAnew(locked, current, changes)
  }

  // MARK: The findings

  private func changed(
    _ locked: LockEntry, _ current: LockEntry, _ changes: LockChanges, _ reported: SourcePath
  ) -> Finding {
    let facts = changes.isEmpty ? "; its facts are the same" : ": \(changes.sentence)"
    return Finding(
      rule: LockRules.changed, severity: .error, state: .broken, expected: Self.shown(locked.digest),
      found: Self.shown(current.digest), sentence: "it is not the file that was locked\(facts)",
      // What is there may be nowhere else: it goes to the stash.
      fix: isInRepository
        ? FixCommand.text("git --literal-pathspecs stash push -- FILE", for: reported) : nil)
  }

  private static func readAnew(_ locked: LockEntry, _ current: LockEntry, _ changes: LockChanges) -> Finding {
    let who =
      locked.reader == current.reader
      ? "the same reader"
      : "reel \(locked.reader.reel) with libavformat \(locked.reader.ffmpeg)"
    return Finding(
      rule: LockRules.reading, severity: .error, state: .broken, expected: changes.old, found: changes.new,
      sentence: "its bytes are those that were locked, but \(who) read them otherwise: \(changes.sentence)")
  }

  private static let new = Finding(
    rule: LockRules.new, severity: .error, state: .broken, expected: "a file of the lock",
    found: "a new file",
    sentence: "it is not in the lock")

  private static let gone = Finding(
    rule: LockRules.gone, severity: .error, state: .broken, expected: "the locked file", found: "none",
    sentence: "it is in the lock, and not there any more")

  private static func shown(_ digest: ContentDigest?) -> String {
    digest.map { "sha256:" + $0.hex.prefix(12) + "…" } ?? "bytes that can't be read"
  }
}

/// The facts that differ between two entries.
package struct LockChanges: Hashable, Sendable {
  package struct Change: Hashable, Sendable {
    /// The fact's name, such as `video.rotation`.
    package let key: String
    /// As locked; nil when it was unknown.
    package let old: String?
    /// As it is now; nil when it is unknown.
    package let new: String?
  }
  /// Sorted by key.
  package let changes: [Change]

  /// - Parameter tolerances: how far two values of one fact may be apart.
  package init(from old: LockEntry, to new: LockEntry, tolerances: LockTolerances) {
    var changes = Set(old.facts.keys).union(new.facts.keys).sorted().compactMap { key -> Change? in
      let change = Change(key: key, old: old.facts[key], new: new.facts[key])
      if let before = change.old, let after = change.new, tolerances.admits(key, before, after) { return nil }
      return change
    }
    // A rule that is broken now and was not is told by its own finding.
    let mended = Set(old.broken).subtracting(new.broken).sorted()
    if !mended.isEmpty {
      changes.append(Change(key: "broken rules", old: mended.joined(separator: " "), new: nil))
    }
    self.changes = changes
  }

  var isEmpty: Bool { changes.isEmpty }

  /// `duration was 12.5 and is 12.6, …`, the first five.
  var sentence: String {
    let told = changes.prefix(5).map { "\($0.key) was \($0.old ?? "unknown") and is \($0.new ?? "unknown")" }
    return told.joined(separator: ", ") + (changes.count > 5 ? " and \(changes.count - 5) more" : "")
  }

  var old: String { changes.prefix(5).map { "\($0.key) \($0.old ?? "unknown")" }.joined(separator: ", ") }
  var new: String { changes.prefix(5).map { "\($0.key) \($0.new ?? "unknown")" }.joined(separator: ", ") }
}

/// What a lock can find, with ids like those of the rules.
package enum LockRules {
  package static let changed = "lock.changed"
  package static let reading = "lock.reading"
  package static let new = "lock.new"
  package static let gone = "lock.gone"

  static let infos = [
    RuleInfo(
      id: changed, title: "the file is the one that was locked",
      explanation:
        "Its bytes have another SHA-256 than when it was locked. Bring the old file back, or look at the "
        + "difference with `reel lock --force` and commit it."),
    RuleInfo(
      id: reading, title: "the file is read as it was when it was locked",
      explanation:
        "The bytes are the same, and the facts are others: another FFmpeg or another Reel reads it in "
        + "another way. Decide whether the new reading is right, then `reel lock --force`."),
    RuleInfo(
      id: new, title: "the file is in the lock",
      explanation: "The lock does not know this file. Look at it, then `reel lock --force`."),
    RuleInfo(
      id: gone, title: "the locked file is there",
      explanation: "The lock has a file that is not there any more. Bring it back, or `reel lock --force`."),
  ]
}

/// What a rule means, for people.
package struct RuleInfo: Hashable, Sendable {
  package let id: String
  package let title: String
  package let explanation: String
}

extension RuleRegistry {
  /// Every rule and every finding of a lock.
  package static let infos: [RuleInfo] =
    rules.map { RuleInfo(id: $0.id, title: $0.title, explanation: $0.explanation) } + LockRules.infos

  package static func info(_ id: String) -> RuleInfo? { infos.first { $0.id == id } }
}

/// What `reel lock --force` would change.
package struct LockUpdate: Hashable, Sendable {
  package let lock: LockFile
  /// A line for each file and fact that changes, for people; none when nothing does.
  package let lines: [String]

  /// An entry whose bytes, facts and verdict are the same is kept as it is, also who read it, so that a new FFmpeg
  /// that reads as the old one changes nothing.
  ///
  /// - Parameters:
  ///   - old: nil when there is no lock yet.
  ///   - current: the files that were found.
  ///   - isCovered: whether the run would have met a file of this path; others are kept.
  package init(old: LockFile?, current: [SourcePath: LockEntry], isCovered: (SourcePath) -> Bool) {
    var lock = LockFile(entries: [:], tolerances: old?.tolerances ?? LockTolerances())
    var lines: [String] = []
    let known = old?.entries ?? [:]
    for path in Set(known.keys).union(current.keys).sorted() {
      let name = LockText.Escapes.escaped(path.bytes)
      switch (known[path], current[path]) {
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
    for change in changes where change.key != "broken rules" {
      let values = [change.old, change.new].map { value in
        value.map { LockText.Escapes.escaped(Array($0.utf8)) } ?? "unknown"
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
