import FoundationEssentials

/// Why a post was removed, when, and by whom.
public struct Removal: Hashable, Sendable, Codable {
  /// Why, as somebody said; nil when nobody did.
  @ExplicitNull public var reason: String?
  /// Who removed it, as somebody said; nil when nobody did.
  @ExplicitNull public var by: String?
  /// When it left the feed.
  public let at: Date
  /// Until when its objects stay in the store, so that it can be restored without its file; nil where they go at once.
  @ExplicitNull public var keptUntil: Date?

  /// A removal; empty texts count as nil.
  public init(reason: String? = nil, by: String? = nil, at: Date, keptUntil: Date? = nil) {
    self.at = at.wholeMilliseconds
    self.reason = reason?.said
    self.by = by?.said
    self.keptUntil = keptUntil?.wholeMilliseconds
  }
}

/// A post that no feed shows any more. Its video is known when it comes again, by its digest and author.
public struct RemovedPost: Hashable, Sendable, Codable {
  /// As the feed showed it last.
  public let post: Post
  /// Why, when and by whom.
  public let removal: Removal
  /// Whether its objects may be in the store still.
  package let mayBeStored: Bool

  private var reason: String { removal.reason.map { " (\($0))" } ?? "" }

  /// One sentence for people: why its video is not published, without what to do.
  package var explanation: String {
    "its post \(post.id) was removed\(reason), and its video is not published again"
  }

  /// One sentence for people: why its video is not published.
  public var text: ErrorMessage {
    "its post \(post.id) was removed\(reason): to publish the video all the same, use \(setting: .again)"
  }

  private enum CodingKeys: String, CodingKey { case post, removal }

  /// A post, and how it came to be removed.
  public init(post: Post, removal: Removal) {
    self.post = post
    self.removal = removal
    mayBeStored = false
  }

  /// As a catalog knows it: what is gone is kept no longer.
  package init(post: Post, removal: Removal, mayBeStored: Bool) {
    self.post = post
    var removal = removal
    if !mayBeStored { removal.keptUntil = nil }
    self.removal = removal
    self.mayBeStored = mayBeStored
  }

  /// Reads what a program wrote.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      post: try container.decode(Post.self, forKey: .post),
      removal: try container.decode(Removal.self, forKey: .removal))
  }
}
