import ReelCore
import ReelSource

// Steps `opened` to `judged`, which examine the files' bytes.

extension Lane {
  /// Begins each of `admitted`, and returns those that are to become posts.
  mutating func read(_ admitted: [KnownFileFilter.Admitted]) -> [AcceptedFile] {
    var hashed: [HashedFile] = []
    for one in admitted {
      if context.stop.isSet { break }
      var beginning: IngestEvent.Body? = .fileStarted(one.item.file, size: one.item.size)
      // Hashing it takes long enough for a view to show it.
      if one.item.size ?? 0 > 8 << 20 {
        tell(beginning.take())
        report.emit()
      }
      do {
        if let file = try hash(one, beginning) { hashed.append(file) }
      } catch {
        tell(beginning)
        let failure = StepFailure(error)
        report.end(
          context.stop.cancellation.isSet && failure.isOfWhatLiesElsewhere(one.item)
            ? .failed(.cancelled) : failure, one.item.file)
      }
    }
    return judge(unpublished(hashed))
  }

  private mutating func tell(_ beginning: IngestEvent.Body?) {
    if let beginning { report.events.append(beginning) }
  }

  // MARK: Opening and hashing

  /// A file whose first bytes are not a video's is still copied and hashed up to this size, so that the refusal can be
  /// remembered for exactly these bytes.
  private static let largestDigestOfRefused: Int64 = 16 << 20

  /// Opens the file, checks its first bytes, and makes a private copy while hashing it; all later steps read that copy.
  /// A dry run makes no copy of a local file, and the program's own file (`OwnedFile`) needs none. Returns nil if the
  /// file has ended.
  private mutating func hash(
    _ one: KnownFileFilter.Admitted, _ beginning: IngestEvent.Body?
  ) throws -> HashedFile? {
    let watch = context.watch(.copy)
    defer { watch.end() }
    let file = one.item.file
    let found = try one.item.candidate()
    var said = context.said(of: found, file)
    let trust = context.options.trustSidecars
    // Only a trusted sidecar may name the author, and so affect what is a duplicate.
    if trust {
      said = said.completed(
        by: try sidecar(of: found))
    }
    if let known = one.known, let end = context.ending(of: try content(of: known, by: said)),
      try holds(known, found)
    {
      tell(beginning)
      report.end(end, file)
      return nil
    }
    try context.checkSize(of: found, file)
    let source = try found.open(context.stop.cancellation)
    context.services.onStep(.opened)
    let now = context.services.clock.now()
    let copy = try copy(source)
    if copy.digest != one.known, source.identity.isSettled(by: now), !(source.handle is OwnedHandle) {
      // Remember the digest only for a state that had settled when hashing began, because any later change then shows
      // in the file's times; and only for bytes that were read, which those of the program's own file were not.
      report.note([.digest(copy.digest, of: source.identity)])
    }
    context.services.onStep(.hashed)
    let metadata: Result<PostMetadata, SourceError>
    do throws(SourceError) {
      metadata = .success(trust ? said : said.completed(by: try sidecar(of: found)))
    } catch {
      metadata = .failure(error)
    }
    return HashedFile(
      file: file, source: copy.source, digest: copy.digest, bytes: copy.bytes,
      // What counts is the beginning of the copy.
      firstLook: firstLook(at: copy.source), metadata: metadata,
      publication: context.publication(copy.digest, by: said),
      origin: (source.handle as? any RemoteHandle)?.origin, isNew: one.known == nil, beginning: beginning)
  }

  /// Whether the file holds the bytes that it is known for, if that has to be proved.
  private func holds(_ known: ContentDigest, _ found: FoundFile) throws -> Bool {
    guard context.options.provesDuplicates else { return true }
    let cancellation = context.stop.cancellation
    return try SourceDigest.sha256(of: try found.open(cancellation)) { cancellation.isSet } == known
  }

  private mutating func sidecar(of found: FoundFile) throws(SourceError) -> PostMetadata {
    let sidecar = try Sidecar.contents(beside: found, trustAuthor: context.options.trustSidecars)
    guard let sidecar else { return PostMetadata() }
    if let warning = MetadataWarning(sidecar, beside: found.path) {
      report.events.append(.metadataWarning(warning))
    }
    return sidecar.metadata
  }

  private func content(of digest: ContentDigest, by author: PostMetadata) throws -> KnownContent {
    try context.services.catalog.contents(of: [
      context.question(about: context.publication(digest, by: author))
    ]).first
      ?? KnownContent()
  }

  private func firstLook(at source: SourceFile) -> Result<MediaContainer?, ProbeError> {
    Result { () throws(ProbeError) in try context.services.prober.firstLook(at: source) }
  }

  private typealias Copied = (source: SourceFile, digest: ContentDigest, bytes: any ByteSource)

