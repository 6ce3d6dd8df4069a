import ReelCore
import ReelLibrary

extension VerificationView {
  /// Holds what is in the store `to` against the posts of `from`, and tells on standard output what is not as it should be.
  /// - Throws: what keeps it from being held; a document that was begun is ended.
  package mutating func hold(
    _ from: Destination, against to: Destination, in store: StoreVerification.Store,
    of catalog: any CatalogExamination, readingObjects: Bool
  ) async throws {
    let verification = StoreVerification(catalog: catalog, readsObjects: readingObjects) {
      _ async throws(UploadError) in store
    }
    var view = self
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
            let said = VerifiedObject(verified.object, in: to, verdict: verified.verdict)
            try OutputStream.standardOutput.write(try view.text(.verified(said)))
          } catch {
            problem = error
            // Nobody reads any more: there is no use in going on, and nothing comes after.
            withUnsafeCurrentTask { $0?.cancel() }
          }
        }
      }
    } catch {
      problem = problem ?? error
    }
    if let problem {
      if view.isBegun { try? OutputStream.standardOutput.write(try view.end(isWhole: false, changed: false)) }
      throw problem
    }
    self = view
  }
}
