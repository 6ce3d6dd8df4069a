import FoundationEssentials
import ReelCore
import ReelLibrary
import ReelStorage
import ReelStores

/// A store that has moved. Each of its objects is looked for in its present place; only then is the
/// catalog changed, in one transaction.
package struct StoreRelocation: Sendable {
  /// Its former place, as the catalog names it.
  package let from: Destination
  /// Its present place.
  package let to: Destination
  private let store: StoreVerification.Store

  /// The reason why the move can't be recorded.
  package struct Obstacle: ReelError {
    package let message: String
  }

  /// - Parameters:
  ///   - old: its former place, by its address or as the catalog names it.
  ///   - new: its present place.
  ///   - known: the stores of the catalog.
  /// - Throws: ``Obstacle``, and what ``Stores/open(_:)`` throws.
  package init(of old: String, to new: String, in stores: Stores, known: [Destination]) async throws {
    from = try await Self.destination(old, in: stores, known)
    // If an address can't be parsed, opening it will say so.
    if let here = DestinationAddress.kind(ofName: from.name),
      let there = DestinationAddress.kind(ofName: new), here != there
    {
      throw Obstacle(
        message: "\(from) and \(new) are stores of different kinds: name a place of the same kind")
    }
    let target = try await stores.open(new)
    to = target.uploader.destination
    guard from != to else { throw Obstacle(message: "\(old) and \(new) are the same store, \(to)") }
    store = try Stores.verified(target)
  }

  private static func destination(
    _ old: String, in stores: Stores, _ known: [Destination]
  ) async throws -> Destination {
    // A link to the present place may have been left behind, so take the folder's path as it is written.
    let written = Destination(URL(filePath: old, directoryHint: .notDirectory).absoluteString)
    if !known.contains(Destination(old)), known.contains(written) { return written }
    return try await stores.known(old, among: known)
  }

  /// Looks for every object, and reports on each.
  /// - Throws: ``UploadError`` if the store can't be examined, ``CatalogError``, and what
  ///   `tell` throws, which ends the search.
  package func look(
    _ catalog: any CatalogExamination, readingObjects: Bool, tell: (VerifiedObject) throws -> Void
  ) async throws {
    let verification = StoreVerification(catalog: catalog, readsObjects: readingObjects) {
      [store] _ async throws(UploadError) in store
    }
    var problem: (any Error)?
    do throws(CatalogError) {
      try await verification.run([from]) { event in
        switch event {
        case .unreachable(_, let error): problem = error
        // The store is the one that was named.
        case .notLookedAt: break
        case .verified(let verified):
          if problem != nil { return }
          do {
            try tell(VerifiedObject(verified.object, in: to, verdict: verified.verdict))
          } catch {
            problem = error
            // There is no listener any more, so nothing would be reported: cancel the task.
            withUnsafeCurrentTask { $0?.cancel() }
          }
        }
      }
    } catch {
      problem = problem ?? error
    }
    if let problem { throw problem }
  }

  /// Records the move in the catalog.
  /// - Parameter objects: the number of objects that were found.
  /// - Throws: ``CatalogError``; then nothing has changed.
  package func record(
    in catalog: any StoreRelocating, holding objects: Int, duplicates: DuplicateHandling
  ) async throws(CatalogError) {
    try await catalog.relocate(from, to: to, holding: objects, duplicates: duplicates)
  }
}
