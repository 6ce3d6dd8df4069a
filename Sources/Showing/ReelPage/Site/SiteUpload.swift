import ReelCore
import ReelRemoteStorage
import ReelSource
import ReelStores
import ReelTerminal
import Synchronization

/// Puts a site into a bucket. The bucket is compared with the folder each time, so no state is kept between runs, and
/// the next run completes an interrupted one.
package struct SiteUpload: Sendable {
  private let files: S3Files
  /// The number of requests at once.
  private let width: Int
  private let uploader: @Sendable (_ folder: String) throws(UploadError) -> any Uploader
  /// The threads that read media.
  private let queue: BlockingQueue

  /// - Parameters:
  ///   - stores: determine the number of requests at once, and how media are stored.
  ///   - readers: the number of files read at once.
  package init(to bucket: Stores.BucketAccess, of stores: Stores, readers: Int) {
    files = S3Files(
      bucket.store, transport: bucket.transport, credentials: bucket.credentials, processors: readers)
    width = stores.settings.uploads ?? Stores.uploadsToBucket
    queue = BlockingQueue(label: "reel.media", width: readers)
    uploader = { folder throws(UploadError) in
      do throws(S3StoreError) {
        let store = try bucket.store.folder(folder)
        return stores.decorated(OpenedStore(uploader: stores.uploader(bucket, store), keepsToRate: true))
      } catch {
        throw UploadError(
          .storeUnusable, "the site's folder \(folder) can't be put into a bucket: " + error.text)
      }
    }
  }

  /// The bucket's address.
  package var destination: Destination { files.destination }

  /// The progress of an upload that has not begun.
  package var progress: SiteUploadProgress {
    SiteUploadProgress(SiteUploadSummary(to: destination.name, url: files.url(of: SiteWriter.entry)))
  }

  /// Brings the bucket up to date with the folder. Whatever ends the run, files already stored stay.
  package func run(_ plan: SiteUploadPlan, _ progress: SiteUploadProgress) async throws(UploadError) {
    try await upload(plan.steps, plan.media, of: plan.writer, progress)
    try await remove(plan.removed, progress)
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
    // The index no longer names these.
    let former = stored.keys.filter { SiteWriter.isFormerPage($0) && !names.contains($0) }
    try await forEach(of: former, atOnce: width) { name throws(UploadError) in
      try await files.remove(name)
      progress.note { $0.removed += 1 }
    }
  }

  /// Removes the media of removed posts, which no page names any more.
  private func remove(_ names: Set<String>, _ progress: SiteUploadProgress) async throws(UploadError) {
    for (folder, names) in Dictionary(
      grouping: names, by: { $0.prefix(upTo: $0.lastIndex(of: "/") ?? $0.startIndex) })
    {
      let stored = try await files.list("\(folder)/")
      try await forEach(of: names.filter { stored[$0] != nil }, atOnce: width) { name throws(UploadError) in
        try await files.remove(name)
        progress.note { $0.removed += 1 }
      }
    }
  }

  /// What the bucket already has of the site. Its media are not listed, because there may be a million of them that are
  /// not in the folder.
  /// - Throws: `conflict` if there is a page that Reel did not write.
  private func stored(_ names: Set<String>) async throws(UploadError) -> [String: S3Files.Stored] {
    let found = Mutex(try await files.list("feed/"))
    try await forEach(of: names.filter { !$0.contains("/") }, atOnce: width) { name throws(UploadError) in
      let stored = try await files.list(name, most: 1)[name]
      found.withLock { $0[name] = stored }
    }
    let stored = found.withLock { $0 }
    // An interrupted run leaves the index without the page, never the reverse.
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

  private func different(_ file: SiteMedia, _ size: Int64) -> UploadError {
    UploadError(
      .conflict,
      "\(files.destination) has \(size) bytes as \(file.folder)/\(file.key), and \(file.path) has \(file.size): find out "
        + "which is whole, and remove the other")
  }

  private func source(_ file: SiteMedia) async throws(UploadError) -> UploadSource {
    let read = try await rethrowing(
      as: { UploadError(.sourceUnreadable, "\(file.path): " + $0.text) }
    ) { () async throws(SourceError) in
      try await queue.runCancellable { flag throws(SourceError) -> UploadSource? in
        let source = try FoundFile.named(SourcePath(file.path), followLinks: false).open()
        let digest = try SourceDigest.sha256(of: source, isCancelled: { flag.isSet })
        return digest.map { digest in
          UploadSource(
            size: source.size, digest: digest, contentType: file.key.contentType,
            bytes: SourceFileBytes(source))
        }
      }
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

  fileprivate static func reading<Value>(
    _ body: () throws(SiteError) -> Value
  ) throws(UploadError) -> Value {
    try rethrowing(as: { UploadError(.sourceUnreadable, $0.text) }, body)
  }
}

/// What is to be uploaded, and what to be removed.
package struct SiteUploadPlan: Sendable {
  fileprivate let writer: SiteWriter
  fileprivate let steps: [[SiteFile]]
  fileprivate let media: [SiteMedia]
  /// The media to remove.
  fileprivate let removed: Set<String>

  /// - Throws: `sourceUnreadable`.
  package init(_ writer: SiteWriter) throws(UploadError) {
    self.writer = writer
    (steps, media, removed) = try SiteUpload.reading { () throws(SiteError) in
      let (files, media) = (try writer.files(), try writer.media())
      return (files, media, try writer.removedMedia(beside: media))
    }
  }

  /// The total number of files to upload.
  package var count: Int { steps.reduce(media.count) { $0 + $1.count } }
}

/// The results of uploading a site's files.
package struct SiteUploadSummary: Encodable, Sendable {
  let to: String
  /// The URL of the page, for a public bucket.
  let url: String
  /// The number of files uploaded.
  package var uploaded = 0
  /// The bytes uploaded.
  package var bytes: Int64 = 0
  /// The number of files that were already there.
  package var unchanged = 0
  /// The number of removed files: pages, videos and posters that the site no longer has.
  package var removed = 0

  package init(to: String, url: String) { (self.to, self.url) = (to, url) }

  /// The progress so far.
  package var line: String {
    "\(to): \(HumanNumber.count(uploaded, "file", "files")) uploaded (\(HumanNumber.bytes(bytes))), \(unchanged) there "
      + "already" + (removed > 0 ? ", \(removed) removed" : "")
  }

  /// The final report.
  package var lines: [String] {
    let isSame = uploaded == 0 && removed == 0
    let all = HumanNumber.count(unchanged, "file", "files")
    return [
      isSame ? "nothing to upload: \(to) has all \(all)" : line, "Open it, if the bucket is public: \(url)",
    ]
  }
}

/// Counts what has been uploaded.
package final class SiteUploadProgress: Sendable {
  private let counts: Mutex<SiteUploadSummary>

  package init(_ summary: SiteUploadSummary) {
    counts = Mutex(summary)
  }

  package var summary: SiteUploadSummary { counts.withLock { $0 } }

  fileprivate func note(_ change: (inout SiteUploadSummary) -> Void) { counts.withLock { change(&$0) } }

  fileprivate func note(_ change: S3Files.Change) {
    note { counts in
      switch change {
      case .none: counts.unchanged += 1
      case .put(let bytes):
        counts.uploaded += 1
        counts.bytes += bytes
      }
    }
  }
}
