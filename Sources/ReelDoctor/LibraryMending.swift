import FoundationEssentials
import ReelModel

/// Mends what an examination found, where that is certain.
public struct LibraryMending: Sendable {
  private let catalog: any CatalogMending
  private let examination: LibraryExamination
  private let supply: (any ObjectSupply)?
  private let recorders: @Sendable (Destination) async throws(UploadError) -> (any PostRecorder)?

  /// - Parameters:
  ///   - catalog: may be the one that `examination` looks at, opened for writing.
  ///   - supply: where objects that are gone are put back from; nil for nowhere.
  ///   - recorders: what writes posts down beside a store's objects; nil for a store that keeps none.
  public init(
    catalog: any CatalogMending, examination: LibraryExamination, supply: (any ObjectSupply)? = nil,
    recorders: @escaping @Sendable (Destination) async throws(UploadError) -> (any PostRecorder)? = {
      (_) async throws(UploadError) in nil
    }
  ) {
    self.recorders = recorders
    self.catalog = catalog
    self.examination = examination
    self.supply = supply
  }

  /// Mends what `--fix` may mend. What could not be mended is found again by the next look.
  /// - Throws: ``CatalogError`` when the catalog can't be written.
  public func run() async throws(CatalogError) {
    guard try await examination.catalog.damage().isEmpty else { return }
    try await catalog.releaseWhatTheDeadHold()
    for destination in try await examination.catalog.destinations() {
      guard let store = try? await examination.stores(destination) else { continue }
      try? await store.removeLeftovers()
      guard (try? await store.names()) != nil else { continue }
      try await giveStaleUp(in: destination, store)
      guard let supply else { continue }
      try await ObjectReturn(catalog: examination.catalog, store: store, supply: supply).run()
    }
  }

  private func giveStaleUp(
    in destination: Destination, _ store: LibraryExamination.Store
  ) async throws(CatalogError) {
    let staleBefore = examination.clock.now() - examination.grace.seconds
    var last: ObjectKey?
    while true {
      let batch = try await examination.catalog.objects(in: destination, after: last, limit: 500)
      guard let end = batch.last else { return }
      for object in batch where object.state == .waiting && object.changedAt < staleBefore {
        try await giveUp(object, store)
      }
      last = end.key
    }
  }

  /// The intent is ours before its post and its object go, and is given up only after: whoever dies in between leaves a row
  /// that names what may be there.
  private func giveUp(_ object: ExaminedObject, _ store: LibraryExamination.Store) async throws(CatalogError)
  {
    guard let intent = try await catalog.takeOver(object.id), intent.key == object.key else { return }
    do throws(UploadError) {
      // The post first: nobody is to be shown one whose object is gone.
      try await recorders(store.destination)?.withdraw(object.id)
      try await store.remove(object.key)
    } catch {
      // It stays ours until this process ends; then it waits again.
      return
    }
    try await catalog.giveUp(intent)
  }
}

extension Diagnosis {
  /// What two looks, before and after mending, say together.
  public init(
    before: [Finding], after: (findings: [Finding], objects: Int), wasRead: Bool
  ) {
    let left = Set(after.findings.map(\.identity))
    self.init(
      mended: before.filter { !left.contains($0.identity) }, left: after.findings, objects: after.objects,
      wasRead: wasRead)
  }
}
