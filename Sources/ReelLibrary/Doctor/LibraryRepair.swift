import FoundationEssentials
import ReelCore

/// Mends what an examination found, where that is certain.
package struct LibraryRepair: Sendable {
  private let catalog: any CatalogRepair
  private let examination: LibraryExamination
  private let supply: (any RestoreSource)?
  private let damaged: Set<String>
  private let recorders: @Sendable (Destination) async throws(UploadError) -> (any PostRecorder)?

  /// - Parameters:
  ///   - catalog: may be the one that `examination` looks at, opened for writing.
  ///   - supply: where objects that are gone or damaged are put back from; nil for nowhere.
  ///   - damaged: the names of objects that a look found to be other than their posts say.
  ///   - recorders: what writes posts down beside a store's objects; nil for a store that keeps none.
  package init(
    catalog: any CatalogRepair, examination: LibraryExamination, supply: (any RestoreSource)? = nil,
    damaged: Set<String> = [],
    recorders: @escaping @Sendable (Destination) async throws(UploadError) -> (any PostRecorder)? = {
      (_) async throws(UploadError) in nil
    }
  ) {
    self.recorders = recorders
    self.catalog = catalog
    self.examination = examination
    self.supply = supply
    self.damaged = damaged
  }

  /// Mends what `--fix` may mend, and gives what it could not: that is found again by the next look, too.
  /// - Throws: ``CatalogError`` when the catalog can't be written.
  package func run() async throws(CatalogError) -> [RepairFailure] {
    guard try await examination.catalog.damage().isEmpty else { return [] }
    try await catalog.releaseWhatTheDeadHold()
    var failures: [RepairFailure] = []
    for destination in try await examination.catalog.destinations() {
      failures += try await mend(destination)
    }
    return failures
  }

  private func mend(_ destination: Destination) async throws(CatalogError) -> [RepairFailure] {
    let store: LibraryExamination.Store
    do throws(UploadError) {
      // One that can't be looked at by its kind is told by the look.
      guard let opened = try await examination.stores(destination) else { return [] }
      store = opened
      try await store.removeLeftovers()
      _ = try await store.names()
    } catch {
      return [RepairFailure(destination.name, error)]
    }
    var failures = try await giveStaleUp(in: destination, store)
    if let supply {
      failures += try await ObjectReturn(
        catalog: examination.catalog, store: store, supply: supply, damaged: damaged
      ).run()
    }
    return failures
  }

  private func giveStaleUp(
    in destination: Destination, _ store: LibraryExamination.Store
  ) async throws(CatalogError) -> [RepairFailure] {
    let staleBefore = examination.clock.now() - examination.grace.seconds
    var failures: [RepairFailure] = []
    var last: ObjectKey?
    while true {
      let batch = try await examination.catalog.objects(in: destination, after: last, limit: 500)
      guard let end = batch.last else { return failures }
      for object in batch where object.state == .waiting && object.changedAt < staleBefore {
        if let failure = try await giveUp(object, store) { failures.append(failure) }
      }
      last = end.key
    }
  }

  /// The intent is ours before its post and its object go, and is given up only after: whoever dies in between leaves a row
  /// that names what may be there.
  private func giveUp(
    _ object: ExaminedObject, _ store: LibraryExamination.Store
  ) async throws(CatalogError) -> RepairFailure? {
    guard let intent = try await catalog.takeOver(object.id), intent.key == object.key else { return nil }
    // Whoever was stopped for longer than a lease (a suspended job, a sleeping laptop) may find it published.
    guard try await catalog.holds(intent) else { return nil }
    do throws(UploadError) {
      // The post first: nobody is to be shown one whose object is gone.
      try await recorders(store.destination)?.withdraw(object.id)
    } catch {
      // It stays ours until this process ends; then it waits again.
      return RepairFailure(object.key.rawValue, error)
    }
    // Withdrawing may have taken its time.
    guard try await catalog.holds(intent) else { return nil }
    do throws(UploadError) {
      try await store.remove(object.key)
    } catch {
      return RepairFailure(object.key.rawValue, error)
    }
    try await catalog.giveUp(intent)
    return nil
  }
}

extension Diagnosis {
  /// What two looks, before and after mending, say together.
  package init(
    before: [Finding], after: (findings: [Finding], objects: Int), failures: [RepairFailure] = [],
    wasRead: Bool
  ) {
    let left = Set(after.findings.map(\.identity))
    self.init(
      mended: before.filter { !left.contains($0.identity) }, left: after.findings, failures: failures,
      objects: after.objects, wasRead: wasRead)
  }
}
