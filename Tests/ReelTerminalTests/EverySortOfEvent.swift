import FoundationEssentials
import ReelCore
import ReelIngest

/// At least one event of every type; together they contain every key.
extension Samples {
  static func everySortOfEvent() throws -> [IngestEvent] {
    let bodies = runBodies + (try fileBodies()) + (try endBodies())
    return bodies.enumerated().map { event($1, sequence: $0 + 1) }
  }

  private static var runBodies: [IngestEvent.Body] {
    var ended = RunSummary(outcome: .completed)
    (ended.published, ended.leftAlone) = (12, 2)
    ended.reasons = ["corrupt": 2]
    ended.seconds = 4.1
    return [
      .runStarted(RunStarted(destination: Destination("file:///srv/media"), dryRun: false)),
      .runScanned(RunScanned(found: 340, ignored: 5, bytes: 5_600_000_000, complete: true, leftAlone: 2)),
      .metadataWarning(
        MetadataWarning(
          path: SourcePath(bytes: [0x61, 0xFF]), code: .sidecarUnknownKey,
          message: "its sidecar has an unknown key \"captoin\"; did you mean caption?")),
      .watchNotice(
        WatchNotice(
          path: SourcePath(bytes: [0x61, 0xFF]), code: .folderGone,
          message: "it is gone, and Reel waits for it to come back: mount it, or make it again")),
      .runFinished(ended),
      .runFinished(
        RunSummary(
          outcome: .aborted,
          error: FileFailure(code: "workerMissing", message: "reel-probe-worker is missing"))),
    ]
  }

  private static func fileBodies() throws -> [IngestEvent.Body] {
    let notUTF8 = FileReference(number: 4, path: SourcePath(bytes: [0x61, 0xFF, 0x2E, 0x6D, 0x70, 0x34]))
    let bare = ProbeReport(media: MediaInfo(container: .webm, size: 17), provenance: provenance)
    var cut = report
    (cut.media.truncated, cut.media.presentDuration) = (true, 3.5)
    cut.media.warnings = [MediaWarning(.truncated, "it was cut off: 3.5 of its 12.5 seconds are there")]
    return [
      .fileStarted(file, size: 1_203_944),
      .fileStarted(notUTF8, size: nil),
      .fileProbed(file, report),
      .fileProbed(notUTF8, bare),
      .fileProbed(file, cut),
      .fileNotMended(
        file,
        FileFailure(code: "notMendable", message: "it carries Content Credentials, and is left as it is")),
      .posterMade(file, PosterMade(poster)),
      .posterFailed(
        file, FileFailure(code: "poster.noPicture", message: "no poster could be made: it has no video")),
      .fileNamed(
        file,
        FileNamed(
          id: PostID(at: moment, random: FixedRandomness()),
          key: ObjectKey(random: FixedRandomness(), container: .mov), attempt: 2)),
      .uploadProgress(file, TransferProgress(sent: 65536, total: 1_203_944)),
      .uploadRetrying(file, TransferProgress(sent: 0, total: 1_203_944, attempt: 2, retrying: uploadError)),
    ]
  }

  private static var poster: Poster {
    Poster(
      jpeg: [1, 2, 3], width: 288, height: 512, blurHash: "L3F~gYof00ayayj[fQj[00fQ?bfQ", isCover: false,
      time: 1.25)
  }

  private static var removal: Removal {
    let at = Date(timeIntervalSince1970: 1_790_000_000.25)
    return Removal(reason: "claimed by its owner", by: "bo", at: at, keptUntil: at + 86_400)
  }

  private static func endBodies() throws -> [IngestEvent.Body] {
    let words = PostMetadata(authorID: "u1", authorName: "Ann", caption: "At the beach", music: "Waves")
    let violation = PolicyViolation(rule: "video.none", message: "it has no video stream")
    var shown = try post()
    shown.show(
      PostPoster(
        poster,
        stored: StoredObject(
          key: ObjectKey(posterNamedBy: FixedRandomness()), url: "file:///srv/media/p.jpg", size: 3,
          digest: nil)))
    return [
      .postPublished(file, try post()),
      .postPublished(file, shown),
      .postPublished(file, try post(metadata: PostMetadata(), media: MediaInfo(container: .webm, size: 17))),
      .fileDuplicate(file, FileDuplicate(post: try post())),
      .fileDuplicate(file, FileDuplicate(post: nil)),
      .fileRemoved(file, RemovedPost(post: try post(), removal: removal)),
      .postRemoved(RemovedPost(post: try post(), removal: removal)),
      .postRemoved(RemovedPost(post: try post(), removal: Removal(at: removal.at))),
      .postRestored(try post()),
      .postEdited(PostEdited(post: try post(), changed: ["autherName", "caption"])),
      .postMoved(
        PostMoved(post: try post(), from: Destination("file:///srv/old"), to: Destination("s3://media"))),
      .filePlanned(file, FilePlanned(media: media, metadata: words)),
      .fileRefused(file, FileRefused(code: .unsupported, violations: [violation])),
      .fileFailed(file, FileFailure(code: "corrupt", message: "its index contradicts itself; get it again")),
      .filePostponed(file, FileFailure(code: "unavailable", message: "the store is away; wait for it")),
    ]
  }
}
