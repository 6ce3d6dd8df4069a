import FoundationEssentials

/// What is to become of a post that is in the feed, or was.
package struct PostChange: Sendable {
  package enum Kind: Sendable {
    /// It leaves the feed; then its objects go, at once or later.
    case removal(Removal)
    /// It was removed and kept, and its objects go now.
    case purge
    /// It comes back to its old place in the feed. Its video is in the store again when the change is finished.
    case restoration
    case edit(PostEdit)
    /// Its objects are copied to another store, under the names that they have, and go here.
    case move(to: Destination)
  }

  package let post: PostID
  package let kind: Kind

  package init(_ post: PostID, _ kind: Kind) {
    self.post = post
    self.kind = kind
  }
}

/// The kinds of ``PostChange``, as a catalog counts them.
package enum ChangeKind: Int, Sendable, CaseIterable {
  case removal = 0, purge, restoration, edit, move
}

extension PostChange.Kind {
  package var sort: ChangeKind {
    switch self {
    case .removal: .removal
    case .purge: .purge
    case .restoration: .restoration
    case .edit: .edit
    case .move: .move
    }
  }
}

extension PostChange.Kind {
  /// Of a removal: whether the objects stay for a while.
  package var keeps: Bool? { if case .removal(let removal) = self { removal.keeps } else { nil } }
}

extension Removal {
  /// Whether the objects stay for a while.
  package var keeps: Bool { keptUntil != nil }
}

/// What is to be said of a post from now on; what is nil stays as it is. An empty text is nobody's word: null.
public struct PostEdit: Hashable, Sendable {
  /// What people say about the video.
  public var caption: String?
  /// The music that goes with it.
  public var music: String?
  /// The name to show beside the video.
  public var authorName: String?
  /// At least 0.
  public var likeCount: Int?
  /// At least 0.
  public var shareCount: Int?

  /// Changes nothing, until something is set.
  public init(
    caption: String? = nil, music: String? = nil, authorName: String? = nil, likeCount: Int? = nil,
    shareCount: Int? = nil
  ) {
    self.caption = caption
    self.music = music
    self.authorName = authorName
    self.likeCount = likeCount
    self.shareCount = shareCount
  }

  /// The JSON keys of what a search looks at.
  package static let wordKeys: Set<String> = [
    Post.CodingKeys.authorName.rawValue, Post.CodingKeys.caption.rawValue, Post.CodingKeys.music.rawValue,
  ]

  /// Keys as a catalog keeps them, a JSON array.
  package static func document(ofKeys keys: [String]) -> String {
    "[\(keys.map { "\"\($0)\"" }.joined(separator: ","))]"
  }

  /// What ``document(ofKeys:)`` made.
  package static func keys(in document: String?) -> [String] {
    document.flatMap { try? JSONDecoder().decode([String].self, from: Data($0.utf8)) } ?? []
  }

  /// Changes `post`, and gives the JSON keys of what is another now, sorted.
  package func apply(to post: inout Post) -> [String] {
    let old = post
    if let caption { post.caption = caption.said }
    if let music { post.music = music.said }
    if let authorName { post.authorName = authorName.said }
    if let likeCount { post.likeCount = likeCount }
    if let shareCount { post.shareCount = shareCount }
    var changed: [String] = []
    func note(_ key: Post.CodingKeys, _ isAnother: Bool) { if isAnother { changed.append(key.rawValue) } }
    note(.authorName, post.authorName != old.authorName)
    note(.caption, post.caption != old.caption)
    note(.likeCount, post.likeCount != old.likeCount)
    note(.music, post.music != old.music)
    note(.shareCount, post.shareCount != old.shareCount)
    return changed
  }
}

extension PostEdit {
  /// A post that differs from `post` in those JSON keys: what it was before nobody knows any more.
  package static func differing(from post: Post, in keys: [String]) -> Post {
    var other = post
    for key in keys.compactMap(Post.CodingKeys.init(rawValue:)) {
      switch key {
      case .caption: other.caption = post.caption == nil ? "" : nil
      case .music: other.music = post.music == nil ? "" : nil
      case .authorName: other.authorName = post.authorName == nil ? "" : nil
      case .likeCount: other.likeCount = post.likeCount == nil ? 0 : nil
      case .shareCount: other.shareCount = post.shareCount == nil ? 0 : nil
      default: break
      }
    }
    return other
  }
}

