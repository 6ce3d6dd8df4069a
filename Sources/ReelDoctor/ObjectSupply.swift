import ReelModel

/// Where the bytes of objects that are gone may come from.
public protocol ObjectSupply: Sendable {
  /// Calls `take` with a source for each of `wanted` that it has the bytes of, by length and digest, and gives what
  /// it could not look at.
  func supply(
    _ wanted: [ExaminedObject], _ take: (ExaminedObject, UploadSource) async -> Void
  ) async -> [MendingFailure]
}

/// Puts the objects of posts back where there is none any more.
///
/// Nothing can be lost by it: a name that is taken is left alone, only bytes of the digest that was published are
/// stored under it, and the catalog, which says all the time that they are there, stays as it is.
struct ObjectReturn {
  let catalog: any CatalogExamination
  let store: LibraryExamination.Store
  let supply: any ObjectSupply

  /// Gives what can't be put back, and why; it is found missing again by the next look.
  /// - Throws: ``CatalogError`` when the rows can't be read.
  func run() async throws(CatalogError) -> [MendingFailure] {
    let names: Set<String>
    do throws(UploadError) {
      names = Set(try await store.names())
    } catch {
      return [MendingFailure(store.destination.name, error)]
    }
    let missing = try await missing(from: names)
    return missing.isEmpty ? [] : await putBack(missing)
  }

  private func putBack(_ missing: [ExaminedObject]) async -> [MendingFailure] {
    do throws(UploadError) {
      try await store.prepare()
    } catch {
      return [MendingFailure(store.destination.name, error)]
    }
    var failures: [MendingFailure] = []
    let unread = await supply.supply(missing) { object, source in
      do throws(UploadError) {
        _ = try await store.upload(source, to: object.key) { _ in }
      } catch {
        failures.append(MendingFailure(object.key.rawValue, error))
      }
    }
    return failures + unread
  }

  private func missing(from names: Set<String>) async throws(CatalogError) -> [ExaminedObject] {
    var missing: [ExaminedObject] = []
    var last: ObjectKey?
    while true {
      let batch = try await catalog.objects(in: store.destination, after: last, limit: 500)
      guard let end = batch.last else { return missing }
      missing += batch.filter { $0.state == .published && !names.contains($0.key.rawValue) }
      last = end.key
    }
  }
}
