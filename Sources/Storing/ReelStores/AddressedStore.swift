import FoundationEssentials
import ReelCore

/// Opens a store by its address, as `reel --to` names it.
public enum AddressedStore {
  /// Opens the store at an address: a folder, `s3://bucket/prefix`, `firebase://bucket/prefix`,
  /// `tus+https://host/files/` or `command:PROGRAM` (``DestinationAddress``). What the address leaves out is taken from
  /// the environment, as by the tool without flags: AWS's variables and files, `GOOGLE_APPLICATION_CREDENTIALS`,
  /// `REEL_TUS_TOKEN`. Nothing is created, and no store is contacted, before ``Uploader/prepare()``.
  ///
  /// - Parameters:
  ///   - address: an address, as `--to` takes it.
  ///   - publicBaseURL: the prefix of an object's name in the address that viewers open; nil for the store's own.
  ///   - checkpoints: the state from which interrupted uploads are resumed; the catalog is one. ``MemoryCheckpoints``
  ///     forgets it, and with it where a tus server has its objects.
  ///   - onNotice: called with a sentence about what the store can't promise.
  /// - Throws: ``DestinationAddressError`` if the address names no store; ``UploadError``, `storeUnusable`, if
  ///   credentials or something else that the store needs are missing.
  public static func open(
    at address: String, publicBaseURL: String? = nil, checkpoints: any UploadCheckpoints,
    onNotice: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> OpenedStore {
    var settings = StoreSettings(jobs: max(4, Processors.available * 2))
    settings.publicBaseURL = publicBaseURL
    let variables = ProcessInfo.processInfo.environment
    let stores = Stores(
      settings, library: nil, checkpoints: checkpoints, secretsAreFor: address,
      environment: { isMeant throws(UploadError) in variables.filter { isMeant($0.key) } },
      onNotice: onNotice)
    return try await stores.open(address)
  }
}
