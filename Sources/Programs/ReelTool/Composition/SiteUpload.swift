import ReelCore
import ReelPage
import ReelRemoteStorage
import ReelSource
import ReelStorage
import ReelTerminal
import Synchronization

/// Puts a site into a bucket: `reel page --to`. The bucket is compared with the folder each time, so nothing is
/// remembered of the runs before, and one that broke is completed by the next.
struct SiteUpload: Sendable {
  private let stores: Destinations
  private let bucket: Destinations.BucketAccess
  private let files: S3Files
  /// Requests at once.
  private let width: Int
  /// Reads media.
  private let queue = BlockingQueue(label: "reel.media", width: AppContext.processors)

  /// - Parameters:
  ///   - to: as the user wrote it.
  ///   - library: the library's path; nil where the catalog is on a server.
  /// - Throws: ``CommandFailure`` when that is not a bucket, or a setting can't be used with it.
  init(_ to: String, _ settings: Settings, library: String?) async throws {
    var stores = Destinations(settings: settings, library: library, checkpoints: MemoryCheckpoints())
    stores.secretsAreFor = to
    bucket = try await stores.bucket(try Self.address(to))
    self.stores = stores
    width = settings.uploads ?? Destinations.uploadsToS3
    files = S3Files(
      bucket.store, transport: bucket.transport, credentials: bucket.credentials,
      processors: AppContext.processors)
  }

  private static func address(_ to: String) throws -> S3Address {
    guard case .s3(let bucket) = try DestinationAddress(parsing: to) else {
      throw CommandFailure(
        .usage,
        "reel page can upload a site only to an S3 bucket (--to s3://bucket/prefix): for another store, upload the folder SITE "
          + "with that store's own tools")
    }
    return bucket
  }

  /// Brings the bucket up to the folder. The first signal ends it; what was stored stays.
  func run(_ writer: SiteWriter, _ summary: SiteSummary) async throws -> SiteUploadSummary {
    // With --media, those that are left are missing.
    guard !summary.isLocal || summary.missing > 0 else {
      throw CommandFailure(
        .couldNotRun,
        "the site was not put into \(files.destination): its posts play files on this machine, which nobody else could "
          + "open. Put them into the site with --media copy, or ingest them with --to s3://… or --public-base-url"
      )
    }
    let (steps, media) = try Self.reading { () throws(SiteError) in (try writer.files(), try writer.media()) }
    let progress = SiteUploadProgress(
      SiteUploadSummary(to: files.destination.name, url: files.url(of: SiteWriter.entry)),
      of: steps.reduce(media.count) { $0 + $1.count })
    let drawing = stores.settings.progress == ProgressStyle.none ? nil : Task { await progress.draw() }
    let (result, wasInterrupted) = await Interruption.cancelling {
      try await upload(steps, media, of: writer, progress)
    }
    drawing?.cancel()
    await drawing?.value
    if case .failure(let error) = result {
      guard wasInterrupted else { throw error }
      throw CommandFailure(
        .interrupted, "interrupted: \(progress.summary.line); run the same command again to continue")
    }
    return progress.summary
  }

  private func upload(
    _ steps: [[SiteFile]], _ media: [SiteMedia], of writer: SiteWriter, _ progress: SiteUploadProgress
  ) async throws(UploadError) {
    let names = Set(steps.joined().map(\.name))
    let stored = try await stored(names)
    try await upload(media, progress)
    for step in steps {
      try await files.update(
        step.map { .init(name: $0.name, contentType: $0.contentType, cacheControl: $0.cacheControl) },
        stored: stored, width: width
      ) { file throws(UploadError) in
        try Self.reading { () throws(SiteError) in try writer.bytes(of: file.name) }
      } reporting: {
        progress.note($0)
      }
    }
    // No index names them any more.
    let former = stored.keys.filter { SiteWriter.isFormerPage($0) && !names.contains($0) }
    try await forEach(of: former, atOnce: width) { name throws(UploadError) in
      try await files.remove(name)
      progress.note { $0.removed += 1 }
    }
  }

  /// What the bucket has of the site. Its media are not asked for: there may be a million of them, of which the folder
  /// has none.
  /// - Throws: `conflict` when there is a page that is not one of ours.
  private func stored(_ names: Set<String>) async throws(UploadError) -> [String: S3Files.Stored] {
    let found = Mutex(try await files.list("feed/"))
    try await forEach(of: names.filter { !$0.contains("/") }, atOnce: width) { name throws(UploadError) in
      let stored = try await files.list(name, most: 1)[name]
      found.withLock { $0[name] = stored }
    }
    let stored = found.withLock { $0 }
    // A run that broke leaves it the other way round.
    guard stored[SiteWriter.entry] == nil || stored[SiteWriter.index] != nil else {
      throw UploadError(
        .conflict,
        "\(files.destination) has an \(SiteWriter.entry) that reel page did not put there: name another prefix, or "
          + "remove it")
    }
    return stored
  }

  // MARK: Media

