import Glibc
import ReelCore
import ReelSandbox
import ReelSource
import ReelValidation

/// Judges files by a policy, and compares them against a lock.
package struct FixtureReview: Sendable {
  private let inputs: [SourceInput]
  private let filter: FixtureFilter
  private let policy: Policy

  /// - Parameters:
  ///   - inputs: what the files were found in.
  ///   - filter: which of them were looked at.
  package init(_ inputs: [SourceInput], filter: FixtureFilter, policy: Policy) {
    (self.inputs, self.filter, self.policy) = (inputs, filter, policy)
  }

  /// A file, what the policy says of it, and its entry for a lock.
  package struct EvaluatedFile: Sendable {
    package let facts: FixtureFacts
    package let findings: [Finding]
    package let entry: LockEntry

    /// The reason why Reel could not judge it; nil if it could.
    package var unjudged: ProbeError? {
      facts.problem.flatMap { $0.code.leavesFileUnjudged ? $0 : nil }
    }
  }

  /// The outcome of a review.
  package struct Outcome: Sendable {
    package let files: [EvaluatedFile]
    package let reader: ReaderVersion?

    /// Returns the first of `named` that does not exist.
    package func missing(_ named: [SourcePath]) -> SourcePath? {
      files.first { file in
        guard case .unreachable(let error) = file.facts.reading else { return false }
        return error.code == .notFound && named.contains(file.facts.path)
      }?.facts.path
    }
  }

  /// Judges each file by the policy. No two of the advised commands write to the same file, and none to an existing
  /// one.
  package func judgement(_ facts: [FixtureFacts]) -> Outcome {
    var claimed: Set<SourcePath> = []
    let claim = { (path: SourcePath) in path.isGone && claimed.insert(path).inserted }
    let ffmpeg = facts.lazy.compactMap(\.ffmpeg).first
    let reader = ffmpeg.map { ReaderVersion(reel: ReelVersion.current, ffmpeg: $0) }
    let unread = ReaderVersion(reel: ReelVersion.current, ffmpeg: ffmpeg ?? "unknown")
    let files = facts.sorted { $0.path < $1.path }.map { facts in
      let findings = RuleEvaluator.findings(facts, by: policy.rules(for: facts.patternPath), claim: claim)
      return EvaluatedFile(
        facts: facts, findings: findings, entry: LockEntry(facts, findings: findings, reader: unread))
    }
    return Outcome(files: files, reader: reader)
  }
}

extension FixtureFacts {
  /// The version of libavformat that read it.
  fileprivate var ffmpeg: String? {
    if case .media(let report) = reading { report.provenance.ffmpeg } else { nil }
  }
}

extension FixtureReview {
  /// Returns a sentence for each override of the policy that applies to none of the
  /// files, if whole folders were reviewed.
  package func idleOverrides(in judgement: Outcome) -> [String] {
    guard filter.names.takesAll, inputs.allSatisfy({ $0.isRemote || $0.path.fileKind == S_IFDIR }) else {
      return []
    }
    return policy.idleOverrides(among: judgement.files.map(\.facts.patternPath))
  }
}

extension FixtureReview {
  /// The largest file, in bytes, for which mending is tried. For a larger one it is advised untried.
  private static let mostTried: Int64 = 256 << 20

  /// Tries whether fragments can be joined so that sound and pictures stay where they are, which facts can't tell. The
  /// trial is made in `folder`, where nothing is left of it.
  /// - Parameter prober: returns a prober whose workers can mend.
  package func trying(
    _ judgement: Outcome, in folder: @Sendable () throws -> String, by prober: @Sendable () -> SandboxedProber
  ) async throws -> Outcome {
    let uncertain = judgement.files.indices.filter { place in
      let file = judgement.files[place]
      return (file.facts.size ?? .max) <= Self.mostTried
        && file.findings.contains { $0.fix?.contains(" \(Mend.unfragment.flag) ") == true }
    }
    guard !uncertain.isEmpty else { return judgement }
    let (prober, folder) = (prober(), try folder())
    var facts = judgement.files.map(\.facts)
    for place in uncertain where !Task.isCancelled {
      // Every change to a signed file removes its signature.
      let isSigned = facts[place].media?.contentCredentials == true
      let isMended = await MendRun.canMend(
        facts[place].path, isSigned ? [.faststart, .unfragment, .credentials] : [.faststart, .unfragment],
        in: folder, prober: prober)
      if !isMended { facts[place].unmendable.insert(.unfragment) }
    }
    await prober.close()
    return self.judgement(facts)
  }
}

