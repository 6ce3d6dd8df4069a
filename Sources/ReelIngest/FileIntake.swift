import ReelModel
import ReelSource

/// The steps of one file, from its name to its post (docs/publish.md numbers them).
struct FileIntake: Sendable {
  let services: IngestServices
  let options: IngestOptions
  let ledger: DryRunLedger
  let hub: EventHub
  /// Called for each file that nobody has published yet, and that will most likely have to be read.
  let expectReading: @Sendable () -> Void

  /// How a file's steps end when nothing went wrong.
  enum Ending {
    case published(Post)
    case duplicate(Post?)
    case planned(FilePlanned)
  }

  /// Takes one file in. The caller tells its terminal event.
  func takeIn(_ found: FoundFile, as file: FileReference) async throws(StepFailure) -> Ending {
    let said = said(of: found)
    // Only a trusted sidecar has a say in who the author is, and so in what is a duplicate.
    let author = options.trustSidecars ? said.completed(by: try await sidecar(of: found)) : said
    let known = try await knownDigest(of: found.identity)
    if let known, let post = try await existingPost(publication(known, by: author)) { return post }

    let source = try await open(found)
    services.onStep(.opened)
    let hashedAt = services.clock.now()
    let digest: ContentDigest
    if let known { digest = known } else { digest = try await hash(source) }
    services.onStep(.hashed)
    let publication = publication(digest, by: author)
    if known == nil, let post = try await existingPost(publication) { return post }
    let words = options.trustSidecars ? author : said.completed(by: try await sidecar(of: found))

    let report = try await probe(source, digest: digest, isNew: known == nil)
    services.onStep(.probed)
    hub.emit(.fileProbed(file, report))
    let violations = services.policy.violations(in: report.media, of: source.path)
    if let refusal = FileRefused(violations) { throw .refused(refusal) }

    services.onStep(.judged)
    let draft = draft(report, words: words)
    if options.dryRun { return plan(draft, publication) }
    return try await publish(
      UploadSource(
        size: source.size, digest: digest, contentType: report.media.container.contentType,
        bytes: SourceFileBytes(source, hashedFrom: hashedAt)),
      as: draft, publication, file)
  }

  // MARK: Words

  /// What the user says: flags, then the caption list, then settings.
  private func said(of found: FoundFile) -> PostWords {
    let listed = options.captions?.entry(for: found.path)?.words ?? PostWords()
    return options.words.completed(by: listed).completed(by: options.defaultWords)
  }

  private func sidecar(of found: FoundFile) async throws(StepFailure) -> PostWords {
    let trust = options.trustSidecars
    do throws(SourceError) {
      return try await services.disk.run { () throws(SourceError) in
        try Sidecar.words(beside: found, trustAuthor: trust) ?? PostWords()
      }
    } catch {
      throw StepFailure(error)
    }
  }

  /// The file's own title and artist stand in where nobody said anything.
  private func draft(_ report: ProbeReport, words: PostWords) -> PostDraft {
    let own = PostWords(caption: report.media.title, music: report.media.artist)
    let counts = options.demoCounts ? (demoCount(), demoCount()) : (0, 0)
    return PostDraft(
      media: report.media, provenance: report.provenance, words: words.completed(by: own),
      likeCount: counts.0, shareCount: counts.1, commentID: services.randomness.name(length: 22))
  }

  private func demoCount() -> Int {
    1000 + Int(services.randomness.number(below: 99_001))
  }

  // MARK: Known already?

  private func publication(_ digest: ContentDigest, by words: PostWords) -> Publication {
    Publication(digest: digest, destination: services.uploader.destination, authorID: words.authorID)
  }

  /// A file in a state that an earlier run has hashed needs no look at its bytes.
  private func knownDigest(of identity: FileIdentity) async throws(StepFailure) -> ContentDigest? {
    do throws(CatalogError) {
      return try await services.catalog.knownFile(identity)
    } catch {
      throw StepFailure(error)
    }
  }

  private func existingPost(_ publication: Publication) async throws(StepFailure) -> Ending? {
    guard options.duplicates == .skip else { return nil }
    do throws(CatalogError) {
      guard let existing = try await services.catalog.published(publication) else { return nil }
      return ending(of: existing)
    } catch {
      throw StepFailure(error)
    }
  }

  /// A post whose publishing process died before it could tell is told now, once.
  func ending(of existing: PublishedPost) -> Ending {
    existing.announced || options.dryRun ? .duplicate(existing.post) : .published(existing.post)
  }

  // MARK: Reading

  private func open(_ found: FoundFile) async throws(StepFailure) -> SourceFile {
    do throws(SourceError) {
      return try await services.disk.run { () throws(SourceError) in try found.open() }
    } catch {
      throw StepFailure(error)
    }
  }

  private func hash(_ source: SourceFile) async throws(StepFailure) -> ContentDigest {
    let disk = services.disk
    let cancellation = CancellationFlag()
    let startedAt = services.clock.now()
    let hashed: ContentDigest?
    do throws(SourceError) {
      hashed = try await cancellation.whileRunning { () async throws(SourceError) in
        try await disk.run { () throws(SourceError) in
          try SourceDigest.sha256(of: source, isCancelled: { cancellation.isSet })
        }
      }
    } catch {
      throw StepFailure(error)
    }
    guard let digest = hashed else { throw .failed(.cancelled) }
    // A state that was settled when hashing began: a change since then would show in its times.
    if !options.dryRun, source.identity.isSettled(by: startedAt) {
      await services.catalog.remember(digest, of: source.identity)
    }
    return digest
  }

  private func probe(
    _ source: SourceFile, digest: ContentDigest, isNew: Bool
  ) async throws(StepFailure) -> ProbeReport {
    try await firstLook(at: source)
    // What was hashed in an earlier run was read in it, too, and that is remembered.
    if isNew { expectReading() }
    let reader = try await readerVersion()
    switch try await rememberedOutcome(of: digest, by: reader) {
    case .media(let report): return report
    case .failure(let error): throw StepFailure(error)
    case nil: break
    }
    do throws(ProbeError) {
      let report = try await services.prober.probe(source)
      await remember(.media(report), of: digest, by: reader)
      return report
    } catch {
      if error.code.isAboutTheBytes { await remember(.failure(error), of: digest, by: reader) }
      throw StepFailure(error)
    }
  }

  /// What is no video by its first bytes needs no reader to say so.
  private func firstLook(at source: SourceFile) async throws(StepFailure) {
    do throws(ProbeError) {
      try await services.prober.firstLook(at: source)
    } catch {
      throw StepFailure(error)
    }
  }

  /// Asked for only here: a run whose files are all known starts no reader.
  private func readerVersion() async throws(StepFailure) -> ReaderVersion {
    do throws(ProbeError) {
      return try await services.prober.readerVersion()
    } catch {
      throw StepFailure(error)
    }
  }

  private func rememberedOutcome(
    of digest: ContentDigest, by reader: ReaderVersion
  ) async throws(StepFailure) -> ProbeOutcome? {
    do throws(CatalogError) {
      return try await services.catalog.probeOutcome(of: digest, by: reader)
    } catch {
      throw StepFailure(error)
    }
  }

  private func remember(_ outcome: ProbeOutcome, of digest: ContentDigest, by reader: ReaderVersion) async {
    guard !options.dryRun else { return }
    await services.catalog.remember(outcome, of: digest, by: reader)
  }

  private func plan(_ draft: PostDraft, _ publication: Publication) -> Ending {
    if options.duplicates == .skip, !ledger.isFirst(publication) { return .duplicate(nil) }
    return .planned(FilePlanned(media: draft.media, words: draft.words))
  }
}