  private func upload(_ media: [SiteMedia], _ progress: SiteUploadProgress) async throws(UploadError) {
    for (folder, media) in Dictionary(grouping: media, by: \.folder) {
      let uploader = try uploader(folder)
      let stored = try await files.list(folder + "/")
      try await forEach(of: media, atOnce: width) { file throws(UploadError) in
        if let size = stored["\(folder)/\(file.key)"]?.size {
          guard size == file.size else { throw different(file, size) }
          progress.note(.none)
        } else {
          let source = try await source(file)
          let sent = Mutex(Int64(0))
          _ = try await uploader.upload(source, to: file.key) { transfer in
            let more = sent.withLock { sent in
              defer { sent = max(sent, transfer.sent) }
              return max(0, transfer.sent - sent)
            }
            progress.note { $0.bytes += more }
          }
          progress.note(.put(0))
        }
      }
    }
  }

  private func uploader(_ folder: String) throws(UploadError) -> any Uploader {
    do {
      let store = try bucket.store.folder(folder)
      return try stores.decorated(
        Destinations.Opened(uploader: stores.uploader(bucket, store), folder: nil, keepsToRate: true))
    } catch {
      let reason = (error as? S3StoreError)?.told ?? CommandFailure.reason(error)
      throw UploadError(.storeUnusable, "the site's folder \(folder) can't be put into a bucket: \(reason)")
    }
  }

  private func different(_ file: SiteMedia, _ size: Int64) -> UploadError {
    UploadError(
      .conflict,
      "\(files.destination) has \(size) bytes as \(file.folder)/\(file.key), and \(file.path) has \(file.size): find out "
        + "which is whole, and remove the other")
  }

  private func source(_ file: SiteMedia) async throws(UploadError) -> UploadSource {
    let read: UploadSource?
    do throws(SourceError) {
      read = try await queue.runCancellable { flag throws(SourceError) -> UploadSource? in
        let source = try FoundFile.named(SourcePath(file.path), followLinks: false).open()
        let digest = try SourceDigest.sha256(of: source, isCancelled: { flag.isSet })
        return digest.map { digest in
          UploadSource(
            size: source.size, digest: digest, contentType: file.key.contentType,
            bytes: SourceFileBytes(source))
        }
      }
    } catch {
      throw UploadError(.sourceUnreadable, "\(file.path): \(error.text)")
    }
    guard let read else { throw UploadError(.cancelled, "cancelled while \(file.path) was read") }
    guard file.digest == nil || read.digest == file.digest else {
      throw UploadError(
        .sourceUnreadable,
        "\(file.path) has other bytes than its post says, and was not uploaded: remove it, and run the same command with "
          + "--all, which brings the video again")
    }
    return read
  }

  private static func reading<Value>(_ body: () throws(SiteError) -> Value) throws(UploadError) -> Value {
    do throws(SiteError) {
      return try body()
    } catch {
      throw UploadError(.sourceUnreadable, error.text)
    }
  }
}

/// What became of a site's files in the bucket.
struct SiteUploadSummary: Encodable, Sendable {
  let to: String
  /// Where the page opens, if the bucket can be read.
  let url: String
  /// Files that were put there.
  var uploaded = 0
  /// Their bytes.
  var bytes: Int64 = 0
  /// Files that were there already.
  var unchanged = 0
  /// Pages of the feed that the site no longer has.
  var removed = 0

  /// How far it has come.
  var line: String {
    "\(to): \(HumanNumber.count(uploaded, "file", "files")) uploaded (\(HumanNumber.bytes(bytes))), \(unchanged) there "
      + "already" + (removed > 0 ? ", \(removed) removed" : "")
  }

  /// What it has come to.
  var lines: [String] {
    let isSame = uploaded == 0 && removed == 0
    let all = HumanNumber.count(unchanged, "file", "files")
    return [
      isSame ? "nothing to upload: \(to) has all \(all)" : line, "Open it, if the bucket is public: \(url)",
    ]
  }
}

/// Counts what was uploaded, and shows it where lines can be drawn over.
private final class SiteUploadProgress: Sendable {
  private let counts: Mutex<SiteUploadSummary>
  /// Files.
  private let total: Int
  private let queue = BlockingQueue(label: "reel.progress", width: 1)

  init(_ summary: SiteUploadSummary, of total: Int) {
    counts = Mutex(summary)
    self.total = total
  }

  var summary: SiteUploadSummary { counts.withLock { $0 } }

  func note(_ change: (inout SiteUploadSummary) -> Void) { counts.withLock { change(&$0) } }

  func note(_ change: S3Files.Change) {
    note { counts in
      switch change {
      case .none: counts.unchanged += 1
      case .put(let bytes):
        counts.uploaded += 1
        counts.bytes += bytes
      }
    }
  }

  /// Draws until cancelled, and leaves a clean line behind.
  func draw() async {
    guard TerminalTraits.standardError().canRedraw else { return }
    // An upload that is over at once needs no progress.
    try? await Task.sleep(for: .milliseconds(100))
    while !Task.isCancelled {
      let now = summary
      await write(
        TerminalTraits.standardError().redrawn(
          "uploading: \(now.uploaded + now.unchanged) of \(HumanNumber.count(total, "file", "files")), "
            + "\(HumanNumber.bytes(now.bytes)) sent"))
      try? await Task.sleep(for: .milliseconds(100))
    }
    await write("")
  }

  /// Progress that nobody can see any more is no reason to end the upload.
  private func write(_ line: String) async {
    await queue.run { try? OutputStream.standardError.write("\r\u{1B}[2K" + line) }
  }
}
