import FoundationEssentials

/// What a batch of files asks of a catalog, and writes into it, on threads that may block.

/// Asks what is known of some bytes.
public struct ContentQuestion: Hashable, Sendable {
  /// The bytes.
  public let digest: ContentDigest
  /// The publication whose post is looked for; nil when no post is.
  public let publication: Publication?

  /// A question about one file's bytes.
  public init(digest: ContentDigest, publication: Publication?) {
    self.digest = digest
    self.publication = publication
  }
}

/// An intent that is to become a post: its object is stored and verified.
public struct Completion: Sendable {
  /// Held by this process.
  public let intent: Intent
  /// What the post will say.
  public let draft: PostDraft
  /// The intent's object.
  public let stored: StoredObject

  /// A completion of `intent`.
  public init(intent: Intent, draft: PostDraft, stored: StoredObject) {
    self.intent = intent
    self.draft = draft
    self.stored = stored
  }
}

/// Something worth remembering that nobody waits for: it is committed with the next batch. A catalog may forget it.
public enum CatalogNote: Sendable {
  /// The digest of a file in this state.
  case digest(ContentDigest, of: FileIdentity)
  /// What a reader found in these bytes; of failures only those that are about the bytes.
  case outcome(ProbeOutcome, of: ContentDigest, by: ReaderVersion)
  /// Why a file was not published, in place of what was noted before; nil when it was.
  case failure(FailureRecord?, at: SourcePath)
  /// The events of these posts have been told.
  case announced([PostID])
}
