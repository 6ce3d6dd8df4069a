import FoundationEssentials
import Glibc
import ReelCore
import ReelIngest
import ReelLibrary
import ReelProcess
import ReelSource
import ReelStorage
import ReelTerminal
import ReelUpkeep
import Synchronization

/// What the commands that change posts work with, put together from the settings.
struct ChangeSession: Sendable {
  let settings: Settings
  /// Where the video of a restored post is looked for.
  var supply: FileRestoreSource?
  let events: EventTarget?
  /// Of posts that are moved elsewhere.
  var source: Source?

  /// Where posts are now.
  struct Source: Sendable {
    /// The store that the credentials at hand are for, too; nil when nobody said.
    let named: String?
  }

  /// Gives `body` what changes posts, and ends as `report` says.
  /// - Throws: ``CommandFailure`` where there is no library, what `body` throws, and the exit code.
  func run(
    _ report: ChangeReport, _ body: @escaping @Sendable (PostChanges, any PostChanging) async throws -> Void
  ) async throws {
    let place = try CatalogPlace(settings)
    if try await !place.isThere() { throw CommandFailure(.couldNotRun, place.absence) }
    let catalog = try await place.writing()
    let stores = Destinations(settings: settings, library: place.library, checkpoints: catalog)
    let writer = ChangeEventWriter(target: events)
    let opening: @Sendable (Destination) async throws(UploadError) -> PostChanges.Store
    do {
      opening = try await self.opening(stores, catalog)
    } catch {
      try? await catalog.close()
      throw error
    }
    let changes = Self.changes(
      catalog, stores, supply: supply.map(Self.supply), writer, opening: opening,
      notice: { post, removal in report.note(removal, of: post) })
    let (result, wasInterrupted) = await RunSignals.cancelling {
      try await body(changes, catalog)
      await writer.end()
    }
    try? await catalog.close()
    if !wasInterrupted { try result.get() }
    let ending = try report.end()
    if wasInterrupted { throw CommandExit(code: .interrupted) }
    switch ending {
    case .done: break
    case .someFailed: try ReelExit.someFailed.end()
    case .someUnknown: try ReelExit.couldNotRun.end()
    }
  }

  private static func changes(
    _ catalog: any PostChanging, _ stores: Destinations, supply: PostChanges.Supply? = nil,
    _ writer: ChangeEventWriter,
    opening: @escaping @Sendable (Destination) async throws(UploadError) -> PostChanges.Store,
    notice: @escaping @Sendable (PostID, ObjectRemoval) -> Void = { _, _ in }
  ) -> PostChanges {
    PostChanges(
      catalog: catalog, supply: supply,
      staging: TemporaryStaging(folder: stores.library.map { $0 + "/tmp" }), keepsPosts: keepsPosts,
      open: opening,
      notice: { post, removal in
        tell(post, removal)
        notice(post, removal)
      },
      tell: { bodies in try await writer.write(bodies) })
  }

  /// Carries on what the dead have left of changes, and gives what can't be carried on.
  static func carryOnAll(
    _ catalog: any PostChanging, _ stores: Destinations, events: EventTarget?
  ) async throws(CatalogError) -> [(post: PostID, failure: FileFailure)] {
    let changes = changes(
      catalog, stores, ChangeEventWriter(target: events),
      opening: { destination async throws(UploadError) in try await open(destination, stores) })
    let failures = Mutex<[(post: PostID, failure: FileFailure)]>([])
    do {
      try await changes.resumeAll { post, outcome in
        if case .failed(let failure) = outcome { failures.withLock { $0.append((post, failure)) } }
      }
      return failures.withLock { $0 }
    } catch let error as CatalogError {
      throw error
    } catch {
      throw CatalogError(.unusable, "\(error)")
    }
  }

  /// The address of the store that `to` names.
  func destination(_ to: String) async throws -> Destination {
    let place = try CatalogPlace(settings)
    let stores = Destinations(settings: settings, library: place.library, checkpoints: MemoryCheckpoints())
    return try await stores.open(to).uploader.destination
  }

  /// Opens the stores of posts, and the one that they go to.
  private func opening(
    _ stores: Destinations, _ catalog: any PostCatalog
  ) async throws -> @Sendable (Destination) async throws(UploadError) -> PostChanges.Store {
    guard let source else {
      return { destination async throws(UploadError) in try await Self.open(destination, stores) }
    }
    let opened = try await stores.open(stores.settings.to)
    try await opened.checkIsMounted(in: catalog)
    let target = opened.uploader.destination
    var others = stores
    others.secretsAreFor = source.named
    return { [others] destination async throws(UploadError) in
      try await Self.open(destination, destination == target ? stores : others, flag: "--from")
    }
  }

  /// Whether a store has a database of posts beside its objects.
  private static func keepsPosts(_ destination: Destination) -> Bool {
    DestinationAddress.kind(ofName: destination.name)?.keepsPosts == true
  }

  /// - Parameter flag: says that the credentials at hand are for a store.
  private static func open(
    _ destination: Destination, _ stores: Destinations, flag: String = "--to"
  ) async throws(UploadError) -> PostChanges.Store {
    do {
      let opened = try await stores.open(destination)
      return PostChanges.Store(
        uploader: try stores.decorated(opened), recorder: try stores.decoratedRecorder(opened),
        reader: opened.uploader as? any ReadableStore, folder: opened.folder)
    } catch is SecretWithheld {
      throw UploadError(
        .storeUnusable,
        "\(destination) needs credentials, and those that are set may be for another store: if they are for this one, name it with \(flag)"
      )
    } catch {
      throw UploadError(.storeUnusable, CommandFailure.reason(error))
    }
  }

  private static func supply(_ source: FileRestoreSource) -> PostChanges.Supply {
    { wanted, take in
      let failures = await source.supply([wanted]) { _, source in await take(source) }
      return failures.map { "\($0.subject): \($0.message)" }
    }
  }

  private static func tell(_ post: PostID, _ removal: ObjectRemoval) {
    guard let remains = removal.remains else { return }
    // Nobody has to listen.
    try? OutputStream.standardError.tell(["\(post): \(remains)"])
  }
}
