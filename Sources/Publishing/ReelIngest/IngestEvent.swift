import FoundationEssentials
import ReelCore

/// Something that has become true of a run: what views draw, `--events` writes, and tests read.
///
/// Its JSON is one object: `v`, `seq`, `at`, `type`, the file if the event is about one, and the facts of its type
/// (`docs/events.schema.json`).
public struct IngestEvent: Hashable, Sendable {
  /// The version of the JSON.
  public static let version = 1

  /// Counted from 1 within the run. An observer that is there from the beginning sees no gaps, except for progress
  /// events that newer ones have replaced.
  public let sequence: Int
  /// The time at which the event was emitted, by the run's clock.
  public let at: Date
  /// What has become true.
  public let body: Body

  /// Creates an event. A run makes its own; tests and replays use this.
  public init(sequence: Int, at: Date, body: Body) {
    self.sequence = sequence
    self.at = at
    self.body = body
  }

  /// The content of an event. Each file ends with exactly one terminal event, and a run with exactly one
  /// `run.finished`.
  public enum Body: Hashable, Sendable {
    /// The first event of a run.
    case runStarted(RunStarted)
    /// How far the walk has come. A newer one replaces it.
    case runScanned(RunScanned)
    /// Part of a caption list or a sidecar has no effect, or a file is odd in a way that does not keep it out.
    case metadataWarning(MetadataWarning)
    /// Something about a watched folder is worth knowing.
    case watchNotice(WatchNotice)
    /// Work on a file has begun; its size if known.
    case fileStarted(FileReference, size: Int64?)
    /// The file's facts are known.
    case fileProbed(FileReference, ProbeReport)
    /// The file needs mending but is left as it is, because mending would void the Content Credentials that it carries.
    case fileNotMended(FileReference, FileFailure)
    /// A poster was made but not stored yet.
    case posterMade(FileReference, PosterMade)
    /// A poster could not be made or stored; the video is published without it.
    case posterFailed(FileReference, FileFailure)
    /// The file's post id and object key are recorded.
    case fileNamed(FileReference, FileNamed)
    /// How far an upload has come. A newer one replaces it.
    case uploadProgress(FileReference, TransferProgress)
    /// An attempt to store the file failed, and another follows.
    case uploadRetrying(FileReference, TransferProgress)
    /// The file became a post. Terminal.
    case postPublished(FileReference, Post)
    /// The file already is a post. Terminal.
    case fileDuplicate(FileReference, FileDuplicate)
    /// The file's post was removed, and the file is not to be published again. Terminal.
    case fileRemoved(FileReference, RemovedPost)
    /// In a dry run: the file would have been published. Terminal.
    case filePlanned(FileReference, FilePlanned)
    /// The policy does not accept the file. Terminal.
    case fileRefused(FileReference, FileRefused)
    /// The file failed. Terminal.
    case fileFailed(FileReference, FileFailure)
    /// Where files are processed as they arrive: the file could not be processed now, for a reason that may pass, and
    /// will come again. Terminal.
    case filePostponed(FileReference, FileFailure)
    /// A post has left the feed, and its objects the store, unless they are kept for a while. Belongs to no run.
    case postRemoved(RemovedPost)
    /// A removed post is in the feed again. Belongs to no run.
    case postRestored(Post)
    /// The content of a post was edited. Belongs to no run.
    case postEdited(PostEdited)
    /// A post's objects have moved to another store. Belongs to no run.
    case postMoved(PostMoved)
    /// The last event of a run.
    case runFinished(RunSummary)
  }
}

/// A file within a run.
public struct FileReference: Hashable, Sendable {
  /// Counted from 1 in the order of the run.
  public let number: Int
  /// As the user or the walk named it.
  public let path: SourcePath
  /// The ticket of its feed. Not in JSON.
  package let ticket: FeedTicket?

  /// Creates a reference from the file's number, from 1, and its path.
  public init(number: Int, path: SourcePath) {
    self.init(number: number, path: path, ticket: nil)
  }

  init(number: Int, path: SourcePath, ticket: FeedTicket?) {
    self.number = number
    self.path = path
    self.ticket = ticket
  }
}

/// The facts of a run's first event.
public struct RunStarted: Hashable, Sendable, Codable {
  /// Where its videos will be stored.
  public let destination: Destination
  /// Whether nothing will be written.
  public let dryRun: Bool
  /// The version of Reel (as in `reel version`); nil in an event of 0.2.0 or older.
  public let reel: String?

  /// Creates the facts of a run's beginning.
  public init(destination: Destination, dryRun: Bool, reel: String? = ReelVersion.current) {
    self.destination = destination
    self.dryRun = dryRun
    self.reel = reel
  }
}

/// How far the walk through files and folders has come.
public struct RunScanned: Hashable, Sendable, Codable {
  /// The number of files to process that were found so far.
  public let found: Int
  /// The number of files that are not candidates.
  public let ignored: Int
  /// The total size in bytes of the files found so far.
  public let bytes: Int64
  /// Whether the walk is complete, so that `found` is the total.
  public let complete: Bool
  /// The number of files left for the next run because they were changed too recently; 0 from an older Reel.
  public let leftAlone: Int

