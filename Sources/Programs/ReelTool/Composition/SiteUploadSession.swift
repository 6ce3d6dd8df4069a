import ReelCore
import ReelPage
import ReelProcess
import ReelRemoteStorage
import ReelStorage
import ReelStores
import ReelTerminal

/// The work of `reel page --to`: a ``SiteUpload``, put together from the settings.
struct SiteUploadSession: Sendable {
  private let upload: SiteUpload
  private let isDrawn: Bool
  private let queue = BlockingQueue(label: "reel.progress", width: 1)

  /// - Parameters:
  ///   - to: the destination as the user wrote it.
  ///   - library: the library's path; nil where the catalog is on a server.
  /// - Throws: ``CommandFailure`` when `to` is not a bucket, or a setting can't be used with it.
  init(_ to: String, _ settings: Settings, library: String?) async throws {
    let stores = Stores(settings, library: library)
    let bucket = try await stores.bucket(try Self.address(to))
    upload = SiteUpload(to: bucket, of: stores, readers: Processors.available)
    isDrawn = settings.progress != ProgressStyle.none
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

  /// Uploads what is new or has changed in the folder. The first signal ends the upload; what was stored stays.
  func run(_ writer: SiteWriter, _ summary: SiteSummary) async throws -> SiteUploadSummary {
    // With --media, only posts whose files are missing still name local ones.
    guard !summary.isLocal || summary.missing > 0 else {
      throw CommandFailure(
        .couldNotRun,
        "the site was not put into \(upload.destination): its posts play files on this machine, which nobody else could "
          + "open. Put them into the site with --media copy, or ingest them with --to s3://… or --public-base-url"
      )
    }
    let plan = try SiteUploadPlan(writer)
    let progress = upload.progress
    let drawing = isDrawn ? Task { await draw(progress, of: plan.count) } : nil
    let (result, wasInterrupted) = await RunSignals.cancelling { [upload] in
      try await upload.run(plan, progress)
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

  /// Draws the progress until cancelled, then clears its line.
  private func draw(_ progress: SiteUploadProgress, of total: Int) async {
    guard TerminalTraits.standardError().canRedraw else { return }
    // An upload that is done at once needs no progress.
    try? await Task.sleep(for: .milliseconds(100))
    while !Task.isCancelled {
      let now = progress.summary
      await write(
        TerminalTraits.standardError().redrawn(
          "uploading: \(now.uploaded + now.unchanged) of \(HumanNumber.count(total, "file", "files")), "
            + "\(HumanNumber.bytes(now.bytes)) sent"))
      try? await Task.sleep(for: .milliseconds(100))
    }
    await write("")
  }

  /// Writes a line of progress. If nobody can see it any more, that is no reason to end the upload.
  private func write(_ line: String) async {
    await queue.run { try? OutputStream.standardError.write("\r\u{1B}[2K" + line) }
  }
}