/// A change that is written down, and that this process is to carry out. All of it may be done again: whoever dies leaves it
/// to the next one.
package struct OpenChange: Sendable {
  package enum Kind: Sendable, Hashable {
    /// The post is not in the feed. Its objects are to go, unless they are kept.
    case removal(Removal)
    /// The post was removed before, and that is told; its objects are to go.
    case purge(Removal)
    /// The post is not in the feed yet.
    case restoration(Removal)
    /// The post has been changed: these JSON keys.
    case edit([String])
    /// Once it has `moved`, the post is of `other`'s objects, and those of `destination` are to go; until then those of
    /// `other` may be there.
    case move(to: Destination, moved: Bool)
  }

  /// Names it within the catalog.
  package let number: Int64
  package let kind: Kind
  /// As it is in the feed, or as it was there last.
  package var post: Post
  /// Where its objects were when the change began.
  package let destination: Destination
  /// Its video and every poster that was named for it, in the store.
  package let objects: [ExaminedObject]
  /// Of a move: names that were free in the other store before anything was stored under them, so that what has them there
  /// is the move's own, and goes if it is undone. Nil until somebody has looked.
  package var freeNames: [ObjectKey]?

  package init(
    number: Int64, kind: Kind, post: Post, destination: Destination, objects: [ExaminedObject],
    freeNames: [ObjectKey]? = nil
  ) {
    self.number = number
    self.kind = kind
    self.post = post
    self.destination = destination
    self.objects = objects
    self.freeNames = freeNames
  }

  /// ``freeNames`` as a catalog keeps them, where it keeps the keys of an edit.
  package var freeNamesDocument: String? {
    freeNames.map { PostEdit.document(ofKeys: $0.map(\.rawValue)) }
  }

  /// A change as its row has it.
  /// - Parameters:
  ///   - removal: of a post that was removed.
  ///   - here: where the post is.
  ///   - other: of a move: where to, or where from when it is done.
  ///   - keys: of an edit, as ``PostEdit/document(ofKeys:)`` has made them; of a move, ``freeNamesDocument``.
  package init(
    number: Int64, _ kind: ChangeKind, isDone: Bool, post: Post, removal: Removal?, at here: Destination,
    other: Destination?, keys: String?, objects: [ExaminedObject]
  ) {
    let removal = removal ?? Removal(at: post.createdAt ?? Date(milliseconds: 0))
    let kind: Kind =
      switch kind {
      case .removal: .removal(removal)
      case .purge: .purge(removal)
      case .restoration: .restoration(removal)
      case .edit: .edit(PostEdit.keys(in: keys))
      case .move: .move(to: (isDone ? here : other) ?? here, moved: isDone)
      }
    var freeNames: [ObjectKey]?
    if case .move = kind, keys != nil { freeNames = PostEdit.keys(in: keys).compactMap { ObjectKey($0) } }
    self.init(
      number: number, kind: kind, post: post, destination: (isDone ? other : here) ?? here, objects: objects,
      freeNames: freeNames)
  }
}

/// What a catalog answers to a change.
package enum ChangeAnswer: Sendable {
  /// It is written down.
  case begun(OpenChange)
  /// Whoever changed the post before is dead, and left this: carry it out, and ask again.
  case unfinished(OpenChange)
  /// Somebody is changing it: ask again in a moment.
  case busy
  /// It is so already.
  case nothing(Post)
  /// It was removed.
  case removed(RemovedPost)
  /// There is no such post.
  case unknown
  /// The video is another post of the same author in the store that it was to move to, or was removed from.
  case taken(Post)
}

