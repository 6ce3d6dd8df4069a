import ReelCore

/// A file and its findings.
package struct ValidatedFile: Hashable, Sendable {
  package let path: SourcePath
  /// The path by which the repository that contains it names it, from its root; outside a repository, ``path``.
  package var place: SourcePath
  /// In the order of ``RuleRegistry``, followed by those of the lock.
  package let findings: [Finding]
  /// Why Reel could not judge it; nil if it could.
  package let unjudged: ProbeError?
  /// The oddities that the reader found, whether or not a rule is about them.
  package let warnings: [MediaWarning]

  package init(
    path: SourcePath, findings: [Finding], unjudged: ProbeError? = nil, warnings: [MediaWarning] = []
  ) {
    self.path = path
    place = path
    self.findings = findings
    self.unjudged = unjudged
    self.warnings = warnings
  }

  /// The command that makes it pass; nil if there is none.
  package var fix: String? { findings.lazy.compactMap { $0.state == .broken ? $0.fix : nil }.first }

  /// The finding that prevents such a command; nil if nothing is broken.
  package var obstacle: Finding? {
    let broken = findings.filter { $0.state == .broken }
    return broken.first { $0.severity == .error && !$0.hasRemedy } ?? broken.first { $0.severity == .error }
      ?? broken.first
  }

  package enum Standing: String, Codable, Sendable, CaseIterable {
    case passed
    /// It breaks a rule of severity `error`, or a rule could not be judged in strict mode (`--strict`).
    case failed
    case unjudged
  }

  /// - Parameter strict: whether a rule that could not be judged counts as broken.
  package func standing(strict: Bool) -> Standing {
    if findings.contains(where: { Self.fails($0, strict: strict) }) { return .failed }
    return unjudged == nil ? .passed : .unjudged
  }

  /// Whether a finding makes its file fail.
  package static func fails(_ finding: Finding, strict: Bool) -> Bool {
    switch finding.state {
    case .broken: finding.severity == .error
    case .unverified: strict
    case .locked: false
    }
  }
}

package struct ValidationReport: Hashable, Sendable {
  /// Sorted by path, in byte order.
  package let files: [ValidatedFile]
  package let policy: String
  package let policyVersion: String?
  /// The lock with which the files were compared, as it was named; nil without one.
  package let lock: String?
  /// Whether a rule that could not be judged counts as broken.
  package let strict: Bool
  package let allowsEmpty: Bool
  /// Nil if no file needed the reader.
  package let reader: ReaderVersion?
  /// The command that locks everything as it was found; nil without a lock.
  package let acceptance: String?

  package init(
    files: [ValidatedFile], policy: String, policyVersion: String?, lock: String?, strict: Bool,
    allowsEmpty: Bool, reader: ReaderVersion?, acceptance: String? = nil
  ) {
    self.acceptance = acceptance
    self.files = files.sorted { $0.path < $1.path }
    self.policy = policy
    self.policyVersion = policyVersion
    self.lock = lock
    self.strict = strict
    self.allowsEmpty = allowsEmpty
    self.reader = reader
  }

  package var isLocked: Bool { lock != nil }

  package enum Outcome: String, Codable, Sendable, CaseIterable {
    case passed
    /// A rule or the lock is broken, or there was no file.
    case failed
    /// Nothing is broken, but some file could not be judged.
    case unjudged
  }

  /// A broken rule takes precedence over a file that could not be judged.
  package var outcome: Outcome {
    if files.isEmpty { return allowsEmpty ? .passed : .failed }
    let standings = Set(files.map { $0.standing(strict: strict) })
    if standings.contains(.failed) { return .failed }
    return standings.contains(.unjudged) ? .unjudged : .passed
  }

  package var isEmptyFailure: Bool { files.isEmpty && !allowsEmpty }

  /// The numbers of files and findings by result.
  package struct Totals: Hashable, Sendable, Codable {
    package var files = 0
    package var passed = 0
    package var failed = 0
    package var unjudged = 0
    /// Findings that make their files fail.
    package var errors = 0
    /// Findings of broken rules of severity `warn`.
    package var warnings = 0
    /// Findings of rules that could not be judged.
    package var unverified = 0
    /// Findings of rules that were already broken when the file was locked.
    package var locked = 0
  }

  /// Computed anew on each access.
  package var totals: Totals {
    files.reduce(into: Totals()) { totals, file in
      totals.files += 1
      switch file.standing(strict: strict) {
      case .passed: totals.passed += 1
      case .failed: totals.failed += 1
      case .unjudged: totals.unjudged += 1
      }
      for finding in file.findings {
        switch finding.state {
        case .unverified: totals.unverified += 1
        case .locked: totals.locked += 1
        case .broken: if finding.severity == .error { totals.errors += 1 } else { totals.warnings += 1 }
        }
      }
    }
  }
}
