import FoundationEssentials
import ReelCore

/// Repairs those findings of an examination that can be repaired with certainty.
package struct LibraryRepair: Sendable {
  private let catalog: any CatalogRepair
  private let examination: LibraryExamination
  private let supply: (any RestoreSource)?
  private let wanting: Set<String>
  private let recorders: @Sendable (Destination) async throws(UploadError) -> (any PostRecorder)?

  /// - Parameters:
  ///   - catalog: may be the one that `examination` looks at, opened for writing.
  ///   - supply: the source of missing or damaged objects; nil if there is none.
  ///   - wanting: the names of objects that an examination found missing, or different from what their posts say.
  ///   - recorders: returns what keeps the posts of a store beside its objects; nil for a store that keeps none.
  package init(
    catalog: any CatalogRepair, examination: LibraryExamination, supply: (any RestoreSource)? = nil,
    wanting: Set<String> = [],
    recorders: @escaping @Sendable (Destination) async throws(UploadError) -> (any PostRecorder)? = {
      (_) async throws(UploadError) in nil
    }
  ) {
    self.recorders = recorders
    self.catalog = catalog
    self.examination = examination
    self.supply = supply
    self.wanting = wanting
  }

  /// Repairs what `--fix` may repair, and returns what it could not. The next examination finds that again.
  /// - Throws: ``CatalogError`` if the catalog can't be written.
  package func run() async throws(CatalogError) -> [RepairFailure] {
    guard try await examination.catalog.damage().isEmpty else { return [] }
    try await catalog.releaseWhatTheDeadHold()
    var failures: [RepairFailure] = []
    for destination in try await examination.catalog.destinations() {
      failures += try await repair(destination)
    }
    return failures
  }

  private func repair(_ destination: Destination) async throws(CatalogError) -> [RepairFailure] {
    let store: LibraryExamination.Store
    do throws(UploadError) {
      // A store of a kind that can't be listed is reported by the examination.
      guard let opened = try await examination.stores(destination) else { return [] }
      store = opened
      try await store.removeLeftovers()
      var parts = StoreParts(store)
      _ = try await parts.next()
    } catch {
      return [RepairFailure(destination.name, error)]
    }
    var failures = try await giveStaleUp(in: destination, store)
    failures += try await removeGivenUp(in: destination, store)
    failures += try await removeUnneeded(in: destination, store)
    if let supply {
      failures += try await ObjectReturn(
        catalog: examination.catalog, store: store, supply: supply, wanting: wanting
      ).run()
    }
    return failures
  }

  private func giveStaleUp(
    in destination: Destination, _ store: LibraryExamination.Store
  ) async throws(CatalogError) -> [RepairFailure] {
    try await eachOld(.waiting, in: destination) { object throws(CatalogError) in
      try await giveUp(object, store)
    }
  }

  /// Removes posters that no post shows, including those of intents that were just given up.
  private func removeUnneeded(
    in destination: Destination, _ store: LibraryExamination.Store
  ) async throws(CatalogError) -> [RepairFailure] {
    try await eachOld(.unneeded, in: destination) { poster throws(CatalogError) in
      try await remove(poster, store)
    }
  }

  private func remove(
    _ poster: ExaminedObject, _ store: LibraryExamination.Store
  ) async throws(CatalogError) -> RepairFailure? {
    // From here on, no post can come to show it.
    guard try await catalog.giveUpPoster(poster.key, in: store.destination) else { return nil }
    do throws(UploadError) {
      // An attempt that had lost its lease may have written the poster into the store's database.
      if try await recorders(store.destination)?.find(poster.id)?.poster == poster.key {
        throw UploadError(.conflict, "the store's database shows it for post \(poster.id): it stays")
      }
      // Another object may have the name, which the examination reports.
      if try await Self.holds(poster, store) { try await store.remove(poster.key) }
      return nil
    } catch {
      return RepairFailure(poster.key.rawValue, error)
    }
  }

  /// Calls `repair` for each object in that state whose row has not changed for the grace period.
  private func eachOld(
    _ state: ExaminedObject.State, in destination: Destination,
    _ repair: (ExaminedObject) async throws(CatalogError) -> RepairFailure?
  ) async throws(CatalogError) -> [RepairFailure] {
    let staleBefore = examination.clock.now() - examination.grace.seconds
    var failures: [RepairFailure] = []
    var pages = ExaminedPages(catalog: examination.catalog, destination: destination)
    while let page = try await pages.next() {
      for object in page where object.state == state && object.changedAt < staleBefore {
        if let failure = try await repair(object) { failures.append(failure) }
      }
    }
    return failures
  }

  /// First gives the name up, so that no process can publish under it, however long this one is stopped meanwhile. Only
  /// then removes the post and the object. If this process dies in between, the row still names what may be there, and
  /// the same command removes that.
  private func giveUp(
    _ object: ExaminedObject, _ store: LibraryExamination.Store
  ) async throws(CatalogError) -> RepairFailure? {
    guard try await catalog.giveUp(object.id) else { return nil }
    do throws(UploadError) {
      // The post goes first, so that no viewer is shown one whose object is gone.
      try await recorders(store.destination)?.withdraw(object.id)
      try await store.remove(object.key)
      return nil
    } catch {
      return RepairFailure(object.key.rawValue, error)
    }
  }

  /// Removes what was left by a process that gave a name up or removed a post, or what somebody has put back. Another
  /// object may have the name, which the examination reports.
  private func removeGivenUp(
    in destination: Destination, _ store: LibraryExamination.Store
  ) async throws(CatalogError) -> [RepairFailure] {
    var failures: [RepairFailure] = []
    var pages = ExaminedPages(catalog: examination.catalog, destination: destination)
    while let page = try await pages.next() {
      for object in page where object.state == .givenUp || object.state == .removed {
        do {
          let recorder = try await recorders(store.destination)
          if object.state == .removed {
            let isShown = try await recorder?.find(object.id) != nil
            let isStored = try await Self.holds(object, store)
            if !isShown, !isStored { continue }
            Failpoint.changeRemovedFound.pass()
            try await purge(object, store, recorder)
          } else {
            try await recorder?.withdraw(object.id)
            if try await Self.holds(object, store) { try await store.remove(object.key) }
          }
        } catch let error as UploadError {
          failures.append(RepairFailure(object.key.rawValue, error))
        } catch {
          throw error as? CatalogError ?? CatalogError(.unusable, "\(error)")
        }
      }
    }
    return failures
  }

  /// Purges it as a change of its post, because somebody may be about to restore the post.
  private func purge(
    _ object: ExaminedObject, _ store: LibraryExamination.Store, _ recorder: (any PostRecorder)?
  ) async throws {
    guard let catalog = catalog as? any PostChanging else { return }
    let threads = BlockingQueue(label: "reel.repair", width: 1)
    let answer = try await threads.run { () throws(CatalogError) in
      try catalog.begin([PostChange(object.id, .purge)]).first
    }
    guard case .begun(let open)? = answer else { return }
    do {
      let isStored = try await Self.holds(object, store)
      // Each request takes time, in which others may have restored the post.
      func isHeld() async throws(CatalogError) -> Bool {
        try await threads.run { () throws(CatalogError) in try catalog.areHeld([open]) == [true] }
      }
      guard try await isHeld() else { return }
      try await recorder?.withdraw(object.id)
      guard try await isHeld() else { return }
      if isStored { try await store.remove(object.key) }
    } catch {
      try await threads.run { () throws(CatalogError) in try catalog.release([open]) }
      throw error
    }
    try await threads.run { () throws(CatalogError) in
      _ = try catalog.finish([open])
      try catalog.strikeOut([open])
    }
  }

  /// Whether `object` is stored with the length and digest that its row states.
  private static func holds(
    _ object: ExaminedObject, _ store: LibraryExamination.Store
  ) async throws(UploadError) -> Bool {
    guard try await store.find(object.key)?.size == object.size else { return false }
    return try await store.readBack(object.key) == object.digest
  }
}

