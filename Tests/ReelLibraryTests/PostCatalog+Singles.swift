import ReelCore

// Batches of one, for checks that deal with a single file.
extension PostCatalog {
  func published(_ publication: Publication) throws(CatalogError) -> PublishedPost? {
    try content(of: publication.digest, publishedAs: publication).post
  }

  func content(
    of digest: ContentDigest, publishedAs publication: Publication?
  ) throws(CatalogError) -> KnownContent {
    try contents(of: [ContentQuestion(digest: digest, publication: publication)])[0]
  }

  func knownFile(_ identity: FileIdentity) throws(CatalogError) -> ContentDigest? {
    let file = RecalledFile(
      identity: identity, path: SourcePath("a.mp4"), destination: Destination("file:///nowhere"),
      authorID: nil)
    return try recall([file], readingPosts: false)[0]?.digest
  }

  func probeOutcome(
    of digest: ContentDigest, by reader: ReaderVersion
  ) throws(CatalogError) -> ProbeOutcome? {
    try probeOutcomes(of: [digest], by: reader)[0]
  }

  func remember(_ digest: ContentDigest, of identity: FileIdentity) async {
    note([.digest(digest, of: identity)])
  }

  func remember(_ outcome: ProbeOutcome, of digest: ContentDigest, by reader: ReaderVersion) async {
    note([.outcome(outcome, of: digest, by: reader)])
  }

  func remember(_ failure: FailureRecord?, at path: SourcePath) async {
    note([.failure(failure, at: path)])
  }

  func announced(_ posts: [PostID]) async { note([.announced(posts)]) }
}
