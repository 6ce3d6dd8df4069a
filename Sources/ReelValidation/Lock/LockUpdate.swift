import ReelCore

/// What `reel lock --update` would change.
package struct LockUpdate: Hashable, Sendable {
  /// What is written.
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
