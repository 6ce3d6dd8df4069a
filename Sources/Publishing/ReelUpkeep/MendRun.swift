import ReelCore
import ReelIngest
import ReelSandbox
import ReelSource
import ReelValidation
import Synchronization

/// The outcome for a file that was to be mended.
package struct MendedFile: Sendable {
  package let path: SourcePath
  /// What was done to it.
  package typealias Mended = (
    done: Set<Mend>,
    /// Where the mended file is; nil if there was nothing to mend.
    file: SourcePath?,
    /// Whether its end is missing, and what can be done about that was not requested.
    isCutOff: Bool
  )
  /// What was done, or why nothing was.
  package let result: Result<Mended, FileFailure>
}

/// Mends files, several at once, and reports on them in the order of the files.
package struct MendRun: Sendable {
  private let target: MendTarget
  private let options: MendOptions
  private let policy: Policy?
  private let isTrial: Bool
  private let prober: SandboxedProber
  private let mender: SandboxedMender
  private let inputs: [SourceInput]
  private let files: FileRun
  private let claimed = ClaimedPlaces()

  /// - Parameters:
  ///   - paths: never replaced.
  ///   - policy: whatever breaks its rules and can be mended is mended, too.
  ///   - isTrial: whether mended files are discarded.
  ///   - width: the number of files mended at once.
  package init(
    _ paths: [SourcePath], to target: MendTarget, options: MendOptions, policy: Policy?,
    isTrial: Bool = false, prober: SandboxedProber, width: Int, followLinks: Bool,
    filter: NameFilter = NameFilter()
  ) {
    (self.target, self.options, self.policy, self.prober) = (target, options, policy, prober)
    self.isTrial = isTrial
    mender = SandboxedMender(prober, isKept: !isTrial)
    inputs = paths.map { SourceInput(path: $0) }
    // What this run writes must not be mended again.
    let walk = WalkOptions(
      followLinks: followLinks, filter: filter,
      skippedDirectories: [target.folder.flatMap { DirectoryIdentity(at: $0) }].compactMap(\.self))
    files = FileRun(inputs: inputs, options: walk, width: width)
    if target.replaces { claimed.protect(paths) }
  }

  /// Whether `path` can be mended in this way, as far as can be found out: it is
  /// tried in `folder`, where nothing is left.
  package static func canMend(
    _ path: SourcePath, _ mends: Set<Mend>, in folder: String, prober: SandboxedProber
  ) async -> Bool {
    // If it can't be tried, the file is not to blame.
    guard DirectoryIdentity(at: SourcePath(folder)) != nil else { return true }
    let name = SourcePath("\(folder)/.reel-trial-\(SystemRandomness().name(length: 12))")
    let run = MendRun(
      [path], to: MendTarget(file: name, folder: nil, replaces: false), options: MendOptions(mends),
      policy: nil, isTrial: true, prober: prober, width: 1, followLinks: true)
    var isOfTheFile = false
    _ = try? await run.run { file in
      if case .failure(let failure) = file.result { isOfTheFile = failure.code.isOfTheFile }
    }
    return !isOfTheFile
  }

  /// Calls `report` with the outcome for each file, in order, and returns whether none failed.
  /// - Throws: ``MendError`` if no file can be mended at all; what `report` throws.
  package func run(_ report: (MendedFile) throws -> Void) async throws -> Bool {
    var areMended = true
    try await files.run(mended) { file in
      try report(file)
      if case .failure = file.result { areMended = false }
      return true
    }
    return areMended
  }

  /// - Throws: ``MendError`` after which no other file would fare better.
  @Sendable private func mended(_ file: WalkedFile, _ flag: CancellationFlag) throws -> MendedFile {
    let found: FoundFile
    do throws(SourceError) {
      found = try file.found.get()
    } catch {
      return MendedFile(path: file.path, result: .failure(FileFailure(error, as: error.code)))
    }
    do throws(MendError) {
      return MendedFile(path: found.path, result: .success(try mended(found, flag)))
    } catch {
      if error.code.isInstallation { throw error }
      return MendedFile(path: found.path, result: .failure(FileFailure(error, as: error.code)))
    }
  }

  // MARK: One file

  private func mended(
    _ found: FoundFile, _ flag: CancellationFlag
  ) throws(MendError) -> MendedFile.Mended {
    let file = try rethrowing(
      as: { MendError(MendError.Code(rawValue: $0.code.rawValue) ?? .unreadable, $0.text) }
    ) { () throws(SourceError) in try found.open() }
    let before = try facts(of: file, flag)
    if let before { try target.check(before.container) }
    let options = wanted(file, before).needed(by: before, at: file.path)
    let isCutOff = before?.truncated == true && !self.options.mends.contains(.salvage)
    guard !options.mends.isEmpty else { return ([], nil, isCutOff) }
    let name = target.path(
      for: file.path, below: inputs,
      extension: options.mends.contains(.fileExtension) ? before?.container : nil)
    try claim(name)
    let draft = try MendDraft(at: name, source: file.identity, replaces: target.replaces)
    let outcome = try mender.mend(file, options, into: draft.output.rawValue, cancellation: flag)
    guard !outcome.done.isEmpty else {
      try MendValidation.check(undone: options, before)
      return ([], nil, isCutOff)
    }
    let after: ProbeReport
    do throws(ProbeError) { after = try prober.probe(draft.sourceFile(), cancellation: flag) } catch {
      throw error.code == .cancelled
        ? MendError(error)
        : MendError(
          .notProven, "the mended file could not be read (" + error.text + "); the source is unchanged")
    }
    try target.check(after.media.container)
    try MendValidation.check(before, after.media, options, outcome)
    guard (try? file.handle.currentIdentity()) == file.identity else {
      throw MendError(.sourceChanged, "it changed while it was mended; try again when nothing writes to it")
    }
    guard !flag.isSet else { throw MendError(.cancelled, "it was cancelled before it was mended") }
    if !isTrial { try draft.finish() }
    return (outcome.done, name, isCutOff)
  }

  /// - Throws: `nameTaken` if another file of this run goes there, or if what is there was named by the user.
  private func claim(_ name: SourcePath) throws(MendError) {
    guard !claimed.isProtected(name) else {
      throw MendError(
        .nameTaken, "\(name.text) is one of the input files, which are never replaced")
    }
    guard claimed.claim(name) else {
      throw MendError(
        .nameTaken,
        "another file of this run is mended to \(name.text); mend one of them by itself, to another place")
    }
  }

  /// Returns nil for a file that was cut off so that only ``Mend/salvage`` can open it.
  private func facts(of file: SourceFile, _ flag: CancellationFlag) throws(MendError) -> MediaInfo? {
    do throws(ProbeError) {
      return try prober.probe(file, cancellation: flag).media
    } catch {
      guard error.code == .truncated, options.mends.contains(.salvage) else { throw MendError(error) }
      return nil
    }
  }

  /// Returns what the flags request, and what the policy finds that can be mended.
  private func wanted(_ file: SourceFile, _ media: MediaInfo?) -> MendOptions {
    guard let policy, let media else { return options }
    let report = ProbeReport(
      media: media, provenance: ProbeProvenance(method: .full, isolation: .none, ffmpeg: ""))
    let facts = FixtureFacts(
      path: file.path, patternPath: inputs.place(of: file.path), size: file.size,
      reading: .media(report))
    let findings = RuleEvaluator.findings(facts, by: policy.rules(for: facts.patternPath))
    var options = options
    for finding in findings where finding.state == .broken {
      if let mend = MendNeeds.mend(for: finding.rule) { options.mends.insert(mend) }
    }
    // One without the other would be done by halves.
    if options.mends.contains(.unfragment), policy.asks("mp4.notFastStart") {
      options.mends.insert(.faststart)
    }
    return options
  }
}

