/// What becomes of a claim. Every catalog looks up what ``decide(_:again:published:removed:own:related:holding:posterNameIsTaken:nameIsTaken:)``
/// asks for, in its own way, and writes down what it says; so does the model of "exactly once".
package enum ClaimDecision<Post, Removed, Unfinished> {
  /// It is a post already.
  case published(Post)
  /// It was a post, and is not to come back.
  case removed(Removed)
  /// Somebody alive is at it.
  case held
  /// The name that was drawn for the object or for the poster is another's.
  case nameTaken
  /// This intent becomes the claimant's.
  case takeOver(Unfinished)
  /// A new intent begins.
  case begin

  /// Asks in this order, and for no more than it needs.
  /// - Parameters:
  ///   - published: the post of the publication, or of the file that came in; unless `again`, also one that has moved from
  ///     that destination.
  ///   - removed: the newest removal of a post of that video and author, in whatever store, unless they have become a post
  ///     since.
  ///   - own: the publication's unfinished intents, the oldest first.
  ///   - related: unfinished intents for what becomes of the same file when it is mended, or for that file as it is.
  ///   - holding: whether somebody holds an unfinished intent.
  ///   - posterNameIsTaken: whether another has the name that was drawn for the poster.
  ///   - nameIsTaken: whether another has the id or the name that was drawn for the post. A catalog that learns this by
  ///     inserting the row says no.
  package static func decide(
    _ duplicates: DuplicateHandling, again: Bool,
    published: @autoclosure () throws -> Post?,
    removed: @autoclosure () throws -> Removed?,
    own: @autoclosure () throws -> [Unfinished],
    related: @autoclosure () throws -> [Unfinished],
    holding: (Unfinished) throws -> IntentHolding,
    posterNameIsTaken: @autoclosure () throws -> Bool,
    nameIsTaken: @autoclosure () throws -> Bool
  ) rethrows -> ClaimDecision {
    if duplicates == .skip, let post = try published() { return .published(post) }
    if !again, let removed = try removed() { return .removed(removed) }
    let own = try own().map { try (intent: $0, holding: holding($0)) }
    if duplicates == .skip,
      try own.contains(where: { $0.holding == .held })
        || related().contains(where: { try holding($0) == .held })
    {
      return .held
    }
    if try posterNameIsTaken() { return .nameTaken }
    if let free = own.first(where: { $0.holding == .free }) { return .takeOver(free.intent) }
    return try nameIsTaken() ? .nameTaken : .begin
  }
}

/// Whether an unfinished intent may be taken over.
package enum IntentHolding: Hashable, Sendable {
  /// Nobody has it, or one that is dead.
  case free
  /// The claimant itself, elsewhere in its process, or another that is alive has it.
  case held

  package init<Owner: Equatable>(
    owner: Owner?, claimant: Owner, isAlive: (Owner) throws -> Bool
  ) rethrows {
    guard let owner else {
      self = .free
      return
    }
    self = try owner == claimant || isAlive(owner) ? .held : .free
  }
}
