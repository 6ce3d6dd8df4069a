import ReelCore
import ReelIngest
import ReelLibrary
import ReelStores
import Synchronization

/// Examines a library and its stores; on request it repairs them, and examines them again.
package struct LibraryCheckup: Sendable {
  private let stores: Stores
  private let grace: Duration
  private let readsObjects: Bool
  private let supply: FileRestoreSource?
  private let examined: @Sendable () async throws(CatalogError) -> (any WholeCatalog)?
  private let writing: @Sendable () async throws(CatalogError) -> any WholeCatalog
  private let notice: @Sendable (PostID, ObjectRemoval) -> Void
  private let tell: @Sendable ([IngestEvent.Body]) async throws -> Void

  private typealias Look = (findings: [Finding], objects: Int)

  /// - Parameters:
  ///   - grace: how long what no process works on is left alone.
  ///   - supply: the source of missing or damaged objects.
  ///   - examined: opens the catalog for an examination; nil if there is none yet.
  ///   - writing: opens it for repair.
  ///   - notice: told what a store keeps of an object that was removed.
  ///   - tell: told of changes that are resumed.
  package init(
    _ stores: Stores, grace: Duration, readsObjects: Bool, supply: FileRestoreSource?,
    examined: @escaping @Sendable () async throws(CatalogError) -> (any WholeCatalog)?,
    writing: @escaping @Sendable () async throws(CatalogError) -> any WholeCatalog,
    notice: @escaping @Sendable (PostID, ObjectRemoval) -> Void,
    tell: @escaping @Sendable ([IngestEvent.Body]) async throws -> Void
  ) {
    (self.stores, self.grace, self.readsObjects, self.supply) = (stores, grace, readsObjects, supply)
    (self.examined, self.writing, self.notice, self.tell) = (examined, writing, notice, tell)
  }

  /// Examines and, if `fixing`, repairs and examines again.
  /// - Throws: ``CatalogError`` if there is nothing that could be examined.
  package func diagnosis(fixing: Bool) async throws(CatalogError) -> Diagnosis {
    let before = try await look()
    let isWorthIt = before.findings.contains {
      $0.repair == .byFix || supply != nil && $0.isRestorable
    }
    guard fixing, isWorthIt else {
      return Diagnosis(before: before.findings, after: before, wasRead: readsObjects)
    }
    let failures = try await repair(before.findings)
    return Diagnosis(
      before: before.findings, after: try await look(), failures: failures, wasRead: readsObjects)
  }

  private func look() async throws(CatalogError) -> Look {
    do throws(CatalogError) {
      guard let catalog = try await examined() else { return ([], 0) }
      let look = try await examination(of: catalog, stores).run()
      try await catalog.close()
      return look
    } catch  where error.code == .corrupt {
      return ([.damaged(error.text)], 0)
    }
  }

  private func repair(_ findings: [Finding]) async throws(CatalogError) -> [RepairFailure] {
    guard let looking = try await examined() else { return [] }
    let catalog = try await writing()
    var stores = stores
    stores.checkpoints = catalog
    var failures = try await carryOn(catalog, stores)
    failures += try await LibraryRepair(
      catalog: catalog, examination: examination(of: looking, stores), supply: supply,
      wanting: Set(findings.filter(\.isRestorable).map(\.subject)),
      recorders: { [stores] destination async throws(UploadError) in
        try await stores.recorder(of: destination)
      }
    ).run()
    try await looking.close()
    try await catalog.close()
    return failures
  }

  private func examination(of catalog: any WholeCatalog, _ stores: Stores) -> LibraryExamination {
    LibraryExamination(catalog: catalog, grace: grace, readsObjects: readsObjects) {
      destination async throws(UploadError) in
      try await stores.examined(destination)
    }
  }

  /// Resumes changes that dead processes left, and returns those that can't be resumed.
  private func carryOn(
    _ catalog: any WholeCatalog, _ stores: Stores
  ) async throws(CatalogError) -> [RepairFailure] {
    let failures = Mutex<[RepairFailure]>([])
    do {
      try await stores.changes(of: catalog, notice: notice, tell: tell).resumeAll { post, outcome in
        guard case .failed(let failure) = outcome else { return }
        failures.withLock {
          $0.append(
            RepairFailure(
              subject: post.description, code: failure.code.rawValue, message: failure.text))
        }
      }
      return failures.withLock { $0 }
    } catch let error as CatalogError {
      throw error
    } catch {
      throw CatalogError(.unusable, "\(error)")
    }
  }
}
