import Observation
import ReelCore

/// Pages through the feed, newest posts first: the view model of `reel feed`, and of an app's feed.
///
/// ```swift
/// let feed = FeedModel(catalog: catalog, pageSize: 20)
/// await feed.loadNextPage()   // feed.posts holds the newest 20
/// await feed.loadNextPage()   // … and the 20 before them
/// ```
@MainActor
@Observable
public final class FeedModel {
  /// Whether a page is being loaded.
  public private(set) var isLoading = false
  /// Every post loaded so far, newest first.
  public private(set) var posts: [Post] = []
  /// Why the last page could not be loaded; nil after a page has been loaded.
  public private(set) var error: CatalogError?
  /// Where the next page begins; nil before the first page and after the last.
  public private(set) var next: FeedCursor?
  /// Whether the oldest post has been loaded.
  public private(set) var isComplete = false

  @ObservationIgnored private let catalog: any PostCatalog
  @ObservationIgnored private let pageSize: Int

  /// - Parameters:
  ///   - pageSize: the number of posts in a page, at least 1.
  ///   - start: where to begin; nil begins with the newest post.
  public init(catalog: any PostCatalog, pageSize: Int = 20, startingBefore start: FeedCursor? = nil) {
    self.catalog = catalog
    self.pageSize = max(1, pageSize)
    next = start
  }

  /// Loads one more page after those already loaded. Does nothing while another is loading, or at the end.
  public func loadNextPage() async {
    guard !isLoading, !isComplete else { return }
    isLoading = true
    defer { isLoading = false }
    do throws(CatalogError) {
      let page = try await catalog.newestPosts(before: next, limit: pageSize)
      posts.append(contentsOf: page.posts)
      next = page.next
      isComplete = page.next == nil
      error = nil
    } catch {
      self.error = error
    }
  }

  /// Starts over with the newest post.
  public func reload() async {
    guard !isLoading else { return }
    posts = []
    next = nil
    isComplete = false
    await loadNextPage()
  }

  /// Applies an event to the loaded posts: a removed post goes, an edited or moved one is updated, and a restored one
  /// returns to its place if that is within the loaded range. Other events change nothing.
  public func follow(_ event: IngestEvent) {
    switch event.body {
    case .postRemoved(let removed): posts.removeAll { $0.id == removed.post.id }
    case .postEdited(let edited): show(edited.post)
    case .postMoved(let moved): show(moved.post)
    case .postRestored(let post):
      guard !posts.contains(where: { $0.id == post.id }), let place = post.pageNumber else {
        return show(post)
      }
      let index = posts.firstIndex { $0.pageNumber ?? 0 < place } ?? posts.endIndex
      // Beyond the loaded range, the next page will contain it.
      if index < posts.endIndex || isComplete { posts.insert(post, at: index) }
    default: break
    }
  }

  private func show(_ post: Post) {
    if let index = posts.firstIndex(where: { $0.id == post.id }) { posts[index] = post }
  }
}
