import FoundationEssentials
import ReelCore
import Synchronization

extension IngestServices {
  /// Removes posts from the feed, and their videos and posters from the store. Returns an outcome for each post, in the
  /// order given.
  ///
  /// The videos stay known: publishing one again ends as `removed`, unless ``IngestOptions/again`` is set.
  /// - Parameters:
  ///   - removal: why, when and by whom; `keptUntil` leaves the objects in the store, for ``restore(_:onEvent:)``.
  ///   - onEvent: called with each event once it is true.
  /// - Throws: ``CatalogError`` if the catalog can't be used; `unusable` for a catalog that cannot change posts.
  ///   Changes already begun are resumed by the next change, or by `reel doctor --fix`.
  public func remove(
    _ posts: [PostID], _ removal: Removal, onEvent: @escaping @Sendable (IngestEvent) async -> Void = { _ in }
  ) async throws(CatalogError) -> [PostChanges.Outcome] {
    try await change(posts, .removal(removal), onEvent)
  }

  /// Puts removed posts whose videos are still in the store back into the feed, at their old places.
  /// - Throws: as ``remove(_:_:onEvent:)``.
  public func restore(
    _ posts: [PostID], onEvent: @escaping @Sendable (IngestEvent) async -> Void = { _ in }
  ) async throws(CatalogError) -> [PostChanges.Outcome] {
    try await change(posts, .restoration, onEvent)
  }

  /// Changes what a post says.
  /// - Throws: as ``remove(_:_:onEvent:)``.
  public func edit(
    _ post: PostID, _ edit: PostEdit, onEvent: @escaping @Sendable (IngestEvent) async -> Void = { _ in }
  ) async throws(CatalogError) -> PostChanges.Outcome {
    try await change([post], .edit(edit), onEvent).first ?? .unknown
  }

  private func change(
    _ posts: [PostID], _ kind: PostChange.Kind, _ onEvent: @escaping @Sendable (IngestEvent) async -> Void
  ) async throws(CatalogError) -> [PostChanges.Outcome] {
    guard let catalog = catalog as? any PostChanging else {
      throw CatalogError(
        .unusable, "this catalog does not change posts: use SQLiteCatalog, PostgresCatalog or MemoryCatalog")
    }
    let sequence = Atomic(0)
    let outcomes = Mutex<[PostChanges.Outcome]>([])
    let store = PostChanges.Store(
      uploader: uploader, recorder: recorder, reader: uploader as? any ReadableStore)
    let changes = PostChanges(
      catalog: catalog, staging: staging,
      open: { destination throws(UploadError) in
        guard destination == store.uploader.destination else {
          throw UploadError(
            .rejected,
            "the post is in \(destination), and these services store in \(store.uploader.destination)")
        }
        return store
      },
      tell: { [clock] bodies in
        for body in bodies {
          let number = sequence.add(1, ordering: .relaxed).newValue
          await onEvent(IngestEvent(sequence: number, at: clock.now(), body: body))
        }
      })
    try await rethrowing(as: { $0 as? CatalogError ?? CatalogError(.unusable, "\($0)") }) {
      try await changes.change(posts, kind) { _, outcome in outcomes.withLock { $0.append(outcome) } }
    }
    return outcomes.withLock { $0 }
  }
}