  /// Creates the counts so far; `bytes` covers the files in `found` whose size is known.
  public init(found: Int, ignored: Int, bytes: Int64, complete: Bool, leftAlone: Int = 0) {
    self.found = found
    self.ignored = ignored
    self.bytes = bytes
    self.complete = complete
    self.leftAlone = leftAlone
  }

  /// Reads the facts of `run.scanned`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      found: try container.decode(Int.self, forKey: .found),
      ignored: try container.decode(Int.self, forKey: .ignored),
      bytes: try container.decode(Int64.self, forKey: .bytes),
      complete: try container.decode(Bool.self, forKey: .complete),
      leftAlone: try container.decodeIfPresent(Int.self, forKey: .leftAlone) ?? 0)
  }
}

/// A post's id and object key have been recorded in the catalog; this attempt has not sent any bytes under them yet.
public struct FileNamed: Hashable, Sendable, Codable {
  /// The id that the post will have.
  public let id: PostID
  /// The key under which the object will be stored.
  public let key: ObjectKey
  /// Above 1 if an earlier attempt was cut short.
  public let attempt: Int

  /// Creates the facts; `attempt` is counted from 1.
  public init(id: PostID, key: ObjectKey, attempt: Int) {
    self.id = id
    self.key = key
    self.attempt = attempt
  }
}

/// A poster as its post will show it.
public struct PosterMade: Hashable, Sendable, Codable {
  /// In pixels.
  public let width: Int
  /// In pixels.
  public let height: Int
  /// The size of the JPEG in bytes.
  public let size: Int64
  /// A blurred preview; see ``Poster/blurHash``.
  public let blurHash: String
  /// The time of its frame in seconds from the beginning of the video; nil if unknown, and for a cover.
  @ExplicitNull public var time: Double?

  /// Creates the facts of `poster`.
  public init(_ poster: Poster) {
    width = poster.width
    height = poster.height
    size = Int64(poster.jpeg.count)
    blurHash = poster.blurHash
    time = poster.time
  }
}

/// The video is already a post, and nothing was done.
public struct FileDuplicate: Hashable, Sendable, Codable {
  /// The post that this video is; nil in a dry run if the video equals an earlier file of the same run that would have
  /// become a post.
  @ExplicitNull public var post: Post?

  /// Creates a duplicate of `post`.
  public init(post: Post?) {
    self.post = post
  }
}

/// A post that was edited.
public struct PostEdited: Hashable, Sendable, Codable {
  /// The post as it is now.
  public let post: Post
  /// The JSON keys of the changed values, sorted.
  public let changed: [String]

  /// Creates the facts of an edit.
  public init(post: Post, changed: [String]) {
    self.post = post
    self.changed = changed
  }
}

/// A post that was moved from one store to another.
public struct PostMoved: Hashable, Sendable, Codable {
  /// The post as it is now.
  public let post: Post
  /// The store that it was in before.
  public let from: Destination
  /// The store that it is in.
  public let to: Destination

  /// Creates the facts of a move.
  public init(post: Post, from: Destination, to: Destination) {
    self.post = post
    self.from = from
    self.to = to
  }
}

/// What a dry run would have published.
public struct FilePlanned: Hashable, Sendable, Codable {
  /// The facts of the file.
  public let media: MediaInfo
  /// The metadata that the post would have.
  public let metadata: PostMetadata
  /// The digest of the bytes that would be stored; nil from an older Reel.
  @ExplicitNull public var digest: ContentDigest?

  /// Creates a plan from its parts.
  public init(media: MediaInfo, metadata: PostMetadata, digest: ContentDigest? = nil) {
    self.media = media
    self.metadata = metadata
    self.digest = digest
  }

  private enum CodingKeys: String, CodingKey {
    case media, digest
    case metadata = "words"
  }
}

/// A file that could be read but must not be published.
public struct FileRefused: ReelError, Hashable, Codable {
  /// The refusal code, for programs.
  public enum Code: String, Codable, Sendable, CaseIterable, CustomStringConvertible {
    /// The file's pictures or sound are in other files.
    case externalMedia
    /// The file is of a kind that is not accepted.
    case unsupported
    /// The file is truncated.
    case truncated
    /// The file breaks another rule.
    case policy

    /// The code as written in events.
    public var description: String { rawValue }
  }
  /// The refusal code, for programs.
  public let code: Code
  /// Every rule that the file breaks; at least one.
  public let violations: [PolicyViolation]

  /// Creates a refusal. `violations` must not be empty.
  public init(code: Code, violations: [PolicyViolation]) {
    self.code = code
    self.violations = violations
  }

  /// One sentence for people.
  public var message: String { text.description }
  /// ``message`` with its settings as values, so that they can be renamed.
  public var text: ErrorMessage {
    violations.dropFirst().reduce(violations.first?.text ?? "") { "\($0); \($1.text)" }
  }
}

