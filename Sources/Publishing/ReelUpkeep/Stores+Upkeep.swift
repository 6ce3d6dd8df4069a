import ReelCore
import ReelIngest
import ReelLibrary
import ReelSource
import ReelStorage
import ReelStores

/// Everything that a catalog can do.
package typealias WholeCatalog = PosterAdding & PostChanging & CatalogExamination & CatalogRepair
  & StoreRelocating & UploadCheckpoints

// Each kind of work has its own view of a store.
extension Stores {
  /// The folder for what is read or copied until it is complete; nil for `TMPDIR`, or `/tmp`.
  private var temporaries: String? { library.map { $0 + "/tmp" } }

  /// Opens a store whose posts are changed.
  /// - Parameter option: the option that says which store the available credentials are for.
  package func changed(
    _ destination: Destination, option: ErrorMessage = "\(setting: .to)"
  ) async throws(UploadError) -> PostChanges.Store {
    guard let opened = try await open(destination) else {
      throw UploadError(.storeUnusable, "\(destination) " + Self.withheld(option))
    }
    return PostChanges.Store(
      uploader: decorated(opened), recorder: try opened.recorder(),
      reader: opened.uploader as? any ReadableStore, folder: opened.folder)
  }

  /// Returns what opens the stores of posts that are moved to the one that `to` names.
  /// - Parameters:
  ///   - from: another store that the available credentials are for; nil if none was named.
  ///   - option: the option that names it.
  /// - Throws: what ``Stores/open(_:)`` and ``OpenedStore/checkIsMounted(in:)`` throw.
  package func moving(
    to: String?, from: String?, option: ErrorMessage, in catalog: any PostCatalog
  ) async throws -> @Sendable (Destination) async throws(UploadError) -> PostChanges.Store {
    let opened = try await open(to)
    try await opened.checkIsMounted(in: catalog)
    let target = opened.uploader.destination
    var others = self
    others.secretsAreFor = from
    return { [others] destination async throws(UploadError) in
      try await (destination == target ? self : others).changed(destination, option: option)
    }
  }

  /// Opens a store that is compared against the catalog; nil if its secret is not available.
  package func verified(_ destination: Destination) async throws(UploadError) -> StoreVerification.Store? {
    guard let opened = try await open(destination) else { return nil }
    return try Self.verified(opened)
  }

  /// Does the same with an open store.
  package static func verified(_ opened: OpenedStore) throws(UploadError) -> StoreVerification.Store {
    StoreVerification.Store(RetryingUploader(base: opened.uploader), recorder: try opened.recorder())
  }

  /// Opens a store that is examined; nil for one of a kind that can't be.
  func examined(_ destination: Destination) async throws(UploadError) -> LibraryExamination.Store? {
    guard DestinationAddress.kind(ofName: destination.name)?.canBeExamined == true else { return nil }
    return try await needed(destination).uploader as? any Uploader & StoreExamination
  }

  /// Returns what keeps the posts of a store; nil for a store that keeps none.
  func recorder(of destination: Destination) async throws(UploadError) -> (any PostRecorder)? {
    guard Self.keepsPosts(destination) else { return nil }
    return try await needed(destination).recorder()
  }

  private func needed(_ destination: Destination) async throws(UploadError) -> OpenedStore {
    guard let opened = try await open(destination) else {
      throw UploadError(.storeUnusable, "it " + Self.withheld("\(setting: .to)"))
    }
    return opened
  }

  /// Opens a store whose videos get posters; nil for one that returns no videos, and
  /// for one whose secret is not available.
  package func illustrated(
    _ destination: Destination, mode: FolderModes?
  ) async throws(UploadError) -> MissingPosters.Store? {
    guard let opened = try await open(destination, mode: mode) else { return nil }
    let copies = (opened.uploader as? any ReadableStore).map { VideoCopies(store: $0, folder: temporaries) }
    guard opened.folder != nil || copies != nil else { return nil }
    return MissingPosters.Store(
      uploader: copies == nil ? opened.uploader : decorated(opened), copies: copies,
      place: opened.folder ?? destination.name)
  }

  /// Whether a store has a database of posts beside its objects.
  static func keepsPosts(_ destination: Destination) -> Bool {
    DestinationAddress.kind(ofName: destination.name)?.keepsPosts == true
  }

  private static func withheld(_ option: ErrorMessage) -> ErrorMessage {
    "needs credentials, and those that are set may be for another store: if they are for this one, name it with \(option)"
  }

  /// Returns what changes posts in these stores.
  /// - Parameters:
  ///   - supply: the source of a restored post's video, if the store no longer has it.
  ///   - open: opens a store; nil for ``changed(_:option:)``.
  ///   - notice: told what a store keeps of an object that was removed.
  ///   - tell: told what has become true. If it throws, that is left for the next process to tell.
  package func changes(
    of catalog: any PostChanging, supply: FileRestoreSource? = nil,
    open: (@Sendable (Destination) async throws(UploadError) -> PostChanges.Store)? = nil,
    notice: @escaping @Sendable (PostID, ObjectRemoval) -> Void,
    tell: @escaping @Sendable ([IngestEvent.Body]) async throws -> Void
  ) -> PostChanges {
    let usual: @Sendable (Destination) async throws(UploadError) -> PostChanges.Store = {
      destination async throws(UploadError) in
      try await changed(destination)
    }
    return PostChanges(
      catalog: catalog, supply: supply.map(Self.supply), staging: TemporaryStaging(folder: temporaries),
      keepsPosts: Self.keepsPosts,
      open: open ?? usual, notice: notice, tell: tell)
  }

  private static func supply(_ source: FileRestoreSource) -> PostChanges.Supply {
    { wanted, take in
      let failures = await source.supply([wanted]) { _, source in await take(source) }
      return failures.map { "\($0.subject): \($0.message)" }
    }
  }
}
