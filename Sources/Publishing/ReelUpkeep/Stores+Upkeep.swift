import ReelCore
import ReelIngest
import ReelLibrary
import ReelSource
import ReelStorage
import ReelStores

/// All that is asked of a catalog.
package typealias WholeCatalog = PosterAdding & PostChanging & CatalogExamination & CatalogRepair
  & StoreRelocating & UploadCheckpoints

// Each kind of work sees a store of its own way.
extension Stores {
  /// Where what is read or copied lies until it is whole; nil for `TMPDIR`, or `/tmp`.
  private var temporaries: String? { library.map { $0 + "/tmp" } }

  /// A store whose posts are changed.
  /// - Parameter option: says that the credentials at hand are for a store.
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

  /// What opens the stores of posts that are moved to the one that `to` names.
  /// - Parameters:
  ///   - from: the store that the credentials at hand are for, too; nil when nobody said.
  ///   - option: says so.
  /// - Throws: as ``Stores/open(_:)`` and ``OpenedStore/checkIsMounted(in:)``.
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

  /// A store that is held against the catalog; nil where its secret is not at hand.
  package func verified(_ destination: Destination) async throws(UploadError) -> StoreVerification.Store? {
    guard let opened = try await open(destination) else { return nil }
    return try Self.verified(opened)
  }

  /// The same of one that is open.
  package static func verified(_ opened: OpenedStore) throws(UploadError) -> StoreVerification.Store {
    StoreVerification.Store(RetryingUploader(base: opened.uploader), recorder: try opened.recorder())
  }

  /// A store that is looked into; nil for one of a kind that can't be.
  func examined(_ destination: Destination) async throws(UploadError) -> LibraryExamination.Store? {
    guard DestinationAddress.kind(ofName: destination.name)?.canBeExamined == true else { return nil }
    return try await needed(destination).uploader as? any Uploader & StoreExamination
  }

  /// What keeps the posts of a store; nil for one that keeps none.
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

  /// A store whose videos get posters; nil for one that gives no video back, and for one whose secret is not at hand.
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

  /// What changes posts in these stores.
  /// - Parameters:
  ///   - supply: the video of a post that is restored, where the store does not have it any more.
  ///   - open: opens a store; nil for ``changed(_:option:)``.
  ///   - notice: told what a store keeps of an object that was removed.
  ///   - tell: told what has become true; what it throws leaves it to be told by the next one.
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
