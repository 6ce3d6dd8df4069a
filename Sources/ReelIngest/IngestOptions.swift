import ReelCore
import ReelSource

/// How a run treats the files it finds.
public struct IngestOptions: Sendable {
  /// Said for every file by flags; comes before everything else.
  public var metadata = PostMetadata()
  /// Said for every file by settings; comes after the caption list.
  public var defaultMetadata = PostMetadata()
  /// Said for single files.
  public var captions: CaptionList?
  /// Whether a sidecar may name the author. It comes from the same stranger as its clip.
  public var trustSidecars = false
  /// What to do with a video that is a post already.
  public var duplicates = DuplicateHandling.skip
  /// Say what would happen, and write nothing.
  public var dryRun = false
  /// What a failed file means for the others.
  public var onError = OnError.continue
  /// Batches of files read, judged and stored at once; at least 1. Those that only wait for a store that lets many wait
  /// together (``UploadTraits/isLatencyBound``) come on top, up to 32 files for each job.
  public var jobs = 4
  /// Bytes of the largest file that is taken in; nil for any. A larger one breaks the rule `bytes.max`, which is found out
  /// before any of it is read: hashing a file has no deadline.
  public var maxSize: Int64? = 64_000_000_000
  /// Characters of an object's name before the dot, 16 ... 64.
  public var nameLength = 22
  /// Draw like and share counts between 1000 and 100000, for a demo feed.
  public var demoCounts = false
  /// Walk ahead to count the files, so that a view can show how much is left. Costs a look at each name.
  public var countsAhead = false
  /// Whether the event of a file that is known as a post tells which post. Reading it is most of what such a file costs;
  /// a run whose events nobody reads can do without.
  public var tellsKnownPosts = true
  /// Whether somebody says which events have been passed on (``IngestModel/acknowledge(_:)``). Else a post counts as told
  /// once its event waits in the observers' buffers; should the process die before they are read, nobody tells it.
  public var isAcknowledged = false
  /// Put before relative paths where they are remembered, so that `reel status` names them from anywhere.
  public var workingDirectory: SourcePath?

  /// The options as they are when nobody says otherwise.
  public init() {}

  /// What a failed file means for the others.
  public enum OnError: String, Sendable, CaseIterable {
    case `continue`
    /// Start no further file; those in flight come to their end.
    case stop
  }
}

extension IngestOptions {
  /// As `path` is remembered.
  func absolute(_ path: SourcePath) -> SourcePath {
    guard let workingDirectory, path.bytes.first != UInt8(ascii: "/") else { return path }
    return workingDirectory.appending(path.bytes)
  }
}
