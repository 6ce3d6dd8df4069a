import FoundationEssentials
import ReelCore

/// Something that is true of a run: what views draw, `--events` writes, and tests read.
///
/// As JSON one object: `v`, `seq`, `at`, `type`, the file where it is about one, and the facts of its type
/// (`docs/events.schema.json`).
public struct IngestEvent: Hashable, Sendable {
  /// The version of the JSON.
  public static let version = 1

  /// Counted from 1 within the run, without gaps for an observer who is there from the beginning, but for
  /// progress that was overtaken by newer progress.
  public let sequence: Int
  /// The moment of telling, by the run's clock.
  public let at: Date
  /// What is true now.
  public let body: Body

  /// An event; a run makes its own, a test or a replay makes them here.
  public init(sequence: Int, at: Date, body: Body) {
    self.sequence = sequence
    self.at = at
    self.body = body
  }

  /// What an event tells. Each file ends in exactly one terminal event, a run in exactly one `run.finished`.
  public enum Body: Hashable, Sendable {
    /// The first event of a run.
    case runStarted(RunStarted)
    /// How far the walk has come. Coalesces.
    case runScanned(RunScanned)
    /// Something in a caption list or a sidecar has no effect, or a file is odd in a way that does not keep it out.
    case metadataWarning(MetadataWarning)
    /// Something about a watched folder is worth knowing.
    case watchNotice(WatchNotice)
    /// A file is being taken in; its size where that is known.
    case fileStarted(FileReference, size: Int64?)
    /// Its facts are known.
    case fileProbed(FileReference, ProbeReport)
    /// It needs mending, and is left as it is, because mending would void the Content Credentials that it carries.
    case fileNotMended(FileReference, FileFailure)
    /// A poster was made; it is not stored yet.
    case posterMade(FileReference, PosterMade)
    /// A poster could not be made or stored; the video is published without it.
    case posterFailed(FileReference, FileFailure)
    /// Its id and its name are written down.
    case fileNamed(FileReference, FileNamed)
    /// Coalesces.
    case uploadProgress(FileReference, TransferProgress)
    /// An attempt to store it broke; another is coming.
    case uploadRetrying(FileReference, TransferProgress)
    /// Terminal.
    case postPublished(FileReference, Post)
    /// Terminal: it is a post already.
    case fileDuplicate(FileReference, FileDuplicate)
    /// Terminal: its post was removed, and it is not to come back.
    case fileRemoved(FileReference, RemovedPost)
    /// Terminal, in a dry run: it would have been published.
    case filePlanned(FileReference, FilePlanned)
    /// Terminal: the policy does not want it.
    case fileRefused(FileReference, FileRefused)
    /// Terminal.
    case fileFailed(FileReference, FileFailure)
    /// Terminal, where files are taken in as they come: it could not be done now, for a reason that may pass, and the file
    /// comes again.
    case filePostponed(FileReference, FileFailure)
    /// A post has left the feed, and its objects the store, unless they are kept for a while. Of no run.
    case postRemoved(RemovedPost)
    /// A removed post is in the feed again. Of no run.
    case postRestored(Post)
    /// A post says something else. Of no run.
    case postEdited(PostEdited)
    /// A post's objects are in another store. Of no run.
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
  /// Its feed's. Not in JSON.
  package let ticket: FeedTicket?

  /// A file by its number, from 1, and its path.
  public init(number: Int, path: SourcePath) {
    self.init(number: number, path: path, ticket: nil)
  }

  init(number: Int, path: SourcePath, ticket: FeedTicket?) {
    self.number = number
    self.path = path
    self.ticket = ticket
  }
}

/// A run has begun: the first event.
public struct RunStarted: Hashable, Sendable, Codable {
  /// Where its videos will be stored.
  public let destination: Destination
  /// Whether nothing will be written.
  public let dryRun: Bool
  /// The version of Reel that runs (as `reel version` tells it); nil in an event of 0.2.0 or older.
  public let reel: String?

  /// The beginning of a run.
  public init(destination: Destination, dryRun: Bool, reel: String? = ReelVersion.current) {
    self.destination = destination
    self.dryRun = dryRun
    self.reel = reel
  }
}

/// How far the walk through files and folders has come.
public struct RunScanned: Hashable, Sendable, Codable {
  /// Files to take in that were found so far.
  public let found: Int
  /// Files that are not candidates.
  public let ignored: Int
  /// Bytes of the files found so far.
  public let bytes: Int64
  /// Whether the walk has come to its end, so that `found` is the total.
  public let complete: Bool
  /// Files that were changed so short a time ago that they are left for the next run; 0 from an older Reel.
  public let leftAlone: Int

  /// Counts so far; `bytes` is of the files in `found` whose size is known.
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

/// A post's id and name are written down in the catalog; no byte has been sent under them by this attempt.
public struct FileNamed: Hashable, Sendable, Codable {
  /// The id that the post will have.
  public let id: PostID
  /// The name under which it will be stored.
  public let key: ObjectKey
  /// Above 1 when an earlier attempt was cut short.
  public let attempt: Int

