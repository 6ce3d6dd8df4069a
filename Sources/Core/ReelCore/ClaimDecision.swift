/// The outcome of a claim. Each catalog looks up, in its own way, what
/// ``decide(_:again:published:removed:own:related:holding:posterNameIsTaken:nameIsTaken:)`` asks for, and records
/// what it decides; so does the model of "exactly once".
package enum ClaimDecision<Post, Removed, Unfinished> {
  /// The publication is already a post.
  case published(Post)
  /// The publication was a post that has been removed, and is not to return.
  case removed(Removed)
  /// A live process holds an intent for it.
  case held
  /// Another object has the name that was drawn for the object or for the poster.
  case nameTaken
  /// The claimant takes over this intent.
  case takeOver(Unfinished)
  /// A new intent begins.
  case begin

  /// Decides on a claim. The arguments are evaluated in the order below, and only as far as needed.
  /// - Parameters:
  ///   - published: The post of the publication, or of the file as it arrived; unless `again` is set, also one that
  ///     has moved away from that destination.
  ///   - removed: The newest removal, in any store, of a post of that video and author; nil if they have become a
  ///     post since.
  ///   - own: The publication's unfinished intents, oldest first.
  ///   - related: Unfinished intents for the same file as it becomes when mended, or for the file as it arrived.
  ///   - holding: Whether an unfinished intent is held.
  ///   - posterNameIsTaken: Whether another poster has the name that was drawn.
  ///   - nameIsTaken: Whether another post has the id or the object key that was drawn. A catalog that finds out by
  ///     inserting the row passes false.
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
  /// Nobody holds it, or its owner is dead.
  case free
  /// Another live process holds it, or another task of the claimant's own process.
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
