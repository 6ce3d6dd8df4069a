import FoundationEssentials
import ReelCore

// Removes the videos and posters of removed posts from the site and from its bucket.

extension SiteWriter {
  /// The names of media that the site's posts once had, one per line. A bucket from which they were not removed is
  /// brought up to date by the next run.
  private static let formerMedia = "feed/.removed"

  /// Removes the media of posts that a page shows and will no longer show. This comes before the page is written, so
  /// that the next run can complete the work of a run that was killed in between.
  /// - Parameters:
  ///   - posts: the posts that the page continues to show.
  ///   - next: the new contents of the page; nil for a page that is to be removed.
  ///   - isResized: whether the page size has changed, so that a post may merely have moved to another page.
  ///   - old: the index before this run.
  /// - Returns: the number of posts that are no longer shown.
  func takeOut(
    _ page: Int, keeping posts: Set<PostID>, for next: [UInt8]?, isResized: Bool, after old: SiteIndex
  ) throws(SiteError) -> Int {
    guard let bytes = try folder.read("feed/\(page).json"), bytes != next,
      let shown = try? JSONDecoder().decode(ShownPage.self, from: Data(bytes)).posts
    else { return 0 }
    var gone: [ShownPost] = []
    for post in shown where !posts.contains(post.id) {
      if isResized, try removedPost(post.id) == nil { continue }
      gone.append(post)
    }
    let names = gone.flatMap(\.ownMedia)
    guard !names.isEmpty else { return gone.count }
    try folder.append(Array(names.map { $0 + "\n" }.joined().utf8), to: Self.formerMedia)
    // Media in place belong to the store, which has removed them or keeps them for a while.
    if old.media != .inPlace {
      let places = MediaPlaces(folder, old)
      for post in gone {
        guard let removed = try removedPost(post.id), !places.isInSite(removed.post.videoURL) else {
          continue
        }
        for name in post.ownMedia where name.hasPrefix(MediaPlaces.name + "/") { folder.remove(name) }
      }
    }
    return gone.count
  }

  /// The removed post with this id. Blocks.
  func removedPost(_ id: PostID) throws(SiteError) -> RemovedPost? {
    try rethrowing(as: SiteError.init) { () throws(CatalogError) in
      try (catalog as? any PostChanging)?.removedPost(id)
    }
  }

  /// The names of media of posts that the site no longer shows, except those that another post uses. Blocks.
  package func removedMedia(beside media: [SiteMedia]) throws(SiteError) -> Set<String> {
    guard let bytes = try folder.read(Self.formerMedia) else { return [] }
    let names = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    return Set(names).filter { ShownPost.isMediaName($0) }.subtracting(media.map { "\($0.folder)/\($0.key)" })
  }
}
