import ReelCore
import ReelStores
import ReelTerminal
import ReelUpkeep

/// What `reel relocate` works with, put together from the settings.
struct RelocationSession: Sendable {
  let settings: Settings
  let old: String
  let new: String
  let readsObjects: Bool
  let duplicates: DuplicateHandling
  let json: Bool

  /// - Throws: ``CommandFailure`` when it can't be done; the catalog is unchanged then.
  func run() async throws -> ReelExit {
    let place = try CatalogPlace(settings)
    guard let reading = try await place.reading() else { throw CatalogError(.unusable, place.absence) }
    let relocation = try await StoreRelocation(
      of: old, to: new, in: Stores(settings, library: place.library, checkpoints: reading),
      known: try await reading.destinations())
    var view = VerificationView(
      library: place.name, wasRead: readsObjects, json: json, traits: TerminalTraits.standardOutput(),
      hint: .ofThisProcess)
    let output = OutputStream.standardOutput
    do {
      try await relocation.look(reading, readingObjects: readsObjects) { object in
        try output.write(try view.text(.verified(object)))
      }
    } catch {
      // A JSON document that was begun must be completed.
      if view.isBegun { try? output.write(try view.end(isWhole: false, changed: false)) }
      throw error
    }
    let count = view.count
    try await reading.close()
    guard count.objects == count.sound else {
      let sentence = "nothing was changed: not every object of \(relocation.from) is in \(relocation.to)"
      try write(sentence, view, changed: false)
      return ReelExit(count)
    }
    let catalog = try await place.writing()
    do throws(CatalogError) {
      try await relocation.record(in: catalog, holding: count.objects, duplicates: duplicates)
      try await catalog.close()
    } catch {
      try? await catalog.close()
      throw error
    }
    let objects = HumanNumber.count(count.objects, "object", "objects")
    try write("\(objects) of \(relocation.from): now in \(relocation.to)", view, changed: true)
    return .done
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
