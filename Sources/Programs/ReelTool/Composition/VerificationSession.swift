import ReelCore
import ReelLibrary
import ReelProcess
import ReelStores
import ReelTerminal
import ReelUpkeep

/// What `reel verify` works with, put together from the settings.
struct VerificationSession: Sendable {
  let settings: Settings
  /// `--to`; nil for every store that the catalog names.
  let to: String?
  let readsObjects: Bool
  let width: Int
  let json: Bool

  /// Verifies, and reports as it goes.
  /// - Throws: ``CommandFailure`` when there is nothing that could be looked at.
  func run() async throws -> ReelExit {
    let place = try CatalogPlace(settings)
    let catalog = try await place.examined()
    guard let catalog else { return try nothing(place.name) }
    let stores = Stores(settings, library: place.library, checkpoints: catalog, secretsAreFor: to)
    let exit: ReelExit
    do {
      exit = try await verify(catalog, stores, place.name)
    } catch {
      try? await catalog.close()
      throw error
    }
    try await catalog.close()
    return exit
  }

  private func verify(
    _ catalog: any WholeCatalog, _ stores: Stores, _ path: String
  ) async throws -> ReelExit {
    let destinations = try await stores.known(to, in: catalog)
    let verification = StoreVerification(catalog: catalog, width: width, readsObjects: readsObjects) {
      destination async throws(UploadError) in
      try await stores.verified(destination)
    }
    let printer = VerificationPrinter(
      VerificationView(
        library: path, wasRead: readsObjects, json: json, traits: TerminalTraits.standardOutput(),
        hint: .ofThisProcess), wording: { FlagNames.put(into: $0) })
    let interruption = RunSignals()
    let looking = Task { () -> Result<Void, CatalogError> in
      do throws(CatalogError) {
        return .success(try await verification.run(destinations) { await printer.tell($0) })
      } catch {
        return .failure(error)
      }
    }
    await printer.whenClosed { looking.cancel() }
    let (result, wasInterrupted) = await interruption.cancelling(looking)
    if case .failure(let error) = result, !wasInterrupted, error.code != .cancelled {
      // A JSON document that was begun must be completed.
      try await printer.giveUp()
      throw error
    }
    let count = try await printer.end(isWhole: !wasInterrupted)
    return wasInterrupted ? .interrupted : ReelExit(count)
  }

  /// Reports an empty verification: a library without a catalog has no posts.
  private func nothing(_ path: String) throws -> ReelExit {
    let view = VerificationView(
      library: path, wasRead: readsObjects, json: json, traits: TerminalTraits.standardOutput())
    try OutputStream.standardOutput.write(try view.end(isWhole: true))
    return .done
  }
}

extension ReelExit {
  /// The exit code of a verification.
  init(_ count: VerificationCount) {
    if count.damaged + count.unknown > 0 {
      self = .someFailed
    } else {
      self = count.unreachable + count.notLookedAt > 0 ? .couldNotRun : .done
    }
  }
}
