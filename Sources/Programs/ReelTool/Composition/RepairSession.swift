import FoundationEssentials
import ReelCore
import ReelLibrary
import ReelStorage
import ReelTerminal
import ReelUpkeep

/// What `reel doctor` works with, put together from the settings.
struct RepairSession: Sendable {
  let settings: Settings
  let grace: Duration
  let readsObjects: Bool
  /// Where objects that are gone or damaged are put back from.
  var supply: FileRestoreSource?
  /// Where changes are told that are carried on.
  var events: EventTarget?

  private typealias Look = (findings: [Finding], objects: Int)

  /// Looks and, when `fixing`, repairs and looks again.
  /// - Throws: ``CommandFailure`` when there is nothing that could be looked at.
  func diagnosis(fixing: Bool) async throws -> Diagnosis {
    let place = try CatalogPlace(settings)
    let before = try await look(at: place)
    let isWorthIt = before.findings.contains {
      $0.repair == .byFix || supply != nil && $0.isRestorable
    }
    guard fixing, isWorthIt else {
      return Diagnosis(before: before.findings, after: before, wasRead: readsObjects)
    }
    let failures = try await repair(place, before.findings)
    return Diagnosis(
      before: before.findings, after: try await look(at: place), failures: failures,
      wasRead: readsObjects)
  }

  private func look(at place: CatalogPlace) async throws(CatalogError) -> Look {
    do throws(CatalogError) {
      guard let catalog = try await place.examined() else { return ([], 0) }
      let look = try await examination(of: place, catalog).run()
      try await catalog.close()
      return look
    } catch  where error.code == .corrupt {
      return ([.damaged(error.told)], 0)
    }
  }

  private func repair(
    _ place: CatalogPlace, _ findings: [Finding]
  ) async throws(CatalogError) -> [RepairFailure] {
    guard let looking = try await place.reading() else { return [] }
    let writing = try await place.writing()
    let stores = Destinations(settings: settings, library: place.library, checkpoints: writing)
    var failures = try await ChangeSession.carryOnAll(writing, stores, events: events).map { post, failure in
      RepairFailure(subject: post.description, code: failure.code.rawValue, message: failure.text)
    }
    failures += try await LibraryRepair(
      catalog: writing, examination: examination(of: place, looking, checkpoints: writing), supply: supply,
      wanting: Set(findings.filter(\.isRestorable).map(\.subject)),
      recorders: { destination async throws(UploadError) in try await Self.recorder(destination, stores) }
    ).run()
    try await looking.close()
    try await writing.close()
    return failures
  }

  private func examination(
    of place: CatalogPlace, _ catalog: any WholeCatalog,
    checkpoints: any UploadCheckpoints = MemoryCheckpoints()
  ) -> LibraryExamination {
    let stores = Destinations(settings: settings, library: place.library, checkpoints: checkpoints)
    return LibraryExamination(catalog: catalog, grace: grace, readsObjects: readsObjects) {
      destination async throws(UploadError) in
      guard DestinationAddress.kind(ofName: destination.name)?.canBeExamined == true else { return nil }
      return try await Self.using(destination, stores) { $0.uploader as? any Uploader & StoreExamination }
    }
  }

  /// What keeps the posts of a store that is not a folder; nil for one that keeps none.
  private static func recorder(
    _ destination: Destination, _ stores: Destinations
  ) async throws(UploadError) -> (any PostRecorder)? {
    guard DestinationAddress.kind(ofName: destination.name)?.keepsPosts == true else { return nil }
    return try await using(destination, stores, stores.decoratedRecorder)
  }

  private static func using<Value>(
    _ destination: Destination, _ stores: Destinations, _ body: (Destinations.Opened) throws -> Value
  ) async throws(UploadError) -> Value {
    do {
      return try body(try await stores.open(destination))
    } catch {
      throw UploadError(.storeUnusable, CommandFailure.reason(error))
    }
  }
}
