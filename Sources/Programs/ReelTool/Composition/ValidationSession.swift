import ReelCore
import ReelSandbox
import ReelSource
import ReelValidation
import ReelUpkeep

/// Reads files and judges them: the work of `reel validate` and `reel lock`.
struct ValidationSession: Sendable {
  let inputs: [SourceInput]
  let followLinks: Bool
  let includesTrash: Bool
  let filter: FixtureFilter
  let policy: Policy
  let prober: SandboxedProber
  /// Files read at once.
  let width: Int
  /// For reports with pictures.
  let illustration: ReportIllustration

  /// A file, what the policy says of it, and what a lock keeps of it.
  struct EvaluatedFile: Sendable {
    let facts: FixtureFacts
    let findings: [Finding]
    let entry: LockEntry

    /// Why Reel could not judge it; nil when it could.
    var unjudged: ProbeError? {
      facts.problem.flatMap { $0.code.leavesFileUnjudged ? $0 : nil }
    }
  }

  /// What came of it.
  struct Outcome: Sendable {
    let files: [EvaluatedFile]
    let reader: ReaderVersion?
    let wasInterrupted: Bool
  }

  /// Reads and judges every file.
  /// - Parameter locks: whether each file's digest is needed.
  /// - Throws: ``CommandFailure`` when no file can be read at all.
  func judge(locks: Bool) async throws -> Outcome {
    let hashing: FixtureScan.Hashing =
      locks ? .all : policy.asks(RuleIDs.duplicate) ? .sameSizes : .none
    let scan = FixtureScan(
      inputs: inputs, followLinks: followLinks, includesTrash: includesTrash, filter: filter.names,
      prober: prober, hashing: hashing, width: width, wording: FlagNames.put)
    let (result, wasInterrupted) = await Interruption.cancelling { try await scan.run() }
    await prober.close()
    return judgement(try result.get(), wasInterrupted)
  }

  private func judgement(_ facts: [FixtureFacts], _ wasInterrupted: Bool) -> Outcome {
    let ffmpeg = facts.lazy.compactMap(\.ffmpeg).first
    let reader = ffmpeg.map { ReaderVersion(reel: ReelVersion.current, ffmpeg: $0) }
    let unread = ReaderVersion(reel: ReelVersion.current, ffmpeg: ffmpeg ?? "unknown")
    let files = facts.map { facts in
      let findings = RuleEvaluator.findings(facts, by: policy.rules(for: facts.patternPath))
      return EvaluatedFile(
        facts: facts, findings: findings, entry: LockEntry(facts, findings: findings, reader: unread))
    }
    return Outcome(files: files, reader: reader, wasInterrupted: wasInterrupted)
  }
}

extension FixtureFacts {
  /// The version of libavformat that read it.
  fileprivate var ffmpeg: String? {
    if case .media(let report) = reading { report.provenance.ffmpeg } else { nil }
  }
}

// MARK: The lock

extension ValidationSession {
  /// The report of `judgement`, held against `lock` where there is one.
  func report(
    _ judgement: Outcome, lock: (place: LockPlace, file: LockFile)?, strict: Bool, allowsEmpty: Bool
  ) -> ValidationReport {
    var files = judgement.files.map { judged in
      ValidatedFile(
        path: judged.facts.path, findings: judged.findings, unjudged: judged.unjudged,
        warnings: judged.facts.media?.warnings ?? [])
    }
    if let lock {
      let comparison = LockComparison(lock.file)
      files = judgement.files.map { held($0, against: comparison, lock.place) }
      let found = Set(judgement.files.map { lock.place.name(of: $0.facts.path) })
      files += comparison.gone(found: found) { lock.place.covers($0, inputs, filter) }
        .map { ValidatedFile(path: lock.place.file(named: $0.0), findings: [$0.1]) }
    }
    return ValidationReport(
      files: files, policy: policy.name, policyVersion: policy.version, isLocked: lock != nil, strict: strict,
      allowsEmpty: allowsEmpty, reader: judgement.reader)
  }

  private func held(
    _ judged: EvaluatedFile, against comparison: LockComparison, _ place: LockPlace
  ) -> ValidatedFile {
    let name = place.name(of: judged.facts.path)
    return ValidatedFile(
      path: judged.facts.path,
      findings: comparison.findings(
        name, judged.entry, findings: judged.findings, reportedAs: judged.facts.path),
      unjudged: comparison.accepts(name, judged.entry) ? nil : judged.unjudged,
      warnings: judged.facts.media?.warnings ?? [])
  }

  /// What a lock of `judgement` would be.
  func update(_ judgement: Outcome, old: LockFile?, place: LockPlace) -> LockUpdate {
    let current = judgement.files.map { (place.name(of: $0.facts.path), $0.entry) }
    return LockUpdate(old: old, current: Dictionary(current) { first, _ in first }) {
      place.covers($0, inputs, filter)
    }
  }
}