  private func copy(_ source: SourceFile) throws -> Copied {
    // No one else writes to the program's own file, and its writer has hashed it.
    if let owned = source.handle as? OwnedHandle { return (source, owned.digest, owned) }
    let cancellation = context.stop.cancellation
    // Do not spend hours hashing a large file that is not a video.
    let firstLook = firstLook(at: source)
    var isWanted = true
    if case .failure(let error) = firstLook {
      guard source.size <= Self.largestDigestOfRefused else { throw error }
      isWanted = false
    }
    let copied: Copied?
    // The worker reads a remote file from a copy in a dry run, too, so that its reads do not go over the network.
    if context.options.dryRun, source.handle.descriptor != nil {
      copied = try SourceDigest.sha256(of: source) { cancellation.isSet }.map {
        (source, $0, SourceFileBytes(source))
      }
    } else {
      let staging = isWanted && !context.options.dryRun ? context.services.uploader.staging : nil
      copied = try PrivateCopy.make(of: source, in: staging ?? context.services.staging) {
        cancellation.isSet
      }.map { ($0.source, $0.digest, $0) }
    }
    guard let copied else { throw StepFailure.failed(.cancelled) }
    return copied
  }

  // MARK: Looking up known files

  /// Returns the files that are not posts yet, each with what is remembered of its bytes.
  private mutating func unpublished(_ hashed: [HashedFile]) -> [(HashedFile, KnownContent)] {
    guard !hashed.isEmpty else { return [] }
    let questions = hashed.map { context.question(about: $0.publication) }
    let contents: [KnownContent]
    do throws(CatalogError) {
      contents = try context.services.catalog.contents(of: questions)
    } catch {
      for file in hashed {
        tell(file.beginning)
        report.end(StepFailure(error), file.file)
      }
      return []
    }
    return zip(hashed, contents).filter { file, content in
      guard let end = context.ending(of: content) else { return true }
      tell(file.beginning)
      report.end(end, file.file)
      return false
    }
  }

  // MARK: Reading and judging

  private mutating func judge(_ files: [(HashedFile, KnownContent)]) -> [AcceptedFile] {
    var accepted: [AcceptedFile] = []
    for (file, content) in files {
      // A file whose start was never reported counts as not begun.
      if context.stop.cancellation.isSet, file.beginning != nil { continue }
      tell(file.beginning)
      do {
        if let one = try judge(file, content) { accepted.append(one) }
      } catch {
        report.end(StepFailure(error), file.file)
      }
    }
    return accepted
  }

  /// Returns nil if the file has ended or was handed over.
  private mutating func judge(_ file: HashedFile, _ content: KnownContent) throws -> AcceptedFile? {
    _ = try file.metadata.get()
    let (probed, reader) = try probe(file, content.readings)
    guard let probed else { return nil }
    try context.checkWhole(probed, file.file)
    report.events.append(.fileProbed(file.file, probed))
    if let mends = context.mends(of: probed.media, at: file.source.path) {
      handOver(.mending(file, probed, mends, by: reader))
      return nil
    }
    switch try context.judge(file, probed, readBy: reader, noting: &report.notes) {
    case .accepted(let accepted): return accepted
    case .ended(let ending):
      report.end(ending, file.file)
      return nil
    }
  }

  /// How long a file may delay the rest of its batch: many times what most files take, but so short that little is lost
  /// if the reading is started over. A single job does not benefit, unless files come without end.
  private var patience: Duration? {
    context.options.jobs > 1 || context.feed?.isEndless == true ? .milliseconds(20) : nil
  }

  /// Returns the file's facts, and the reader that has just read them; nil for remembered facts. Returns no report if
  /// the file takes so long that it is handed over.
  private mutating func probe(
    _ file: HashedFile, _ readings: [ReaderVersion: ProbeOutcome]
  ) throws -> (ProbeReport?, ReaderVersion?) {
    let watch = context.watch(.probe)
    defer { watch.end() }
    let container: MediaContainer?
    do throws(ProbeError) {
      container = try file.firstLook.get()
    } catch {
      // No reader is needed to refuse a file whose first bytes are not a video's.
      if let version = context.services.prober.firstLookVersion {
        report.note(file.notes(of: error, by: version))
      }
      throw error
    }
    // A file that an earlier run has hashed was also read then, and the outcome is remembered.
    if file.isNew { expectReading() }
    let reader = try context.reader()
    switch readings[reader] {
    case .media(let report): return (report, nil)
    case .failure(let error): throw error
    case nil: break
    }
    do throws(ProbeError) {
      switch try context.services.prober.probe(
        file.source, sniffed: container, patience: patience, cancellation: context.stop.cancellation)
      {
      case .done(let report): return (report, reader)
      case .pending(let probe):
        if context.feed?.setsAside(file.file) == true {
          throw ProbeError(.timeout, "it takes long to read, so it is read when there is time")
        }
        handOver(.reading(file, probe, by: reader))
        return (nil, reader)
      }
    } catch {
      report.note(file.notes(of: error, by: reader))
      throw error
    }
  }
}

extension StepFailure {
  /// Whether a file at an address could not be read. If the run was cancelled, the cancellation is the cause.
  fileprivate func isOfWhatLiesElsewhere(_ item: NumberedItem) -> Bool {
    guard case .failed(let failure) = self, item.file.path.isAddress else { return false }
    return (failure.cause as? SourceError)?.code == .unreadable
      || (failure.cause as? ProbeError)?.code == .unreadable
  }
}
