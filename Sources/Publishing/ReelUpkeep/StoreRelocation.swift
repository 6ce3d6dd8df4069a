import FoundationEssentials
import ReelCore
import ReelLibrary
import ReelStorage
import ReelStores

/// A store that has moved. Each of its objects is looked for where it is now; only then the catalog is changed, in one
/// transaction.
package struct StoreRelocation: Sendable {
  /// As the catalog names it.
  package let from: Destination
  /// Where it is now.
  package let to: Destination
  private let store: StoreVerification.Store

  /// Why it can't be recorded.
  package struct Obstacle: ReelError {
    package let message: String
  }

  /// - Parameters:
  ///   - old: where it was, by its address or as the catalog names it.
  ///   - new: where it is now.
  ///   - known: the stores of the catalog.
  /// - Throws: ``Obstacle``, and as ``Stores/open(_:)``.
  package init(of old: String, to new: String, in stores: Stores, known: [Destination]) async throws {
    from = try await Self.destination(old, in: stores, known)
    // What can't be parsed is told by opening it.
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
    // A link to where it is now may have been left behind: the folder's path as it is written.
    let written = Destination(URL(filePath: old, directoryHint: .notDirectory).absoluteString)
    if !known.contains(Destination(old)), known.contains(written) { return written }
    return try await stores.known(old, among: known)
  }

  /// Looks for every object, and tells of each.
  /// - Throws: ``UploadError`` when the store can't be looked into, ``CatalogError``, and what `tell` throws, which ends it.
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
            // Nobody listens any more: there is no use in going on, and nothing comes after.
            withUnsafeCurrentTask { $0?.cancel() }
          }
        }
      }
    } catch {
      problem = problem ?? error
    }
    if let problem { throw problem }
  }

  /// Writes it down.
  /// - Parameter objects: how many were found.
  /// - Throws: ``CatalogError``; nothing has changed then.
  package func record(
    in catalog: any StoreRelocating, holding objects: Int, duplicates: DuplicateHandling
  ) async throws(CatalogError) {
    try await catalog.relocate(from, to: to, holding: objects, duplicates: duplicates)
  }
}
