import Glibc
import ReelCore
import ReelStorage

/// A store that was opened by its address (``AddressedStore``), and what is known about it on this machine.
public struct OpenedStore: Sendable {
  /// The uploader without decorators: wrap it in ``RetryingUploader`` and ``VerifyingUploader``.
  public let uploader: any Uploader
  /// The folder that it stores in; nil if it is not a folder store.
  public let folder: String?
  /// Whether the uploader itself limits the rate at which it sends. If not, the rate at which it reads is limited.
  let keepsToRate: Bool
  /// The default number of uploads at once; nil for as many as there are jobs.
  let uploadsAtOnce: Int?
  private let makeRecorder: (@Sendable () throws(UploadError) -> any PostRecorder)?

  /// - Parameter recorder: records posts beside the objects; nil for a store that keeps none. Throws if a setting
  ///   is missing.
  package init(
    uploader: any Uploader, folder: String? = nil, keepsToRate: Bool = false, uploadsAtOnce: Int? = nil,
    recorder: (@Sendable () throws(UploadError) -> any PostRecorder)? = nil
  ) {
    (self.uploader, self.folder, self.keepsToRate) = (uploader, folder, keepsToRate)
    (self.uploadsAtOnce, makeRecorder) = (uploadsAtOnce, recorder)
  }

  /// Returns what records posts beside the objects, with retries; nil for a store that keeps none.
  /// - Throws: `storeUnusable` if a setting is missing.
  public func recorder() throws(UploadError) -> (any PostRecorder)? {
    guard let makeRecorder else { return nil }
    return RetryingRecorder(base: try makeRecorder())
  }

  /// Checks that the disk of a folder store is mounted. To be called before ``Uploader/prepare()``, which would create
  /// the folder on the disk below: what is stored there is hidden once the right disk is mounted, and no other machine
  /// finds it.
  /// - Throws: ``UploadError``, `storeUnusable`, for a folder of which `catalog` has posts, and which is missing or
  ///   empty; ``CatalogError``.
  public func checkIsMounted(in catalog: any PostCatalog) async throws {
    guard let folder, !SourcePath(folder).isFolderWithEntries else { return }
    let destination = uploader.destination
    let posts = try await catalog.status().destinations.first { $0.destination == destination }?.posts ?? 0
    // Look again: another process may have published these posts, and filled the folder, in the meantime.
    if posts == 0 || SourcePath(folder).isFolderWithEntries { return }
    if access(folder, R_OK | X_OK) != 0, errno != ENOENT, errno != ENOTDIR {
      throw UploadError(
        .storeUnusable, "the store \(destination) can't be read: \(SystemError.last("access").reason)")
    }
    let held = posts == 1 ? "1 post" : "\(posts) posts"
    throw UploadError(
      .storeUnusable,
      "the store \(destination) has \(held), and its folder is missing or empty on "
        + "this machine: mount it, or name another store; if it was moved, say so: "
        + "\(command: "relocate \(destination) NEW"); if it was emptied on purpose, put any file into it")
  }
}
