import ReelCore

extension FolderUploader: DamagedObjectReplacing {
  /// Copies `source` beside the folder's objects and syncs it, as an upload does; then it is renamed over the damaged
  /// one, whose bytes are gone with that, and the folder is synced.
  package func replaceDamaged(
    _ key: ObjectKey, with source: UploadSource
  ) async throws(UploadError) -> Bool {
    guard try await isDamaged(key, source) else { return false }
    try await replace(key, with: source)
    return true
  }

  private func isDamaged(_ key: ObjectKey, _ source: UploadSource) async throws(UploadError) -> Bool {
    guard let found = try await find(key) else {
      throw UploadError(
        .conflict, "\(key) is not in the store \(rootPath) any more: run the same command again")
    }
    if found.size != source.size { return true }
    return try await readBack(key) != source.digest
  }
}
