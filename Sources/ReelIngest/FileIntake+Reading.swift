import FoundationEssentials
import ReelModel
import ReelSource
import ReelSystem

// Steps 0 to 3: what the file's bytes say.

extension FileIntake {
  /// Opens the file, looks at its first bytes, and copies it where nobody else writes while its digest is taken: from
  /// here on everything reads that copy. A dry run makes none.
  func openAndHash(_ found: FoundFile, _ known: ContentDigest?) async throws(StepFailure) -> HashedFile {
    let cancellation = CancellationFlag()
    let hashed = try await cancellation.whileRunning { () async throws(StepFailure) -> HashedFile? in
      try await services.disk.run { () throws(StepFailure) -> HashedFile? in
        try openAndHash(found) { cancellation.isSet }
      }
    }
    guard let hashed else { throw .failed(.cancelled) }
    if known != hashed.digest { await remember(hashed) }
    services.onStep(.hashed)
    return hashed
  }

  /// Blocks. Nil when it was cancelled.
  private func openAndHash(_ found: FoundFile, isCancelled: () -> Bool) throws(StepFailure) -> HashedFile? {
    let source = try opened(found)
    services.onStep(.opened)
    let now = services.clock.now()
    // No hours go into the digest of a file that is large and no video.
    let firstLook = firstLook(at: source)
    var isWanted = true
    if case .failure(let error) = firstLook {
      guard source.size <= Self.largestDigestOfRefused else { throw StepFailure(error) }
      isWanted = false
    }
    let staging = isWanted ? services.uploader.staging : nil
    guard let copied = try copy(source, to: staging ?? services.staging, isCancelled) else { return nil }
    return HashedFile(
      source: copied.source, digest: copied.digest, at: now,
      // What counts is what the copy begins with.
      firstLook: self.firstLook(at: copied.source),
      bytes: copied.bytes,
      sidecar: Result { () throws(SourceError) -> PostWords in
        // One that is trusted was read before.
        if options.trustSidecars { return PostWords() }
        return try Sidecar.words(beside: found, trustAuthor: false) ?? PostWords()
      })
  }

  /// Bytes of a file that is no video by its first ones, up to which it is copied and hashed all the same, so that the
  /// refusal can be remembered of just those bytes.
  private static let largestDigestOfRefused: Int64 = 16 << 20

  private typealias Copied = (source: SourceFile, digest: ContentDigest, bytes: any ByteSource)

  private func opened(_ found: FoundFile) throws(StepFailure) -> SourceFile {
    do throws(SourceError) {
      return try found.open()
    } catch {
      throw StepFailure(error)
    }
  }

  private func firstLook(at source: SourceFile) -> Result<MediaContainer?, ProbeError> {
    Result { () throws(ProbeError) in try services.prober.firstLook(at: source) }
  }

  private func copy(
    _ source: SourceFile, to staging: any StagingArea, _ isCancelled: () -> Bool
  ) throws(StepFailure) -> Copied? {
    if options.dryRun { return try digest(source, isCancelled) }
    do throws(PrivateCopy.Failure) {
      let copy = try PrivateCopy.make(of: source, in: staging, isCancelled: isCancelled)
      return copy.map { ($0.source, $0.digest, $0) }
    } catch {
      switch error {
      case .source(let error): throw StepFailure(error)
      case .staging(let error): throw StepFailure(error)
      }
    }
  }

  private func digest(_ source: SourceFile, _ isCancelled: () -> Bool) throws(StepFailure) -> Copied? {
    do throws(SourceError) {
      let digest = try SourceDigest.sha256(of: source, isCancelled: isCancelled)
      return digest.map { (source, $0, SourceFileBytes(source)) }
    } catch {
      throw StepFailure(error)
    }
  }

  /// Only of a state that was settled when hashing began: a change since then would show in its times.
  private func remember(_ hashed: HashedFile) async {
    guard !options.dryRun, hashed.source.identity.isSettled(by: hashed.at) else { return }
    await services.catalog.remember(hashed.digest, of: hashed.source.identity)
  }

  /// - Parameters:
  ///   - readings: what is remembered of its bytes.
  ///   - isNew: whether no earlier run has hashed the file in this state.
  func probe(
    _ hashed: HashedFile, _ readings: [ReaderVersion: ProbeOutcome], isNew: Bool
  ) async throws(StepFailure) -> Reading {
    let (source, digest) = (hashed.source, hashed.digest)
    let container = try await firstLook(hashed)
    // What was hashed in an earlier run was read in it, too, and that is remembered.
    if isNew { expectReading() }
    let reader = try await reader()
    switch readings[reader] {
    case .media(let report): return Reading(report: report, digest: digest, by: nil)
    case .failure(let error): throw StepFailure(error)
    case nil: break
    }
    do throws(ProbeError) {
      let report = try await services.prober.probe(source, sniffed: container)
      return Reading(report: report, digest: digest, by: reader)
    } catch {
      if error.code.isAboutTheBytes { await remember(.failure(error), of: digest, by: reader) }
      throw StepFailure(error)
    }
  }

  /// What is no video by its first bytes needs no reader to say so.
  private func firstLook(_ hashed: HashedFile) async throws(StepFailure) -> MediaContainer? {
    do throws(ProbeError) {
      return try hashed.firstLook.get()
    } catch {
      if error.code.isAboutTheBytes, let version = services.prober.firstLookVersion {
        await remember(.failure(error), of: hashed.digest, by: version)
      }
      throw StepFailure(error)
    }
  }

  /// Asked for only where a file needs it: a run whose files are all known starts no reader. The prober keeps what it
  /// has said once.
  func reader() async throws(StepFailure) -> ReaderVersion {
    do throws(ProbeError) {
      return try await services.prober.readerVersion()
    } catch {
      throw StepFailure(error)
    }
  }

  /// Called for a file that does not become a post: one that does is never read again for the same destination, and
  /// to write down for each what it holds would cost more than the few readings that it spares.
  func remember(_ reading: Reading) async {
    guard let reader = reading.reader else { return }
    await remember(.media(reading.report), of: reading.digest, by: reader)
  }

  private func remember(_ outcome: ProbeOutcome, of digest: ContentDigest, by reader: ReaderVersion) async {
    guard !options.dryRun else { return }
    await services.catalog.remember(outcome, of: digest, by: reader)
  }
}

/// What a file holds.
struct Reading: Sendable {
  let report: ProbeReport
  let digest: ContentDigest
  /// Who has read it just now; nil when it was remembered.
  let reader: ReaderVersion?

  init(report: ProbeReport, digest: ContentDigest, by reader: ReaderVersion?) {
    self.report = report
    self.digest = digest
    self.reader = reader
  }
}

/// What was read of a file by one thread in one go.
struct HashedFile: Sendable {
  /// Its private copy, where one was made.
  let source: SourceFile
  let digest: ContentDigest
  /// When hashing began.
  let at: Date
  /// The container that its first bytes tell, or what is wrong with them: it counts only if nobody has published it.
  let firstLook: Result<MediaContainer?, ProbeError>
  /// What `source` reads, for an uploader.
  let bytes: any ByteSource
  /// What its sidecar says, and what is wrong with that: it counts only if the file goes on.
  let sidecar: Result<PostWords, SourceError>

  func words() throws(StepFailure) -> PostWords {
    do throws(SourceError) {
      return try sidecar.get()
    } catch {
      throw StepFailure(error)
    }
  }
}
