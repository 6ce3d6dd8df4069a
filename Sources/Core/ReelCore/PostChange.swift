import FoundationEssentials

/// A requested change to a post that is, or was, in the feed.
package struct PostChange: Sendable {
  package enum Kind: Sendable {
    /// The post leaves the feed. Then its objects are removed, at once or later.
    case removal(Removal)
    /// The post was removed earlier with its objects kept. Now they are removed.
    case purge
    /// The post returns to its old place in the feed. By the time the change finishes, its video is in the store
    /// again.
    case restoration
    case edit(PostEdit)
    /// Its objects are copied to another store under the same names, and removed from this one.
    case move(to: Destination)
  }

  package let post: PostID
  package let kind: Kind

  package init(_ post: PostID, _ kind: Kind) {
    self.post = post
    self.kind = kind
  }
}

/// The kinds of ``PostChange``, with the numbers that catalogs store.
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
  /// Whether a removal keeps the objects for a while; nil for any other change.
  package var keeps: Bool? { if case .removal(let removal) = self { removal.keeps } else { nil } }
}

extension Removal {
  /// Whether the objects are kept for a while.
  package var keeps: Bool { keptUntil != nil }
}

/// New values for the texts and counts of a post. A nil property leaves its value unchanged; an empty text sets it
/// to null.
public struct PostEdit: Hashable, Sendable {
  /// The caption.
  public var caption: String?
  /// The music that goes with it.
  public var music: String?
  /// The name to show beside the video.
  public var authorName: String?
  /// At least 0.
  public var likeCount: Int?
  /// At least 0.
  public var shareCount: Int?

  /// Creates an edit that changes what is given; without arguments it changes nothing.
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

  /// The JSON keys that a text search covers.
  package static let wordKeys: Set<String> = [
    Post.CodingKeys.authorName.rawValue, Post.CodingKeys.caption.rawValue, Post.CodingKeys.music.rawValue,
  ]

  /// Encodes keys as a catalog stores them: as a JSON array.
  package static func document(ofKeys keys: [String]) -> String {
    "[\(keys.map { "\"\($0)\"" }.joined(separator: ","))]"
  }

  /// Decodes what ``document(ofKeys:)`` encoded.
  package static func keys(in document: String?) -> [String] {
    document.flatMap { try? JSONDecoder().decode([String].self, from: Data($0.utf8)) } ?? []
  }

  /// Applies the edit to `post`, and returns the JSON keys of the values that changed, sorted.
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
  /// Returns a copy that differs from `post` in these JSON keys. It stands in for the earlier post, whose values
  /// are no longer known.
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

