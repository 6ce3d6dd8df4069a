import FoundationEssentials

/// A file that was not published, and why.
public struct FailureRecord: Hashable, Sendable, Codable {
  /// The code of the event.
  public let code: String
  /// What went wrong and what to do, without the file's path; one sentence for people.
  public let message: String
  /// Whether it was refused by policy, not failed.
  public let refused: Bool
  /// When that was.
  public let at: Date

  /// A record of one file's latest end.
  public init(code: String, message: String, refused: Bool, at: Date) {
    self.code = code
    self.message = message
    self.refused = refused
    self.at = at
  }
}

/// What the catalog holds.
public struct CatalogStatus: Sendable {
  /// Posts in all, over every destination.
  public var posts: Int
  /// Bytes of all published objects.
  public var bytes: Int64
  /// How many posts each destination has; only destinations that have one.
  public var destinations: [(destination: Destination, posts: Int)]
  /// Intents that are neither published nor given up for good.
  public var unfinished: Int
  /// The newest failures first, at most 1000.
  public var failures: [(path: SourcePath, failure: FailureRecord)]
  /// Files whose latest end was a failure or a refusal; `failures` may show fewer.
  public var failureCount: Int
  /// The version of the catalog's tables (`PRAGMA user_version`), counted from 1.
  public var schemaVersion: Int
  /// Posts that were removed.
  public var removed: Int
  /// Those of them whose videos may be in the store still.
  public var kept: Int

  /// A status from its parts.
  public init(
    posts: Int, bytes: Int64, destinations: [(destination: Destination, posts: Int)], unfinished: Int,
    failures: [(path: SourcePath, failure: FailureRecord)], failureCount: Int, schemaVersion: Int,
    removed: Int = 0, kept: Int = 0
  ) {
    self.posts = posts
    self.bytes = bytes
    self.destinations = destinations
    self.unfinished = unfinished
    self.failures = failures
    self.failureCount = failureCount
    self.schemaVersion = schemaVersion
    self.removed = removed
    self.kept = kept
  }
}

/// How much is remembered of files and readings.
public struct CacheStatus: Hashable, Sendable, Codable {
  /// File states whose digest is known.
  public let files: Int
  /// Readings by content.
  public let readings: Int
  /// Bytes that they take, about.
  public let bytes: Int64

  /// Counts of what is remembered, and about how many bytes that takes.
  public init(files: Int, readings: Int, bytes: Int64) {
    self.files = files
    self.readings = readings
    self.bytes = bytes
  }
}