// MARK: The lock

extension FixtureReview {
  /// Returns the report of `judgement`, compared against `lock` if there is one.
  /// - Parameter acceptance: the command that locks what was found as it is.
  package func report(
    _ judgement: Outcome, lock: (place: LockPlace, file: LockFile)?, acceptance: String? = nil,
    strict: Bool, allowsEmpty: Bool
  ) -> ValidationReport {
    var files = judgement.files.map { judged in
      ValidatedFile(
        path: judged.facts.path, findings: judged.findings, unjudged: judged.unjudged,
        warnings: judged.facts.media?.warnings ?? [])
    }
    if let lock {
      let comparison = LockComparison(
        lock.file, acceptance: acceptance, git: GitRepository.facts(of:))
      files = judgement.files.map {
        held($0, as: lock.place.name(of: $0.facts.path), comparison)
      }
      let found = Set(judgement.files.map { lock.place.name(of: $0.facts.path) })
      files += comparison.gone(found: found, isCovered: met(by: judgement, lock.place))
        .map { ValidatedFile(path: lock.place.file(named: $0.0), findings: [$0.1]) }
    }
    let tops = WorkTreeTops()
    for index in files.indices { files[index].place = tops.place(of: files[index].path) }
    return ValidationReport(
      files: files, policy: policy.name, policyVersion: policy.version, lock: lock?.place.path,
      strict: strict, allowsEmpty: allowsEmpty, reader: judgement.reader, acceptance: acceptance)
  }

  private func held(
    _ judged: EvaluatedFile, as name: SourcePath, _ comparison: LockComparison
  ) -> ValidatedFile {
    // A lock of an older version may list it as a file that can't be read.
    if judged.isUnread {
      return ValidatedFile(path: judged.facts.path, findings: judged.findings, unjudged: judged.unjudged)
    }
    return ValidatedFile(
      path: judged.facts.path,
      findings: comparison.findings(
        name, judged.entry, findings: judged.findings, judged.facts),
      unjudged: comparison.accepts(name, judged.entry) ? nil : judged.unjudged,
      warnings: judged.facts.media?.warnings ?? [])
  }

  /// Returns files that are pointers to files in Git LFS. A pointer is not locked in place of its file.
  package func pointers(in judgement: Outcome, old: LockFile?, place: LockPlace) -> [EvaluatedFile] {
    judgement.files.filter { file in
      guard file.facts.problem?.code == .lfsPointer else { return false }
      if file.facts.git?.lfsPlace != nil { return true }
      // In an archive of a repository, without Git's own knowledge, the lock tells whether the file is a pointer.
      guard let locked = old?.entries[place.name(of: file.facts.path)] else { return false }
      return locked.facts["error"] != file.entry.facts["error"]
    }
  }

  /// Returns the files and folders that could not be read on this machine.
  package func unread(in judgement: Outcome) -> [EvaluatedFile] { judgement.files.filter(\.isUnread) }

  /// Returns what a lock of `judgement` would be.
  package func update(_ judgement: Outcome, old: LockFile?, place: LockPlace) -> LockUpdate {
    let current = judgement.files.map { (place.name(of: $0.facts.path), $0.entry) }
    let unread = unread(in: judgement).map { place.name(of: $0.facts.path) }
    let refused = Set(
      pointers(in: judgement, old: old, place: place).map { place.name(of: $0.facts.path) } + unread)
    return LockUpdate(
      old: old, current: Dictionary(current) { first, _ in first }, refused: refused,
      isCovered: met(by: judgement, place))
  }

  /// Whether the walk would have met a file that the lock names. It would not in a folder that could not be read.
  private func met(by judgement: Outcome, _ place: LockPlace) -> (SourcePath) -> Bool {
    let unread = unread(in: judgement).map { SourceInput(path: $0.facts.path) }
    let all = FixtureFilter(including: [], excluding: [])
    return { place.covers($0, inputs, filter) && !place.covers($0, unread, all) }
  }
}

extension FixtureReview.EvaluatedFile {
  /// Whether it could not be read on this machine now, which says nothing about what it is. A link or a device does not
  /// count, as it is one on every machine.
  fileprivate var isUnread: Bool {
    guard case .unreachable(let error) = facts.reading else { return false }
    return [.denied, .unreadable, .tooManyOpenFiles].contains(error.code)
  }
}