extension Diagnosis {
  /// Combines two examinations, before and after repair.
  package init(
    before: [Finding], after: (findings: [Finding], objects: Int), failures: [RepairFailure] = [],
    wasRead: Bool
  ) {
    let left = Set(after.findings.map(\.identity))
    self.init(
      repaired: before.filter { !left.contains($0.identity) }, left: after.findings, failures: failures,
      objects: after.objects, wasRead: wasRead)
  }
}

/// Something that repair tried and could not do.
package struct RepairFailure: Hashable, Sendable, Encodable {
  /// The name of the object, the store or the file.
  package let subject: String
  /// The error's code, for programs.
  package let code: String
  package let message: ErrorMessage

  package init(subject: String, code: String, message: ErrorMessage) {
    (self.subject, self.code, self.message) = (subject, code, message)
  }

  init(_ subject: String, _ error: UploadError) {
    self.init(subject: subject, code: error.code.rawValue, message: error.text)
  }

  /// Returns the same failure, worded by `wording`.
  package func worded(_ wording: (ErrorMessage) -> String) -> RepairFailure {
    RepairFailure(subject: subject, code: code, message: ErrorMessage(wording(message)))
  }
}

/// A source of the bytes of objects that are missing or damaged.
package protocol RestoreSource: Sendable {
  /// Calls `take` with a source for each of `wanted` whose bytes it has, by length and
  /// digest. Returns what it could not look at.
  func supply(
    _ wanted: [ExaminedObject], _ take: (ExaminedObject, UploadSource) async -> Void
  ) async -> [RepairFailure]
}

