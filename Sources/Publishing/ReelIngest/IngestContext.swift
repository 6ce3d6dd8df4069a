import ReelCore
import ReelSource
import Synchronization

/// What every step of a run works with, and the small decisions that several of them share.
struct IngestContext: Sendable {
  let services: IngestServices
  let options: IngestOptions
  let hub: EventHub
  let stop: StopSignal
  /// Where the files come from; nil for a test.
  let feed: (any FileFeed)?
  /// What a dry run would have published so far: the second of two equal files would be a duplicate.
  private let planned = PlannedPublications()

  init(
    services: IngestServices, options: IngestOptions, hub: EventHub, stop: StopSignal,
    feed: (any FileFeed)? = nil
  ) {
    self.feed = feed
    self.services = services
    self.options = options
    self.hub = hub
    self.stop = stop
  }

  /// Asked for only where a file needs it: a run whose files are all known starts no reader. The prober keeps what it
  /// has said once. Blocks.
  func reader() throws -> ReaderVersion {
    try services.prober.readerVersion(cancellation: stop.cancellation)
  }

  // MARK: Words

  /// What the user says: of the file, by flags, then the caption list, then settings.
  func said(of found: FoundFile, _ file: FileReference) -> PostMetadata {
    let listed = options.captions?.entry(for: found.path)?.metadata ?? PostMetadata()
    let asked = PostMetadata(authorID: feed?.wishes(for: file).author)
    return asked.completed(by: options.metadata).completed(by: listed).completed(by: options.defaultMetadata)
  }

  /// The file's own title and artist stand in where nobody said anything.
  func draft(_ report: ProbeReport, of file: SourcePath, metadata: PostMetadata) -> PostDraft {
    let own = PostMetadata(caption: report.media.title, music: report.media.artist)
    let counts = options.demoCounts ? (demoCount(), demoCount()) : (0, 0)
    var draft = PostDraft(
      media: report.media, provenance: report.provenance, metadata: metadata.completed(by: own),
      likeCount: counts.0, shareCount: counts.1, commentID: services.randomness.name(length: 22))
    if options.keepsSourceName { draft.sourceName = file.fileName }
    return draft
  }

  private func demoCount() -> Int {
    1000 + Int(services.randomness.number(below: 99_001))
  }

  // MARK: Mending

  /// What is to be mended in a file of these facts before it is judged; nil for nothing. A dry run writes nothing.
  func mends(of media: MediaInfo, at path: SourcePath) -> MendOptions? {
    guard services.mender != nil, !options.dryRun else { return nil }
    let needed = options.mends.needed(by: media, at: path)
    return needed.mends.isEmpty ? nil : needed
  }

  /// The file as it is to be published, and its facts: a mended copy, which is proved to hold the same, or `file` itself
  /// where there was nothing to mend after all. Blocks.
  func mend(
    _ file: HashedFile, _ report: ProbeReport, _ mends: MendOptions
  ) throws -> (HashedFile, ProbeReport) {
    guard let mender = services.mender else { return (file, report) }
    let watch = watch(.mend)
    defer { watch.end() }
    let staging = services.uploader.staging ?? services.staging
    let draft = try staging.makeFile()
    let outcome: MendOutcome
    do throws(MendError) {
      outcome = try mender.mend(file.source, mends, into: draft.descriptor, cancellation: stop.cancellation)
    } catch {
      // Nobody has asked for credentials to be dropped: the file counts as it came.
      guard error.code == .notMendable, error.remedy == .credentials else { throw error }
      hub.emit([.fileNotMended(file.file, FileFailure(leftAsItIs: error))])
      return (file, report)
    }
    guard !outcome.done.isEmpty else {
      try MendValidation.check(undone: mends, report.media)
      return (file, report)
    }
    let copy = try PrivateCopy.mended(draft, size: outcome.size, of: file.source) { stop.cancellation.isSet }
    guard let copy else { throw StepFailure.failed(.cancelled) }
    let facts = try self.facts(of: copy, report, mends, outcome)
    services.onStep(.mended)
    let publication = Publication(
      digest: copy.digest, destination: file.publication.destination, authorID: file.publication.authorID)
    return (file.mended(copy, outcome.done, as: publication), facts)
  }

  private func facts(
    of copy: PrivateCopy, _ before: ProbeReport, _ mends: MendOptions, _ outcome: MendOutcome
  ) throws(MendError) -> ProbeReport {
    let after: ProbeReport
    do throws(ProbeError) {
      after = try services.prober.probe(copy.source, cancellation: stop.cancellation)
    } catch {
      let isItsFault = error.code != .cancelled && !error.code.isInstallation
      throw isItsFault
        ? MendError(.notProven, "mended, it could not be read (" + error.text + "); the source is as it was")
        : MendError(error)
    }
    try MendValidation.check(before.media, after.media, mends, outcome)
    return after
  }

  // MARK: Judging

  func policy(for file: FileReference) -> any IntakePolicy {
    feed?.wishes(for: file).policy ?? services.policy
  }

  /// A file that looks cut off is judged only when it is known that nothing more comes.
  func checkWhole(_ report: ProbeReport, _ file: FileReference) throws {
    guard report.media.truncated == true, feed?.awaitsMore(of: file) == true else { return }
    throw ProbeError(.truncated, "its data ends too early")
  }

