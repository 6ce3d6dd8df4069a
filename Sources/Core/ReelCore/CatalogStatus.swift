import FoundationEssentials

/// A file that was not published, and why.
public struct FailureRecord: Hashable, Sendable, Codable {
  /// The code of the event.
  public let code: String
  /// What went wrong and what to do about it, without the file's path; one sentence for people.
  public let message: String
  /// Whether it was refused by policy rather than failed.
  public let refused: Bool
  /// When it failed or was refused.
  public let at: Date

  /// Creates a record of a file's latest outcome.
  public init(code: String, message: String, refused: Bool, at: Date) {
    self.code = code
    self.message = message
    self.refused = refused
    self.at = at
  }
}

/// What the catalog holds.
public struct CatalogStatus: Sendable {
  /// The number of posts in all destinations.
  public var posts: Int
  /// The total size of all published objects in bytes.
  public var bytes: Int64
  /// The number of posts in each destination that has any.
  public var destinations: [(destination: Destination, posts: Int)]
  /// The number of intents that are neither published nor given up for good.
  public var unfinished: Int
  /// The failures, newest first, at most 1000.
  public var failures: [(path: SourcePath, failure: FailureRecord)]
  /// The number of files whose latest outcome was a failure or refusal; `failures` may list fewer.
  public var failureCount: Int
  /// The version of the catalog's tables (`PRAGMA user_version`), counted from 1.
  public var schemaVersion: Int
  /// The number of posts that were removed.
  public var removed: Int
  /// How many of those may still have their videos in the store.
  public var kept: Int

  /// Creates a status from its parts.
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

/// How much is remembered about files and readings.
public struct CacheStatus: Hashable, Sendable, Codable {
  /// The number of file states whose digest is known.
  public let files: Int
  /// The number of remembered readings, by content.
  public let readings: Int
  /// Their approximate size in bytes.
  public let bytes: Int64

  /// Creates counts of what is remembered, with its approximate size in bytes.
  public init(files: Int, readings: Int, bytes: Int64) {
    self.files = files
    self.readings = readings
    self.bytes = bytes
  }
}
