import ReelModel
import ReelSource
import ReelSystem

/// The steps of one file, from its name to its post (docs/publish.md numbers them).
struct FileIntake: Sendable {
  let services: IngestServices
  let options: IngestOptions
  let hub: EventHub
  /// Where a file's steps run, which block.
  let threads: BlockingThreads
  let ledger = DryRunLedger()
  /// Called for each file that nobody has published yet, and that will most likely have to be read.
  let expectReading: @Sendable () -> Void
  /// Whether no further file is to be begun.
  private let isOver: @Sendable () -> Bool
  /// Where files are read and judged: as many as there are jobs. Who waits for the disk afterwards keeps no desk.
  private let desks: AsyncPlaces

  init(
    services: IngestServices, options: IngestOptions, hub: EventHub, threads: BlockingThreads,
    isOver: @escaping @Sendable () -> Bool, expectReading: @escaping @Sendable () -> Void
  ) {
    self.services = services
    self.options = options
    self.hub = hub
    self.threads = threads
    self.isOver = isOver
    self.expectReading = expectReading
    desks = AsyncPlaces(count: options.jobs)
  }

  /// How a file's steps end when nothing went wrong.
  enum Ending {
    case published(Post)
    case duplicate(Post?)
    case planned(FilePlanned)
  }

  /// What reading a file led to.
  private enum Outcome {
    case notBegun
    case ended(Ending)
    /// It is to become a post.
    case wanted(UploadSource, PostDraft, Publication, Reading)
  }

  /// Takes one file in, and tells that it has begun. The caller tells its terminal event.
  /// - Parameter known: its digest, where an earlier run has seen it in this state.
  /// - Returns: nil when the run ended before the file's turn came. Nothing was told of it then.
  func takeIn(
    _ found: FoundFile, known: ContentDigest?, as file: FileReference
  ) async throws(StepFailure) -> Ending? {
    switch try await readAtDesk(found, known, file) {
    case .notBegun: return nil
    case .ended(let ending): return ending
    case .wanted(let source, let draft, let publication, let reading):
      do throws(StepFailure) {
        return try await publish(source, as: draft, publication, file)
      } catch {
        await remember(reading)
        throw error
      }
    }
  }

  private func readAtDesk(
    _ found: FoundFile, _ known: ContentDigest?, _ file: FileReference
  ) async throws(StepFailure) -> Outcome {
    let desk = await desks.take()
    defer { desks.giveBack(desk) }
    if Task.isCancelled || isOver() { return .notBegun }
    hub.emit(.fileStarted(file, size: found.identity.size))
    return try await read(found, known, file)
  }

  private func read(
    _ found: FoundFile, _ known: ContentDigest?, _ file: FileReference
  ) async throws(StepFailure) -> Outcome {
    let said = said(of: found)
    // Only a trusted sidecar has a say in who the author is, and so in what is a duplicate.
    let author = options.trustSidecars ? said.completed(by: try await sidecar(of: found)) : said
    var content: KnownContent?
    if let known {
      content = try await self.content(of: known, by: author)
      if let post = content?.post { return .ended(ending(of: post)) }
    }

    try await checkSize(of: found)
    let hashed = try await openAndHash(found, known)
    let publication = publication(hashed.digest, by: author)
    if content == nil || hashed.digest != known {
      content = try await self.content(of: hashed.digest, by: author)
      if let post = content?.post { return .ended(ending(of: post)) }
    }
    let words = options.trustSidecars ? author : said.completed(by: try hashed.words())

    let reading = try await probe(hashed, content?.readings ?? [:], isNew: known == nil)
    services.onStep(.probed)
    hub.emit(.fileProbed(file, reading.report))
    return try await judge(reading, of: hashed, words: words, publication)
  }

  private func judge(
    _ reading: Reading, of hashed: HashedFile, words: PostWords, _ publication: Publication
  ) async throws(StepFailure) -> Outcome {
    let source = hashed.source
    let violations = services.policy.violations(in: reading.report.media, of: source.path)
    if let refusal = FileRefused(violations) {
      await remember(reading)
      throw .refused(refusal)
    }
    services.onStep(.judged)
    let draft = draft(reading.report, words: words)
    if options.dryRun { return .ended(plan(draft, publication)) }
    let upload = UploadSource(
      size: source.size, digest: hashed.digest, contentType: draft.media.container.contentType,
      bytes: hashed.bytes)
    return .wanted(upload, draft, publication, reading)
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

  /// Where the publication of `found` would be told apart from others, before anybody opens it.
  func question(about found: FoundFile) -> RecalledFile {
    RecalledFile(
      identity: found.identity, path: options.absolute(found.path),
      destination: services.uploader.destination, authorID: said(of: found).authorID)
  }

  /// Its post is of no interest where one more is to be made.
  private func content(
    of digest: ContentDigest, by author: PostWords
  ) async throws(StepFailure) -> KnownContent {
    let publication = options.duplicates == .skip ? publication(digest, by: author) : nil
    do throws(CatalogError) {
      return try await services.catalog.content(of: digest, publishedAs: publication)
    } catch {
      throw StepFailure(error)
    }
  }

  /// A post whose publishing process died before it could tell is told now, once.
  func ending(of existing: PublishedPost) -> Ending {
    existing.announced || options.dryRun ? .duplicate(existing.post) : .published(existing.post)
  }

  private func plan(_ draft: PostDraft, _ publication: Publication) -> Ending {
    if options.duplicates == .skip, !ledger.isFirst(publication) { return .duplicate(nil) }
    return .planned(FilePlanned(media: draft.media, words: draft.words))
  }
}
