import Reel

/// Where the videos of a server go.
enum ServerStore {
  /// - Parameters:
  ///   - to: an address as for `reel --to`; nil for the library's own folder.
  ///   - onNotice: called with what the store can't promise.
  /// - Throws: a sentence for the user who starts the server.
  static func open(
    _ to: String?, _ library: LibraryFolder, _ catalog: any PostCatalog, publicBaseURL: String?,
    onNotice: @escaping @Sendable (String) -> Void
  ) async throws -> any Uploader {
    guard let to else {
      return FolderUploader(
        root: library.mediaPath, temporaries: library.temporaryPath, publicBaseURL: publicBaseURL,
        onNotice: onNotice)
    }
    switch try DestinationAddress(parsing: to) {
    case .folder, .s3: break
    case .command, .firebase, .tus:
      throw StartFailure("a server stores in a folder or in a bucket (s3://…), not yet in \(to)")
    }
    // Neither kind of store resumes what an earlier process began, so checkpoints need not last.
    let store = try await AddressedStore.open(
      at: to, publicBaseURL: publicBaseURL, checkpoints: MemoryCheckpoints(), onNotice: onNotice)
    try await store.checkIsMounted(in: catalog)
    return store.uploader
  }
}
