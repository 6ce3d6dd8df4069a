import ReelCore

/// What each fixture was when somebody looked at it and said: so it should be.
package struct LockFile: Hashable, Sendable {
  /// By their paths, which are relative to the folder that holds the lock file.
  package var entries: [SourcePath: LockEntry]
  /// How far a reading may be from the locked one.
  package var tolerances: LockTolerances

  /// From its parts.
  package init(entries: [SourcePath: LockEntry] = [:], tolerances: LockTolerances = LockTolerances()) {
    self.entries = entries
    self.tolerances = tolerances
  }
}

/// What one file was.
package struct LockEntry: Hashable, Sendable {
  /// Nil when its bytes could not be read.
  package var digest: ContentDigest?
  /// Bytes.
  package var size: Int64?
  /// The facts, by key.
  package var facts: [String: String]
  /// Who read them.
  package var reader: ReaderVersion
  /// The rules that it broke, sorted; none for a file that passed.
  package var broken: [String]

  /// From its parts.
  package init(
    digest: ContentDigest?, size: Int64?, facts: [String: String], reader: ReaderVersion, broken: [String]
  ) {
    self.digest = digest
    self.size = size
    self.facts = facts
    self.reader = reader
    self.broken = broken
  }

  /// What is locked of a file and what a policy said of it.
  package init(_ facts: FixtureFacts, findings: [Finding], reader: ReaderVersion) {
    let broken = findings.filter { $0.severity == .error && $0.state != .unverified }.map(\.rule)
    self.init(
      digest: facts.digest, size: facts.size, facts: LockedFacts.facts(of: facts.reading), reader: reader,
      broken: Set(broken).sorted())
  }
}

/// How far a reading may be from the locked one: another FFmpeg rounds in another way.
package struct LockTolerances: Hashable, Sendable {
  /// Seconds, at least 0.
  package var duration: Double
  /// Part of the value, at least 0, for frame rates and bit rates.
  package var rate: Double

  /// From its parts.
  package init(duration: Double = 0.05, rate: Double = 0.0001) {
    self.duration = duration
    self.rate = rate
  }

  /// Whether `old` and `new` are the same for the fact `key`.
  func admits(_ key: String, _ old: String, _ new: String) -> Bool {
    if old == new { return true }
    switch key {
    case "duration", "presentDuration":
      return close(Quantity.number(old), Quantity.number(new), .absolute(duration))
    case "video.frameRate": return close(Quantity.rate(old), Quantity.rate(new), .relative(rate))
    case "bitRate", "video.bitRate":
      // A bit rate that is worked out from a duration is as far off as that.
      return close(Quantity.number(old), Quantity.number(new), .relative(max(rate, 0.05)))
    default: return false
    }
  }

  private func close(_ old: Double?, _ new: Double?, _ tolerance: Tolerance) -> Bool {
    guard let old, let new else { return false }
    return tolerance.admits(new, for: old, usually: .usual)
  }
}
