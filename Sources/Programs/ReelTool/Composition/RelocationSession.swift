import FoundationEssentials
import ReelCore
import ReelLibrary
import ReelStorage
import ReelTerminal

/// What `reel relocate` works with, put together from the settings.
struct RelocationSession: Sendable {
  let settings: Settings
  let old: String
  let new: String
  let readsObjects: Bool
  let duplicates: DuplicateHandling
  let json: Bool

  /// Looks for every object first; only then the catalog is changed, in one transaction.
  /// - Throws: ``CommandFailure`` when it can't be done; the catalog is as it was then.
  func run() async throws -> ReelExit {
    let place = try CatalogPlace(settings)
    guard let reading = try await place.reading() else { throw CatalogError(.unusable, place.absence) }
    let stores = Destinations(settings: settings, library: place.library, checkpoints: reading)
    let known = try await reading.destinations()
    let from = try await destination(known, stores)
    // What can't be parsed is told by opening it.
    if let here = DestinationAddress.kind(ofName: from.name),
      let there = DestinationAddress.kind(ofName: new), here != there
    {
      throw CommandFailure(
        .couldNotRun, "\(from) and \(new) are stores of different kinds: name a place of the same kind")
    }
    let target = try await stores.open(new)
    let to = target.uploader.destination
    guard from != to else {
      throw CommandFailure(.couldNotRun, "\(old) and \(new) are the same store, \(to)")
    }
    let store = StoreVerification.Store(
      RetryingUploader(base: target.uploader), recorder: try stores.decoratedRecorder(target))
    var view = VerificationView(
      library: place.name, wasRead: readsObjects, json: json, traits: TerminalTraits.standardOutput(),
      hint: .ofThisProcess)
    try await view.hold(from, against: to, in: store, of: reading, readingObjects: readsObjects)
    let count = view.count
    try await reading.close()
    guard count.objects == count.sound else {
      try write("nothing was changed: not every object of \(from) is in \(to)", view, changed: false)
      return ReelExit(count)
    }
    let catalog = try await place.writing()
    do throws(CatalogError) {
      try await catalog.relocate(from, to: to, holding: count.objects, duplicates: duplicates)
      try await catalog.close()
    } catch {
      try? await catalog.close()
      throw error
    }
    try write(
      "\(HumanNumber.count(count.objects, "object", "objects")) of \(from): now in \(to)", view, changed: true
    )
    return .done
  }

  private func destination(_ known: [Destination], _ stores: Destinations) async throws -> Destination {
    // A link to where it is now may have been left behind: the folder's path as it is written.
    let written = URL(filePath: old, directoryHint: .notDirectory).absoluteString
    if !known.contains(Destination(old)), known.contains(Destination(written)) { return Destination(written) }
    return try await stores.known(old, among: known)
  }

  private func write(_ sentence: String, _ view: VerificationView, changed: Bool) throws {
    let output = OutputStream.standardOutput
    if json {
      try output.write(view.end(isWhole: true, changed: changed))
    } else {
      try output.tell([sentence])
    }
  }
}