/// Which mend repairs which broken rule.
enum MendNeeds {
  /// Returns the mend that repairs a broken rule; nil if none does so without loss, or without
  /// leaving out something that is shown.
  static func mend(for rule: String) -> Mend? {
    switch rule {
    case "mp4.notFastStart": .faststart
    case "mp4.fragmented": .unfragment
    case "duration.missing", "duration.unstated", "duration.mismatch": .duration
    case "privacy.location": .location
    case "ext.mismatch": .fileExtension
    default: nil
    }
  }
}

/// The targets of one run's files, of which no two may be the same.
private final class ClaimedPlaces: Sendable {
  private let places = Mutex<Set<SourcePath>>([])
  private let files = Mutex<Set<DirectoryIdentity>>([])

  /// Protects files that the user named from being replaced.
  func protect(_ paths: [SourcePath]) {
    let found = Set(paths.compactMap(Self.identity))
    files.withLock { $0 = found }
  }

  func isProtected(_ path: SourcePath) -> Bool {
    files.withLock { files in !files.isEmpty && Self.identity(of: path).map(files.contains) ?? false }
  }

  /// The identity of whatever is at `path`.
  private static func identity(of path: SourcePath) -> DirectoryIdentity? {
    path.fileStatus.map { DirectoryIdentity($0) }
  }

  /// Claims a path. Returns false if it is already claimed.
  func claim(_ path: SourcePath) -> Bool { places.withLock { $0.insert(path).inserted } }
}
