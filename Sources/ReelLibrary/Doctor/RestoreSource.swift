import ReelCore

/// Where the bytes of objects that are gone or damaged may come from.
package protocol RestoreSource: Sendable {
  /// Calls `take` with a source for each of `wanted` that it has the bytes of, by length and digest, and gives what
  /// it could not look at.
  func supply(
    _ wanted: [ExaminedObject], _ take: (ExaminedObject, UploadSource) async -> Void
  ) async -> [RepairFailure]
}

/// Puts the objects of posts back where there is none any more, or a damaged one.
///
/// Only bytes of the digest that was published are stored under a name. What has the name is left alone, unless it is
/// proved, right before, to be something else. The catalog, which says all the time that they are there, stays as it is.
struct ObjectReturn {
  let catalog: any CatalogExamination
  let store: LibraryExamination.Store
  let supply: any RestoreSource
  /// Names of objects that a look found damaged.
  let damaged: Set<String>

  /// Gives what can't be put back, and why; it is found again by the next look.
  /// - Throws: ``CatalogError`` when the rows can't be read.
  func run() async throws(CatalogError) -> [RepairFailure] {
    let names: Set<String>
    do throws(UploadError) {
      names = Set(try await store.names())
    } catch {
      return [RepairFailure(store.destination.name, error)]
    }
    let wanted = try await wanted(from: names)
    return wanted.isEmpty ? [] : await putBack(wanted, names)
  }

  private func putBack(_ wanted: [ExaminedObject], _ names: Set<String>) async -> [RepairFailure] {
    do throws(UploadError) {
      try await store.prepare()
    } catch {
      return [RepairFailure(store.destination.name, error)]
    }
    var failures: [RepairFailure] = []
    let unread = await supply.supply(wanted) { object, source in
      do throws(UploadError) {
        if names.contains(object.key.rawValue) {
          try await replace(object, with: source)
        } else {
          _ = try await store.upload(source, to: object.key) { _ in }
        }
      } catch {
        failures.append(RepairFailure(object.key.rawValue, error))
      }
    }
    return failures + unread
  }

  private func replace(_ object: ExaminedObject, with source: UploadSource) async throws(UploadError) {
    if let store = store as? any DamagedObjectReplacing {
      _ = try await store.replaceDamaged(object.key, with: source)
      return
    }
    // In two steps: whoever dies between them leaves an object that is missing, which the same command puts back.
    guard let found = try await store.find(object.key) else {
      throw UploadError(
        .conflict, "\(object.key) is not in \(store.destination) any more: run the same command again")
    }
    if found.size == object.size, try await store.readBack(object.key) == object.digest { return }
    try await store.remove(object.key)
    _ = try await store.upload(source, to: object.key) { _ in }
  }

  private func wanted(from names: Set<String>) async throws(CatalogError) -> [ExaminedObject] {
    var wanted: [ExaminedObject] = []
    var last: ObjectKey?
    while true {
      let batch = try await catalog.objects(in: store.destination, after: last, limit: 500)
      guard let end = batch.last else { return wanted }
      wanted += batch.filter { object in
        let key = object.key.rawValue
        return object.state == .published && (!names.contains(key) || damaged.contains(key))
      }
      last = end.key
    }
  }
}
