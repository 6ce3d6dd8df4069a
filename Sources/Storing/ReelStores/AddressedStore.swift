import FoundationEssentials
import ReelCore

/// A store by its address: what `reel --to` names.
public enum AddressedStore {
  /// Opens the store at an address: a folder, `s3://bucket/prefix`, `firebase://bucket/prefix`, `tus+https://host/files/` or
  /// `command:PROGRAM` (``DestinationAddress``). What the address leaves out is taken from the environment, as the tool does
  /// without flags: AWS's variables and files, `GOOGLE_APPLICATION_CREDENTIALS`, `REEL_TUS_TOKEN`. Nothing is made, and
  /// no store is asked, before ``Uploader/prepare()``.
  ///
  /// - Parameters:
  ///   - address: as `--to` takes it.
  ///   - publicBaseURL: what stands before an object's name in the address that viewers open; nil for the store's own.
  ///   - checkpoints: what interrupted uploads go on from; the catalog is one. ``MemoryCheckpoints`` forgets them, and with
  ///     them where a tus server has its objects.
  ///   - onNotice: told, in a sentence, what the store can't promise.
  /// - Throws: ``DestinationAddressError`` for what is the address of no store; ``UploadError``, `storeUnusable`, where
  ///   credentials or something else that it needs are not there.
  public static func open(
    at address: String, publicBaseURL: String? = nil, checkpoints: any UploadCheckpoints,
    onNotice: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> OpenedStore {
    var settings = StoreSettings(jobs: max(4, ProcessInfo.processInfo.activeProcessorCount * 2))
    settings.publicBaseURL = publicBaseURL
    let variables = ProcessInfo.processInfo.environment
    let stores = Stores(
      settings, library: nil, checkpoints: checkpoints, secretsAreFor: address,
      environment: { isMeant throws(UploadError) in variables.filter { isMeant($0.key) } },
      onNotice: onNotice)
    return try await stores.open(address)
  }
}
