import ReelCore

extension SQLiteCatalog {
  /// Writes down, in one transaction, that the store `old` is at `new` from now on, with everything that is known of
  /// it. URLs of objects in a folder change with it; those that `--public-base-url` made stay.
  ///
  /// - Parameters:
  ///   - posts: how many posts of `old` were found at `new`.
  ///   - duplicates: what becomes of videos that are posts in both: `skip` refuses, `allow` keeps both posts of each.
  /// - Throws: ``CatalogError``: `locked` while somebody is storing in one of them, `unusable` when it can't be done;
  ///   nothing has changed then.
  package func relocate(
    _ old: Destination, to new: Destination, holding posts: Int, duplicates: DuplicateHandling
  ) async throws(CatalogError) {
    let writing = try writable()
    try await writing.writer.commit { [place] db in
      let steps = writing.steps
      guard let from = try DestinationTable.find(place.name(of: old), in: db) else {
        throw CatalogError(.unusable, "nothing was ever stored in \(old) from the catalog \(place.path)")
      }
      let found = try DestinationTable.find(place.name(of: new), in: db)
      for store in [from, found].compactMap(\.self) where try steps.isInUse(store, in: db) {
        throw CatalogError(
          .locked,
          "a run is storing in \(old) or \(new): wait until it has ended, then run the same command again")
      }
      guard try DestinationTable.posts(in: from, db: db) == posts else {
        throw CatalogError(
          .unusable, "something was published in \(old) meanwhile: run the same command again")
      }
      if let found, duplicates == .skip {
        let both = try DestinationTable.publicationsShared(from, found, in: db)
        guard both == 0 else {
          throw CatalogError(
            .unusable,
            "videos that are posts both in \(old) and in \(new): \(both); nothing was changed: with "
              + "--duplicates allow they keep both posts")
        }
      }
      guard try DestinationTable.rename(from, place.name(of: old), to: place.name(of: new), in: db) else {
        throw CatalogError(
          .unusable,
          "\(old) and \(new) hold objects of the same names in the catalog \(place.path), which were stored twice: "
            + "nothing was changed")
      }
    }
  }
}
