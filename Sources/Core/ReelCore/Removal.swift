import FoundationEssentials

/// Why a post was removed, when, and by whom.
public struct Removal: Hashable, Sendable, Codable {
  /// The reason that a person gave; nil if none was given.
  @ExplicitNull public var reason: String?
  /// Who removed it, as a person stated; nil if nobody did.
  @ExplicitNull public var by: String?
  /// When the post left the feed.
  public let at: Date
  /// Until when its objects stay in the store, so that it can be restored without its file; nil if they are removed
  /// at once.
  @ExplicitNull public var keptUntil: Date?

  /// Creates a removal; an empty text becomes nil.
  public init(reason: String? = nil, by: String? = nil, at: Date, keptUntil: Date? = nil) {
    self.at = at.wholeMilliseconds
    self.reason = reason?.said
    self.by = by?.said
    self.keptUntil = keptUntil?.wholeMilliseconds
  }
}

/// A post that is no longer in any feed. If its video arrives again, it is recognized by its digest and author.
public struct RemovedPost: Hashable, Sendable, Codable {
  /// The post as the feed last showed it.
  public let post: Post
  /// Why, when and by whom it was removed.
  public let removal: Removal
  /// Whether its objects may still be in the store.
  package let mayBeStored: Bool

  private var reason: String { removal.reason.map { " (\($0))" } ?? "" }

  /// Why its video is not published, without advice; one sentence for people.
  package var explanation: String {
    "its post \(post.id) was removed\(reason), and its video is not published again"
  }

  /// Why its video is not published, and what to do about it; one sentence for people.
  public var text: ErrorMessage {
    "its post \(post.id) was removed\(reason): to publish the video all the same, use \(setting: .again)"
  }

  private enum CodingKeys: String, CodingKey { case post, removal }

  /// Creates a removed post from the post and its removal.
  public init(post: Post, removal: Removal) {
    self.post = post
    self.removal = removal
    mayBeStored = false
  }

  /// Creates a removed post as a catalog knows it. Objects that are gone are no longer kept until any date.
  package init(post: Post, removal: Removal, mayBeStored: Bool) {
    self.post = post
    var removal = removal
    if !mayBeStored { removal.keptUntil = nil }
    self.removal = removal
    self.mayBeStored = mayBeStored
  }

  /// Reads a removed post that a program wrote.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      post: try container.decode(Post.self, forKey: .post),
      removal: try container.decode(Removal.self, forKey: .removal))
  }
}
