import ReelCore
import Synchronization

/// A catalog that fails where a test wants it to.
final class FailingCatalog: PostCatalog {
  enum Failure {
    /// Its disk is full when that is written for the first time.
    case fullAtPost, fullAtRelease
    /// Somebody else has each intent by the time it is to become a post.
    case leaseLost
  }
  private let base: any PostCatalog
  private let failure: Failure
  private let isFirst = Mutex(true)

  init(base: any PostCatalog, _ failure: Failure) {
    self.base = base
    self.failure = failure
  }

  private func fail(at failure: Failure) throws(CatalogError) {
    guard failure == self.failure else { return }
    let isFirst = isFirst.withLock { first in
      defer { first = false }
      return first
    }
    if isFirst { throw CatalogError(.diskFull, "no space left") }
  }

  func complete(
    _ intent: Intent, draft: PostDraft, stored: StoredObject
  ) async throws(CatalogError) -> Post {
    try fail(at: .fullAtPost)
    if failure == .leaseLost {
      try await base.release(intent, because: .retryLater)
      throw CatalogError(.leaseLost, "another run has taken it over")
    }
    return try await base.complete(intent, draft: draft, stored: stored)
  }

  func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>] {
    if !completions.isEmpty { try fail(at: .fullAtPost) }
    return try base.complete(completions, noting: notes)
  }

  func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try fail(at: .fullAtRelease)
    try await base.release(intent, because: reason)
  }

  func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent] {
    try base.contents(of: questions)
  }
  func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim { try await base.claim(request) }
  func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>] { try base.claim(requests, noting: notes) }
  func post(_ id: PostID) async throws(CatalogError) -> Post? { try await base.post(id) }
  func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage {
    try await base.newestPosts(matching: filter, before: cursor, limit: limit)
  }
  func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    try await base.posts(from: pageNumber, count: count)
  }
  func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post] {
    try await base.posts(of: digest)
  }
  func feedRevision() async throws(CatalogError) -> Int { try await base.feedRevision() }
  func status() async throws(CatalogError) -> CatalogStatus { try await base.status() }
  func recall(_ files: [RecalledFile], readingPosts: Bool) throws(CatalogError) -> [CachedRecord?] {
    try base.recall(files, readingPosts: readingPosts)
  }
  func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] { try base.probeOutcomes(of: digests, by: reader) }
  func note(_ notes: [CatalogNote]) { base.note(notes) }
  func cacheStatus() async throws(CatalogError) -> CacheStatus { try await base.cacheStatus() }
  func clearCache() async throws(CatalogError) -> CacheStatus { try await base.clearCache() }
  func close() async throws(CatalogError) { try await base.close() }
}
