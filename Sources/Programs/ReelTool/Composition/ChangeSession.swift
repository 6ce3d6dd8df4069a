import ReelCore
import ReelIngest
import ReelProcess
import ReelStorage
import ReelStores
import ReelTerminal
import ReelUpkeep

/// What the commands that change posts work with, put together from the settings.
struct ChangeSession: Sendable {
  let settings: Settings
  /// Where the video of a restored post is looked for.
  var supply: FileRestoreSource?
  let events: EventTarget?
  /// The present store of posts that are moved to another one.
  var source: Source?

  /// Where posts are now.
  struct Source: Sendable {
    /// The store that the available credentials are also for; nil when the user named none.
    let named: String?
  }

  /// Passes to `body` what changes posts, then ends the command as `report` says.
  /// - Throws: ``CommandFailure`` where there is no library, what `body` throws, and the exit code.
  func run(
    _ report: ChangeReport, _ body: @escaping @Sendable (PostChanges, any PostChanging) async throws -> Void
  ) async throws {
    let place = try CatalogPlace(settings)
    if try await !place.isThere() { throw CommandFailure(.couldNotRun, place.absence) }
    let catalog = try await place.writing()
    let stores = Stores(settings, library: place.library, checkpoints: catalog)
    let writer = ChangeEventWriter(target: events)
    var opening: (@Sendable (Destination) async throws(UploadError) -> PostChanges.Store)?
    do {
      if let source {
        opening = try await stores.moving(
          to: settings.to, from: source.named, option: "--from", in: catalog)
      }
    } catch {
      try? await catalog.close()
      throw error
    }
    let changes = stores.changes(of: catalog, supply: supply, open: opening) { post, removal in
      Self.tell(post, removal)
      report.note(removal, of: post)
    } tell: {
      try await writer.write($0)
    }
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

  /// The address of the store that `to` names.
  func destination(_ to: String) async throws -> Destination {
    try await Stores(settings, library: try CatalogPlace(settings).library).open(to).uploader.destination
  }

  /// Reports what a store keeps of an object that was removed.
  static func tell(_ post: PostID, _ removal: ObjectRemoval) {
    guard let remains = removal.remains else { return }
    // The reader may be gone.
    try? OutputStream.standardError.tell(["\(post): \(remains)"])
  }
}
