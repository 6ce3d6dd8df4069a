import ReelCore
import ReelSource
import Synchronization

/// The services and options that every step of a run uses, and the small decisions that several steps share.
struct IngestContext: Sendable {
  let services: IngestServices
  let options: IngestOptions
  let hub: EventHub
  let stop: StopSignal
  /// The source of the files; nil in a test.
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

  /// The reader's version. Asked for only if a file needs it, so that a run whose files are all known starts no reader.
  /// The prober remembers its answer. Blocks.
  func reader() throws -> ReaderVersion {
    try services.prober.readerVersion(cancellation: stop.cancellation)
  }

  // MARK: Metadata

  /// The metadata that the user gives for the file: by flags, then by the caption list, then by settings.
  func said(of found: FoundFile, _ file: FileReference) -> PostMetadata {
    let listed = options.captions?.entry(for: found.path)?.metadata ?? PostMetadata()
    let asked = PostMetadata(authorID: feed?.wishes(for: file).author)
    return asked.completed(by: options.metadata).completed(by: listed).completed(by: options.defaultMetadata)
  }

  /// Drafts the post. The file's own title and artist are used if no other source gives any.
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

  /// The mends that a file with these facts needs before it is judged; nil for none. A dry run mends nothing, as it
  /// writes nothing.
  func mends(of media: MediaInfo, at path: SourcePath) -> MendOptions? {
    guard services.mender != nil, !options.dryRun else { return nil }
    let needed = options.mends.needed(by: media, at: path)
    return needed.mends.isEmpty ? nil : needed
  }

  /// Returns the file to be published, and its facts: a mended copy, proved to hold the same content, or `file` itself
  /// if there was nothing to mend after all. Blocks.
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
      // The user has not asked to drop credentials, so the file is used as it came in.
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

  /// Throws if the file looks truncated and more data may still arrive.
  func checkWhole(_ report: ProbeReport, _ file: FileReference) throws {
    guard report.media.truncated == true, feed?.awaitsMore(of: file) == true else { return }
    throw ProbeError(.truncated, "its data ends too early")
  }

  /// What becomes of a file whose facts are known.
  enum Decision {
    case accepted(AcceptedFile)
    case ended(PublishResult)
  }

  /// - Parameter reader: the reader that has just read the facts; nil if they were remembered.
  /// - Throws: the policy's refusal, or the error of the sidecar.
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

  /// Makes the poster of `accepted` if posts are to have posters, and appends the events about it to `events`. Blocks.
  /// - Throws: if a required poster could not be made, and for errors that end the run.
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

  /// The events for a file that is published without a poster because of `failure`.
  /// - Throws: `failure`, if the file must not be published without one.
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

  /// The question of what earlier runs know of `found` and of its publication, asked before the file is opened.
  func question(about found: FoundFile, _ file: FileReference) -> RecalledFile {
    RecalledFile(
      identity: found.identity, path: options.absolute(found.path),
      destination: services.uploader.destination, authorID: said(of: found, file).authorID)
  }

  /// The question of what is known of these bytes. Their post is not asked for if another one is to be made.
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

  /// The end of a file that is already a post. If the process that published the post died before it could say so, the
  /// event is sent now, once.
  func ending(of existing: PublishedPost) -> PublishResult {
    existing.announced || options.dryRun ? .duplicate(existing.post) : .published(existing.post)
  }

  /// The end of a file whose video is already a post, or whose post was removed for good; nil if the video may become a
  /// post.
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

  /// Adds the publication and returns whether it is new.
  func add(_ publication: Publication) -> Bool { planned.withLock { $0.insert(publication).inserted } }
}
