import Glibc
import ReelCore
import ReelStorage

/// A store that was opened by its address (``AddressedStore``), and what it is on this machine.
public struct OpenedStore: Sendable {
  /// Without decorators: wrap it in ``RetryingUploader`` and ``VerifyingUploader``.
  public let uploader: any Uploader
  /// The folder that it stores in; nil for one that is none.
  public let folder: String?
  /// Whether it holds what it sends to a rate itself, or else what it reads is.
  let keepsToRate: Bool
  /// Uploads at once where nobody says how many; nil for as many as there are jobs.
  let uploadsAtOnce: Int?
  private let makeRecorder: (@Sendable () throws(UploadError) -> any PostRecorder)?

  /// - Parameter recorder: what writes posts down beside the objects; nil for a store that keeps none. Throws when a setting
  ///   is missing.
  package init(
    uploader: any Uploader, folder: String? = nil, keepsToRate: Bool = false, uploadsAtOnce: Int? = nil,
    recorder: (@Sendable () throws(UploadError) -> any PostRecorder)? = nil
  ) {
    (self.uploader, self.folder, self.keepsToRate) = (uploader, folder, keepsToRate)
    (self.uploadsAtOnce, makeRecorder) = (uploadsAtOnce, recorder)
  }

  /// What writes posts down beside the objects, retried; nil for a store that keeps none.
  /// - Throws: `storeUnusable` when a setting is missing.
  public func recorder() throws(UploadError) -> (any PostRecorder)? {
    guard let makeRecorder else { return nil }
    return RetryingRecorder(base: try makeRecorder())
  }

  /// To be called before ``Uploader/prepare()``, which makes a folder where its disk is not mounted: what is stored there
  /// would be hidden when it is again, and is found by no other machine.
  /// - Throws: ``UploadError``, `storeUnusable`, for a folder of which `catalog` has posts, and that is missing or empty;
  ///   ``CatalogError``.
  public func checkIsMounted(in catalog: any PostCatalog) async throws {
    guard let folder, !SourcePath(folder).isFolderWithEntries else { return }
    let destination = uploader.destination
    let posts = try await catalog.status().destinations.first { $0.destination == destination }?.posts ?? 0
    // Once more: those that another process has published meanwhile are there.
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
