import ReelModel

/// Where the bytes of objects that are gone may come from.
public protocol ObjectSupply: Sendable {
  /// Calls `take` with a source for each of `wanted` that it has the bytes of, by length and digest.
  func supply(_ wanted: [ExaminedObject], _ take: (ExaminedObject, UploadSource) async -> Void) async
}

/// Puts the objects of posts back where there is none any more.
///
/// Nothing can be lost by it: a name that is taken is left alone, only bytes of the digest that was published are
/// stored under it, and the catalog, which says all the time that they are there, stays as it is.
struct ObjectReturn {
  let catalog: any CatalogExamination
  let store: LibraryExamination.Store
  let supply: any ObjectSupply

  /// What can't be put back is found missing again by the next look.
  /// - Throws: ``CatalogError`` when the rows can't be read.
  func run() async throws(CatalogError) {
    let missing = try await missing()
    guard !missing.isEmpty, (try? await store.prepare()) != nil else { return }
    await supply.supply(missing) { object, source in
      _ = try? await store.upload(source, to: object.key) { _ in }
    }
  }

  private func missing() async throws(CatalogError) -> [ExaminedObject] {
    guard let names = (try? await store.names()).map({ Set($0) }) else { return [] }
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