/// A change that is recorded in the catalog and is this process's to carry out. Every step may be repeated: if the
/// process dies, another one resumes the change.
package struct OpenChange: Sendable {
  package enum Kind: Sendable, Hashable {
    /// The post is not in the feed. Its objects are to be removed, unless they are kept.
    case removal(Removal)
    /// The post was removed earlier, and that was announced. Its objects are to be removed.
    case purge(Removal)
    /// The post is not in the feed yet.
    case restoration(Removal)
    /// The values of these JSON keys have changed.
    case edit([String])
    /// Once `moved` is true, the post refers to the objects in the new store, and those in `destination` are to be
    /// removed. Until then, the new store may hold some of the copies.
    case move(to: Destination, moved: Bool)
  }

  /// Identifies the change within the catalog.
  package let number: Int64
  package let kind: Kind
  /// The post as the feed shows it, or as it last did.
  package var post: Post
  /// The store of its objects when the change began.
  package let destination: Destination
  /// Its video, and every poster for which a name in the store was recorded.
  package let objects: [ExaminedObject]
  /// For a move: the names that were free in the new store before anything was stored under them. An object found
  /// under one of them is therefore a copy that the move made, and is removed if the move is undone. Nil until this
  /// has been checked.
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

  /// ``freeNames`` as a catalog stores them, in the column that holds the keys of an edit.
  package var freeNamesDocument: String? {
    freeNames.map { PostEdit.document(ofKeys: $0.map(\.rawValue)) }
  }

  /// Reads a change from the values of its row.
  /// - Parameters:
  ///   - removal: The removal, for a post that was removed.
  ///   - here: The store of the post.
  ///   - other: For a move, the store to move to, or, once it is done, the store moved from.
  ///   - keys: For an edit, what ``PostEdit/document(ofKeys:)`` encoded; for a move, ``freeNamesDocument``.
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

/// A catalog's answer to a requested change.
package enum ChangeAnswer: Sendable {
  /// The change is recorded.
  case begun(OpenChange)
  /// A process that has died left this change of the same post unfinished. Carry it out, then ask again.
  case unfinished(OpenChange)
  /// Another process is changing the post. Ask again in a moment.
  case busy
  /// The post is already as requested.
  case nothing(Post)
  /// The post was removed.
  case removed(RemovedPost)
  /// No such post exists.
  case unknown
  /// In the store to which the post was to move, or from which it was removed, the video is already another post by
  /// the same author.
  case taken(Post)
}

/// A catalog whose posts can be removed, restored, edited and moved. Every method blocks.
///
/// A change is recorded when it begins (1), takes effect (2), and is struck out once it has been announced (3). The
/// objects are stored or removed between these steps, so that a post is in the feed only while they are in the
/// store.
package protocol PostChanging: PostCatalog {
  /// (1) Records these changes in one transaction, and returns the answers in the same order. A removal takes the
  /// post out of the feed here; an edit takes effect here.
  func begin(_ changes: [PostChange]) throws(CatalogError) -> [ChangeAnswer]

  /// Records the ``OpenChange/freeNames`` of a move, before anything is stored under them.
  /// - Returns: False if the change no longer belongs to this process.
  func noteFreeNames(of change: OpenChange) throws(CatalogError) -> Bool

  /// (2) Makes these changes take effect, in one transaction: their objects have been removed, restored, or copied
  /// to the store that `post` names.
  ///
  /// Required for every kind of change except an edit.
  /// - Returns: The posts as they are now. Nil for a change that no longer belongs to this process; for a
  ///   restoration whose video has meanwhile become another post in that store (the change is struck out); and for
  ///   a move to a store where that has happened (any process may then undo it).
  func finish(_ changes: [OpenChange]) throws(CatalogError) -> [Post?]

  /// (3) Strikes out changes that were announced or abandoned: a move whose copies were removed again, or a
  /// restoration that brought nothing back.
  func strikeOut(_ changes: [OpenChange]) throws(CatalogError)

  /// Whether each change still belongs to this process. A process that was suspended for longer than its lease may
  /// have lost it.
  func areHeld(_ changes: [OpenChange]) throws(CatalogError) -> [Bool]

  /// Gives up changes that cannot be carried out now, so that the next process that asks can resume them.
  func release(_ changes: [OpenChange]) throws(CatalogError)

  /// Adopts changes that no live process holds, in the order of their numbers: they become this process's.
  /// - Parameter number: Only changes with a greater number are adopted.
  func unfinishedChanges(after number: Int64, limit: Int) throws(CatalogError) -> [OpenChange]

  /// Lists the changes that no live process holds, without changing anything.
  func abandonedChanges() throws(CatalogError) -> [(post: PostID, kind: ChangeKind)]

  /// The removed post with this id.
  func removedPost(_ id: PostID) throws(CatalogError) -> RemovedPost?

  /// The removed posts of a video, oldest first. `digest` is that of the file as it arrived or as it is stored.
  func removedPosts(of digest: ContentDigest) throws(CatalogError) -> [RemovedPost]

  /// Removed posts with page numbers above `pageNumber` whose objects may still be in the store although they need
  /// not be kept beyond `moment`.
  func expiredPosts(
    at moment: Date, after pageNumber: Int, limit: Int
  ) throws(CatalogError) -> [RemovedPost]

  /// The number of remembered readings that were made by versions of Reel other than `reel`.
  func readings(besides reel: String) throws(CatalogError) -> Int

  /// Forgets up to `limit` of those readings.
  /// - Returns: How many were forgotten; 0 if none were left.
  func forgetReadings(besides reel: String, atMost limit: Int) throws(CatalogError) -> Int

  /// Forgets which files were not published, and why. A file that fails again is remembered again.
  /// - Returns: How many were forgotten.
  func forgetFailures() throws(CatalogError) -> Int
}

/// What happens to a requested change; the same decision for every catalog.
package enum ChangeDecision: Hashable, Sendable {
  /// The change begins.
  case begin
  /// The change resumes where another process left it.
  case resume
  /// The open change must be carried out first.
  case finishOther
  case busy
  /// The post is already as requested.
  case nothing
  case removed
  case unknown

  /// Where a post is now.
  package enum Place: Hashable, Sendable {
    case feed
    /// Its objects may be in the store.
    case kept
    case gone
    case nowhere
  }

  /// Decides on a requested change of `kind`.
  /// - Parameters:
  ///   - open: The post's change that has not been struck out; nil if there is none.
  ///   - isHeld: Whether a live process, including this one, holds the open change.
  ///   - isSame: Whether the open change is the very one requested and has not taken effect yet.
  ///   - isInPlace: Whether the post is already where a move would take it.
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
    // A purge begins even if the objects are gone, since somebody may have put them back.
    case (.removal, .feed), (.edit, .feed), (.purge, .kept), (.purge, .gone), (.restoration, .kept),
      (.restoration, .gone):
      return .begin
    case (.move, .feed): return isInPlace ? .nothing : .begin
    case (.restoration, .feed), (.purge, .feed): return .nothing
    case (.removal, _), (.edit, _), (.move, _): return .removed
    }
  }
}
