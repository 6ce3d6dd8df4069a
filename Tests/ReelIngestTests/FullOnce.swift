import ReelModel
import Synchronization

/// A catalog whose disk is full when something is written for the first time.
final class FullOnce: PostCatalog {
  enum Write {
    case post, release
  }
  private let base: any PostCatalog
  private let write: Write
  private let isFirst = Mutex(true)

  init(base: any PostCatalog, at write: Write) {
    self.base = base
    self.write = write
  }

  private func fail(at write: Write) throws(CatalogError) {
    guard write == self.write else { return }
    let isFirst = isFirst.withLock { first in
      defer { first = false }
      return first
    }
    if isFirst { throw CatalogError(.diskFull, "no space left") }
  }

  func complete(
    _ intent: Intent, draft: PostDraft, stored: StoredObject
  ) async throws(CatalogError) -> Post {
    try fail(at: .post)
    return try await base.complete(intent, draft: draft, stored: stored)
  }

  func published(_ publication: Publication) async throws(CatalogError) -> PublishedPost? {
    try await base.published(publication)
  }
  func content(
    of digest: ContentDigest, publishedAs publication: Publication?
  ) async throws(CatalogError) -> KnownContent {
    try await base.content(of: digest, publishedAs: publication)
  }
  func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim { try await base.claim(request) }
  func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try fail(at: .release)
    try await base.release(intent, because: reason)
  }
  func announced(_ posts: [PostID]) async { await base.announced(posts) }
  func post(_ id: PostID) async throws(CatalogError) -> Post? { try await base.post(id) }
  func newestPosts(before cursor: FeedCursor?, limit: Int) async throws(CatalogError) -> FeedPage {
    try await base.newestPosts(before: cursor, limit: limit)
  }
  func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    try await base.posts(from: pageNumber, count: count)
  }
  func status() async throws(CatalogError) -> CatalogStatus { try await base.status() }
  func knownFile(_ identity: FileIdentity) async throws(CatalogError) -> ContentDigest? {
    try await base.knownFile(identity)
  }
  func remember(_ digest: ContentDigest, of identity: FileIdentity) async {
    await base.remember(digest, of: identity)
  }
  func probeOutcome(
    of digest: ContentDigest, by reader: ReaderVersion
  ) async throws(CatalogError) -> ProbeOutcome? {
    try await base.probeOutcome(of: digest, by: reader)
  }
  func remember(_ outcome: ProbeOutcome, of digest: ContentDigest, by reader: ReaderVersion) async {
    await base.remember(outcome, of: digest, by: reader)
  }
  func remember(_ failure: FailureRecord?, at path: SourcePath) async {
    await base.remember(failure, at: path)
  }
  func cacheStatus() async throws(CatalogError) -> CacheStatus { try await base.cacheStatus() }
  func clearCache() async throws(CatalogError) -> CacheStatus { try await base.clearCache() }
  func close() async throws(CatalogError) { try await base.close() }
}
