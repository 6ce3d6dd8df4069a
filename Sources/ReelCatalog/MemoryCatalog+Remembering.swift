import ReelModel

extension MemoryCatalog {
  /// The digest of a file in this very state.
  public func knownFile(_ identity: FileIdentity) async throws(CatalogError) -> ContentDigest? {
    try look { $0.knownFile(identity) }
  }

  /// What is known of each of these.
  /// The posts cost nothing here, and are given in any case.
  public func recall(
    _ files: [RecalledFile], readingPosts: Bool
  ) async throws(CatalogError) -> [Recollection?] {
    try look { library in files.map { library.recall($0, by: me) } }
  }

  /// Call it when the file has been hashed; one whose status changed less than 2 s ago is not remembered.
  public func remember(_ digest: ContentDigest, of identity: FileIdentity) async {
    guard identity.isSettled(at: clock.now()) else { return }
    try? open { $0.remember(digest, of: identity) }
  }

  /// What `reader` found in these bytes.
  public func probeOutcome(
    of digest: ContentDigest, by reader: ReaderVersion
  ) async throws(CatalogError) -> ProbeOutcome? {
    try look { $0.readings[MemoryLibrary.Reading(digest: digest, reader: reader)] }
  }

  /// All readings of these bytes, and the post.
  public func content(
    of digest: ContentDigest, publishedAs publication: Publication?
  ) async throws(CatalogError) -> KnownContent {
    var post: PublishedPost?
    if let publication { post = try await published(publication) }
    return try look { KnownContent(post: post, readings: $0.readings(of: digest)) }
  }

  /// Remembers what `reader` found; of failures only those that are about the bytes.
  public func remember(_ outcome: ProbeOutcome, of digest: ContentDigest, by reader: ReaderVersion) async {
    guard outcome.isWorthRemembering else { return }
    try? open { $0.readings[MemoryLibrary.Reading(digest: digest, reader: reader)] = outcome }
  }

  /// Remembers that the file at `path` was not published, in place of what was remembered before.
  public func remember(_ failure: FailureRecord?, at path: SourcePath) async {
    try? open { $0.remember(failure, at: path) }
  }

  /// How much is remembered.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try look { $0.cacheStatus }
  }

  /// Forgets digests and readings.
  public func clearCache() async throws(CatalogError) -> CacheStatus {
    try look { $0.clearCache() }
  }
}