  /// What is to become of a file whose facts are known.
  enum Decision {
    case accepted(AcceptedFile)
    case ended(PublishResult)
  }

  /// - Parameter reader: who has read it just now; nil where that is remembered.
  /// - Throws: the policy's refusal, and what is wrong with its sidecar.
  func judge(
    _ file: HashedFile, _ report: ProbeReport, readBy reader: ReaderVersion?,
    noting notes: inout [CatalogNote]
  ) throws -> Decision {
    services.onStep(.probed)
    let reading = reader.map { CatalogNote.outcome(.media(report), of: file.digest, by: $0) }
    let violations = policy(for: file.file).violations(in: report.media, of: file.source.path)
    if let refusal = FileRefused(violations) {
      if let reading, !options.dryRun { notes.append(reading) }
      throw StepFailure.refused(refusal)
    }
    if let warning = MetadataWarning(report.media, of: file.file.path) { hub.emit(.metadataWarning(warning)) }
    services.onStep(.judged)
    let metadata = try file.metadata.get()
    var draft = draft(report, of: file.source.path, metadata: metadata)
    draft.mended = file.mended.isEmpty ? nil : file.mended
    if options.dryRun { return .ended(plan(draft, file.publication)) }
    var source = UploadSource(
      size: file.source.size, digest: file.digest, contentType: draft.media.container.contentType,
      bytes: file.bytes)
    source.origin = file.origin
    return .accepted(
      AcceptedFile(
        file: file.file, video: file.source, source: source, draft: draft, publication: file.publication,
        arrived: file.arrived, reading: reading))
  }

  // MARK: Posters

  /// Makes the poster of `accepted`, where posts are to have some, and adds what is to be told of it to `events`. Blocks.
  /// - Throws: where there is none and one is required; what ends the run.
  func makePoster(
    of accepted: inout AcceptedFile, telling events: inout [IngestEvent.Body]
  ) throws {
    guard options.posters != .none, let maker = services.posters else { return }
    let watch = watch(.poster)
    defer { watch.end() }
    do throws(PosterError) {
      let poster = try maker.poster(
        of: accepted.video, sniffed: accepted.draft.media.container, options: options.poster,
        cancellation: stop.cancellation)
      accepted.poster = MadePoster(poster)
      events.append(.posterMade(accepted.file, PosterMade(poster)))
    } catch {
      events += try goOn(without: StepFailure(error), accepted.file)
    }
  }

  /// What is told of a file that has no poster because of `failure`.
  /// - Throws: `failure`, where the file is not to be published then.
  func goOn(
    without failure: StepFailure, _ file: FileReference
  ) throws -> [IngestEvent.Body] {
    guard options.posters == .wanted, case .failed(let reason) = failure, !reason.isCancellation else {
      throw failure
    }
    return [.posterFailed(file, reason)]
  }

  // MARK: Publications

  func publication(_ digest: ContentDigest, by metadata: PostMetadata) -> Publication {
    Publication(digest: digest, destination: services.uploader.destination, authorID: metadata.authorID)
  }

  /// Where the publication of `found` would be told apart from others, before anybody opens it.
  func question(about found: FoundFile, _ file: FileReference) -> RecalledFile {
    RecalledFile(
      identity: found.identity, path: options.absolute(found.path),
      destination: services.uploader.destination, authorID: said(of: found, file).authorID)
  }

  /// What to ask of some bytes; their post is of no interest where one more is to be made.
  func question(about publication: Publication) -> ContentQuestion {
    ContentQuestion(
      digest: publication.digest, publication: options.duplicates == .skip ? publication : nil,
      again: options.again)
  }

  func request(for accepted: AcceptedFile) -> ClaimRequest {
    let (randomness, length) = (services.randomness, options.nameLength)
    return ClaimRequest(
      publication: accepted.publication, duplicates: options.duplicates, size: accepted.source.size,
      newID: PostID(at: services.clock.now(), random: randomness),
      newKey: ObjectKey(random: randomness, container: accepted.draft.media.container, length: length),
      poster: accepted.poster.map { made in
        PosterRequest(
          digest: made.source.digest, size: made.source.size,
          newKey: ObjectKey(posterNamedBy: randomness, length: length))
      }, arrived: accepted.arrived, again: options.again)
  }

  /// A post whose publishing process died before it could tell is told now, once.
  func ending(of existing: PublishedPost) -> PublishResult {
    existing.announced || options.dryRun ? .duplicate(existing.post) : .published(existing.post)
  }

  /// Where its video was a post already, or was one that is not to come back. Nil where it may become one.
  func ending(of content: KnownContent) -> PublishResult? {
    if let post = content.post { return ending(of: post) }
    return options.again ? nil : content.removed.map(PublishResult.removed)
  }

  func plan(_ draft: PostDraft, _ publication: Publication) -> PublishResult {
    if options.duplicates == .skip, !planned.add(publication) { return .duplicate(nil) }
    return .planned(FilePlanned(media: draft.media, metadata: draft.metadata, digest: publication.digest))
  }
}

private final class PlannedPublications: Sendable {
  private let planned = Mutex(Set<Publication>())

  /// Whether nobody has planned this publication before; it is planned from now on.
  func add(_ publication: Publication) -> Bool { planned.withLock { $0.insert(publication).inserted } }
}