/// How a run ended.
public struct RunSummary: Hashable, Sendable, Codable {
  /// The ways in which a run ends.
  public enum Outcome: String, Codable, Sendable, CaseIterable {
    /// Every file was processed.
    case completed
    /// A file failed, and the run was to stop in that case.
    case stopped
    /// The run was cancelled.
    case cancelled
    /// The run could not continue; `error` has the reason.
    case aborted
  }
  /// How it ended.
  public var outcome: Outcome
  /// The number of videos that became posts.
  public var published = 0
  /// The number of videos that already were posts.
  public var duplicates = 0
  /// The number of videos whose posts were removed, and that were not published again.
  public var removed = 0
  /// The number of videos that a dry run would have published.
  public var planned = 0
  /// The number of files that could be read but must not be published.
  public var refused = 0
  /// The number of files that could not be read or stored.
  public var failed = 0
  /// The number of files that were begun and then interrupted by a cancellation. In JSON they count as `failed`, with
  /// the reason `cancelled`.
  public var cancelled = 0
  /// The number of files that are not candidates, such as sidecars and hidden files. They are not files of the run.
  public var ignored = 0
  /// The number of files left for the next run because they were changed too recently. They are not files of this run.
  public var leftAlone = 0
  /// The total size in bytes of the published videos.
  public var publishedBytes: Int64 = 0
  /// The number of videos that became posts without a poster, because none could be made or stored.
  public var postersFailed = 0
  /// The number of files that failed or were refused, by code (``FileFailure/Code/rawValue``).
  public var reasons: [String: Int] = [:]
  /// The duration of the run in seconds, by a monotonic clock.
  public var seconds: Double = 0
  /// Why the run was aborted; nil for every other outcome.
  @ExplicitNull public var error: FileFailure?

  /// Creates a summary whose counts are all 0.
  public init(outcome: Outcome, error: FileFailure? = nil) {
    self.outcome = outcome
    self.error = error
  }

  private enum CodingKeys: String, CodingKey {
    case outcome, published, duplicates, removed, planned, refused, failed, ignored, leftAlone,
      publishedBytes, postersFailed
    case reasons, seconds, error
  }

  /// Reads what ``encode(to:)`` wrote.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    outcome = try container.decode(Outcome.self, forKey: .outcome)
    published = try container.decode(Int.self, forKey: .published)
    duplicates = try container.decode(Int.self, forKey: .duplicates)
    removed = try container.decodeIfPresent(Int.self, forKey: .removed) ?? 0
    planned = try container.decode(Int.self, forKey: .planned)
    refused = try container.decode(Int.self, forKey: .refused)
    ignored = try container.decode(Int.self, forKey: .ignored)
    leftAlone = try container.decodeIfPresent(Int.self, forKey: .leftAlone) ?? 0
    publishedBytes = try container.decode(Int64.self, forKey: .publishedBytes)
    postersFailed = try container.decode(Int.self, forKey: .postersFailed)
    reasons = try container.decode([String: Int].self, forKey: .reasons)
    seconds = try container.decode(Double.self, forKey: .seconds)
    _error = try container.decode(ExplicitNull<FileFailure>.self, forKey: .error)
    cancelled = reasons.removeValue(forKey: FileFailure.Code.cancelled.rawValue) ?? 0
    failed = try container.decode(Int.self, forKey: .failed) - cancelled
  }

  /// Writes the facts of `run.finished`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(outcome, forKey: .outcome)
    try container.encode(published, forKey: .published)
    try container.encode(duplicates, forKey: .duplicates)
    try container.encode(removed, forKey: .removed)
    try container.encode(planned, forKey: .planned)
    try container.encode(refused, forKey: .refused)
    try container.encode(failedOrCancelled, forKey: .failed)
    try container.encode(ignored, forKey: .ignored)
    try container.encode(leftAlone, forKey: .leftAlone)
    try container.encode(publishedBytes, forKey: .publishedBytes)
    try container.encode(postersFailed, forKey: .postersFailed)
    try container.encode(reasonsOfAll, forKey: .reasons)
    try container.encode(seconds, forKey: .seconds)
    try container.encode(_error, forKey: .error)
  }
}

/// The number of ended files, by kind of end.
package protocol CountsOfEnds {
  var published: Int { get }
  var duplicates: Int { get }
  var removed: Int { get }
  var planned: Int { get }
  var refused: Int { get }
  var failed: Int { get }
  var cancelled: Int { get }
  var reasons: [String: Int] { get }
}

extension CountsOfEnds {
  /// The number of files that have ended for good. Files cut short by a cancellation do not count.
  package var ended: Int { published + duplicates + removed + planned + refused + failed }

  /// `failed` plus the files that a cancellation cut short.
  package var failedOrCancelled: Int { failed + cancelled }

  /// `reasons` plus `cancelled`, if there were any.
  package var reasonsOfAll: [String: Int] {
    guard cancelled > 0 else { return reasons }
    return reasons.merging([FileFailure.Code.cancelled.rawValue: cancelled], uniquingKeysWith: +)
  }
}

extension RunSummary: CountsOfEnds {}
extension IngestState: CountsOfEnds {}
