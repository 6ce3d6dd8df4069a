/// A file that was found, and what is to be known of it before anybody opens it.
public struct RecalledFile: Hashable, Sendable {
  /// The state that it was found in.
  public let identity: FileIdentity
  /// Where failures of it are remembered.
  public let path: SourcePath
  /// Where it would be stored.
  public let destination: Destination
  /// Who would publish it.
  public let authorID: String?

  /// A question about one file.
  public init(identity: FileIdentity, path: SourcePath, destination: Destination, authorID: String?) {
    self.identity = identity
    self.path = path
    self.destination = destination
    self.authorID = authorID
  }
}

/// What an earlier run has left about a file in the very state that it is in now.
public struct CachedRecord: Hashable, Sendable {
  /// The digest of its bytes.
  public let digest: ContentDigest
  /// Whether it is a post already, in that destination and of that author, whose event has been told.
  public let isPublished: Bool
  /// That post, where posts were asked for.
  public let post: Post?
  /// The code of its failure or refusal, where that was its latest end.
  public let failureCode: String?

  /// What is known; `post` and `failureCode` are nil when there is none.
  public init(digest: ContentDigest, isPublished: Bool, post: Post?, failureCode: String?) {
    self.digest = digest
    self.isPublished = isPublished
    self.post = post
    self.failureCode = failureCode
  }
}

/// What is known of some bytes.
public struct KnownContent: Hashable, Sendable {
  /// The post that they are already, in that destination and of that author.
  public let post: PublishedPost?
  /// What was found in them, and by whom.
  public let readings: [ReaderVersion: ProbeOutcome]

  /// What is known; nil and none when nothing is.
  public init(post: PublishedPost? = nil, readings: [ReaderVersion: ProbeOutcome] = [:]) {
    self.post = post
    self.readings = readings
  }
}
