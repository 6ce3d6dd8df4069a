import FoundationEssentials
import ReelCore

// What a site loses when posts were removed: their videos and posters, here and in the bucket.

extension SiteWriter {
  /// The names of media that the site's posts had, a line each: a bucket that was not told is told by the next run.
  private static let formerMedia = "feed/.removed"

  /// Takes the media of the posts out of the site that a page shows, and is not to show any more. That comes before the
  /// page is written: a run that is killed in between is made good by the next.
  /// - Parameters:
  ///   - posts: those that it goes on to show.
  ///   - next: the page as it is to be; nil for one that is to go.
  ///   - isResized: whether pages have another size than before, so that a post may just go to another one.
  ///   - old: what the site says of itself.
  /// - Returns: how many posts are not shown any more.
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
    // In place, they are the store's: it has removed them, or keeps them for a while.
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

  /// Blocks.
  func removedPost(_ id: PostID) throws(SiteError) -> RemovedPost? {
    try rethrowing(as: SiteError.init) { () throws(CatalogError) in
      try (catalog as? any PostChanging)?.removedPost(id)
    }
  }

  /// The names of media that posts had which the site shows no more, and that no other post has. Blocks.
  package func removedMedia(beside media: [SiteMedia]) throws(SiteError) -> Set<String> {
    guard let bytes = try folder.read(Self.formerMedia) else { return [] }
    let names = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    return Set(names).filter { ShownPost.isMediaName($0) }.subtracting(media.map { "\($0.folder)/\($0.key)" })
  }
}