/// A catalog whose posts can be removed, restored, edited and moved. All of it blocks.
///
/// A change is written down when it begins (1), becomes true (2), and is struck out once it has been told (3). Between these
/// its objects come and go: a post is in the feed only while they are in the store.
package protocol PostChanging: PostCatalog {
  /// (1) Writes these down, in one transaction; their answers in their order. A removal takes the post out of the feed; an
  /// edit is true from here on.
  func begin(_ changes: [PostChange]) throws(CatalogError) -> [ChangeAnswer]

  /// Writes down the ``OpenChange/freeNames`` of a move, before anything is stored under them.
  /// - Returns: false where it is not this process's any more.
  func noteFreeNames(of change: OpenChange) throws(CatalogError) -> Bool

  /// (2) In one transaction: the objects of these have gone, come back, or been copied to where `post` says.
  ///
  /// Needed for every kind but an edit.
  /// - Returns: the posts as they are now; nil for a change that is not this process's any more, for a restoration whose video
  ///   has become another post meanwhile (it is struck out), and for a move to where it has (that is anybody's to undo).
  func finish(_ changes: [OpenChange]) throws(CatalogError) -> [Post?]

  /// (3) Strikes out what has been told, or was given up: a move whose copies have gone again, a restoration that brought
  /// nothing back.
  func strikeOut(_ changes: [OpenChange]) throws(CatalogError)

  /// Whether each is this process's still: one that was stopped for longer than its lease may have lost it.
  func areHeld(_ changes: [OpenChange]) throws(CatalogError) -> [Bool]

  /// Leaves changes that could not be carried out now to whoever asks next.
  func release(_ changes: [OpenChange]) throws(CatalogError)

  /// Changes that nobody alive has, by number; they become this process's.
  /// - Parameter number: those behind it.
  func unfinishedChanges(after number: Int64, limit: Int) throws(CatalogError) -> [OpenChange]

  /// The changes that nobody alive has; nothing is changed by this.
  func abandonedChanges() throws(CatalogError) -> [(post: PostID, kind: ChangeKind)]

  /// The removed post with this id.
  func removedPost(_ id: PostID) throws(CatalogError) -> RemovedPost?

  /// The removed posts of a video, by its digest as it came in or is stored, the oldest first.
  func removedPosts(of digest: ContentDigest) throws(CatalogError) -> [RemovedPost]

  /// Removed posts whose objects may be in the store, and are no longer to be kept at `moment`; those behind `pageNumber`.
  func expiredPosts(
    at moment: Date, after pageNumber: Int, limit: Int
  ) throws(CatalogError) -> [RemovedPost]

  /// How many files' readings by other versions of Reel than `reel` are remembered.
  func readings(besides reel: String) throws(CatalogError) -> Int

  /// Forgets `limit` of these.
  /// - Returns: how many that were; 0 where none was left.
  func forgetReadings(besides reel: String, atMost limit: Int) throws(CatalogError) -> Int

  /// Forgets which files were not published, and why; those that fail again are remembered again.
  /// - Returns: how many that were.
  func forgetFailures() throws(CatalogError) -> Int
}

/// What becomes of a change that is asked for: decided here for every catalog.
package enum ChangeDecision: Hashable, Sendable {
  /// It begins.
  case begin
  /// It goes on where another process left it.
  case resume
  /// The open one is to be carried out first.
  case finishOther
  case busy
  /// It is so already.
  case nothing
  case removed
  case unknown

  /// Where a post stands.
  package enum Place: Hashable, Sendable {
    case feed
    /// Its objects may be in the store.
    case kept
    case gone
    case nowhere
  }

  /// - Parameters:
  ///   - open: the post's change that has not been struck out; nil for none.
  ///   - isHeld: whether somebody alive is at that one, the claimant itself included.
  ///   - isSame: whether that is the very change that is asked for, and has not become true yet.
  ///   - isInPlace: whether a move is to where the post is.
  package static func decide(
    _ kind: ChangeKind, of place: Place, open: ChangeKind?, isHeld: @autoclosure () throws -> Bool,
    isSame: @autoclosure () -> Bool, isInPlace: Bool = false
  ) rethrows -> ChangeDecision {
    if place == .nowhere { return .unknown }
    if let open {
      if try isHeld() { return .busy }
      return open == kind && isSame() ? .resume : .finishOther
    }
    switch (kind, place) {
    case (_, .nowhere): return .unknown
    // What somebody has put back goes, too.
    case (.removal, .feed), (.edit, .feed), (.purge, .kept), (.purge, .gone), (.restoration, .kept),
      (.restoration, .gone):
      return .begin
    case (.move, .feed): return isInPlace ? .nothing : .begin
    case (.restoration, .feed), (.purge, .feed): return .nothing
    case (.removal, _), (.edit, _), (.move, _): return .removed
    }
  }
}