/// Puts missing or damaged objects of posts back.
///
/// Under a name, only bytes of the published digest are stored. An object that has the name is left alone, unless it is
/// proved, right before, to be something else; then it is replaced in one step. As nothing is removed, a process that
/// is stopped in between, for however long, merely stores again what others have put back meanwhile. The catalog, which
/// always says that the objects are there, stays as it is.
struct ObjectReturn {
  let catalog: any CatalogExamination
  let store: LibraryExamination.Store
  let supply: any RestoreSource
  /// The names of objects that an examination found missing or damaged.
  let wanting: Set<String>

  /// Returns what can't be put back, and why. The next examination finds that again.
  /// - Throws: ``CatalogError`` if the rows can't be read.
  func run() async throws(CatalogError) -> [RepairFailure] {
    var wanted: [ExaminedObject] = []
    var pages = ExaminedPages(catalog: catalog, destination: store.destination)
    while !wanting.isEmpty, let page = try await pages.next() {
      wanted += page.filter { $0.state == .published && wanting.contains($0.key.rawValue) }
    }
    return wanted.isEmpty ? [] : await putBack(wanted)
  }

  private func putBack(_ wanted: [ExaminedObject]) async -> [RepairFailure] {
    do throws(UploadError) {
      try await store.prepare()
    } catch {
      return [RepairFailure(store.destination.name, error)]
    }
    var failures: [RepairFailure] = []
    let unread = await supply.supply(wanted) { object, source in
      let source = source.intended
      do throws(UploadError) {
        if try await store.find(object.key) == nil {
          _ = try await store.upload(source, to: object.key) { _ in }
        } else {
          try await replace(object, with: source)
        }
      } catch {
        failures.append(RepairFailure(object.key.rawValue, error))
      }
    }
    return failures + unread
  }

  private func replace(_ object: ExaminedObject, with source: UploadSource) async throws(UploadError) {
    guard let store = store as? any DamagedObjectReplacing else {
      throw UploadError(
        .rejected,
        "\(store.destination) can't replace \(object.key) in one step: replace it with the store's own tools")
    }
    _ = try await store.replaceDamaged(object.key, with: source)
  }
}