  /// A name; `attempt` is counted from 1.
  public init(id: PostID, key: ObjectKey, attempt: Int) {
    self.id = id
    self.key = key
    self.attempt = attempt
  }
}

/// A poster, as its post will show it.
public struct PosterMade: Hashable, Sendable, Codable {
  /// Pixels.
  public let width: Int
  /// Pixels.
  public let height: Int
  /// Bytes of the JPEG.
  public let size: Int64
  /// A blur of it; see ``Poster/blurHash``.
  public let blurHash: String
  /// Where in the video it is shown, in seconds from its beginning; nil where that is unknown, and for a cover.
  @ExplicitNull public var time: Double?

  /// What is told of `poster`.
  public init(_ poster: Poster) {
    width = poster.width
    height = poster.height
    size = Int64(poster.jpeg.count)
    blurHash = poster.blurHash
    time = poster.time
  }
}

/// The video is a post already, and nothing was done.
public struct FileDuplicate: Hashable, Sendable, Codable {
  /// The post that this video is already; nil in a dry run for a video that an earlier file of the same run
  /// would have become.
  @ExplicitNull public var post: Post?

  /// A duplicate of `post`.
  public init(post: Post?) {
    self.post = post
  }
}

/// A post that was changed.
public struct PostEdited: Hashable, Sendable, Codable {
  /// As it is now.
  public let post: Post
  /// The JSON keys of what was changed, sorted.
  public let changed: [String]

  /// A post, and what of it was changed.
  public init(post: Post, changed: [String]) {
    self.post = post
    self.changed = changed
  }
}

/// A post that was moved from one store to another.
public struct PostMoved: Hashable, Sendable, Codable {
  /// As it is now.
  public let post: Post
  /// The store that it was in before.
  public let from: Destination
  /// The store that it is in.
  public let to: Destination

  /// A post, and from where to where it was moved.
  public init(post: Post, from: Destination, to: Destination) {
    self.post = post
    self.from = from
    self.to = to
  }
}

/// What a dry run would have published.
public struct FilePlanned: Hashable, Sendable, Codable {
  /// What the file says about itself.
  public let media: MediaInfo
  /// The metadata that the post would have.
  public let metadata: PostMetadata
  /// Of the bytes that would be stored; nil from an older Reel.
  @ExplicitNull public var digest: ContentDigest?

  /// A plan from its parts.
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

/// The file could be read, and may not be published.
public struct FileRefused: ReelError, Hashable, Codable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable, CustomStringConvertible {
    /// Its pictures or sound lie in other files.
    case externalMedia
    /// It is of a kind that is not taken in.
    case unsupported
    /// It was cut off.
    case truncated
    /// It breaks another rule.
    case policy

    /// The code as it stands in events.
    public var description: String { rawValue }
  }
  /// What it is, for programs.
  public let code: Code
  /// Every rule that it breaks; at least one.
  public let violations: [PolicyViolation]

  /// A refusal. `violations` is not empty.
  public init(code: Code, violations: [PolicyViolation]) {
    self.code = code
    self.violations = violations
  }

  /// One sentence for people.
  public var message: String { text.description }
  /// ``message``, with the settings that it names as values.
  public var text: ErrorMessage {
    violations.dropFirst().reduce(violations.first?.text ?? "") { "\($0); \($1.text)" }
  }
}

/// How a run ended.
public struct RunSummary: Hashable, Sendable, Codable {
  /// The ways in which a run ends.
  public enum Outcome: String, Codable, Sendable, CaseIterable {
    /// Every file had its turn.
    case completed
    /// A file failed, and the run was to stop then.
    case stopped
    /// Somebody cancelled it.
    case cancelled
    /// It could not go on: `error` says why.
    case aborted
  }
  /// How it ended.
  public var outcome: Outcome
  /// Videos that became posts.
  public var published = 0
  /// Videos that were posts already.
  public var duplicates = 0
  /// Videos whose posts were removed, and that were not published again.
  public var removed = 0
  /// Videos that a dry run would have published.
  public var planned = 0
  /// Files that could be read, and may not be published.
  public var refused = 0
  /// Files that could not be read or stored.
  public var failed = 0
  /// Files that were begun, and that a cancellation kept from being done. In JSON they count as `failed`, with the reason
  /// `cancelled`.
  public var cancelled = 0
  /// Files passed by: no candidates, such as sidecars and hidden files. Not files of the run.
  public var ignored = 0
  /// Files that were changed so short a time ago that they are left for the next run. Not files of this one.
  public var leftAlone = 0
  /// Bytes of the videos that were published.
  public var publishedBytes: Int64 = 0
  /// Videos that became posts without a poster, as none could be made or stored.
  public var postersFailed = 0
  /// How many files failed or were refused, by code (``FileFailure/Code/rawValue``).
  public var reasons: [String: Int] = [:]
  /// Seconds from start to end, by a clock that no one can set.
  public var seconds: Double = 0
  /// Why it was aborted; nil for every other outcome.
  @ExplicitNull public var error: FileFailure?

  /// A summary whose counts are all 0.
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

/// How many files have ended, and how.
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
  /// Files that have had their end, and do not come again.
  package var ended: Int { published + duplicates + removed + planned + refused + failed }

  /// `failed`, with what a cancellation cut short.
  package var failedOrCancelled: Int { failed + cancelled }

  /// `reasons`, with `cancelled` where there is one.
  package var reasonsOfAll: [String: Int] {
    guard cancelled > 0 else { return reasons }
    return reasons.merging([FileFailure.Code.cancelled.rawValue: cancelled], uniquingKeysWith: +)
  }
}

extension RunSummary: CountsOfEnds {}
extension IngestState: CountsOfEnds {}
