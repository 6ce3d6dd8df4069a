import FoundationEssentials
import Glibc
import ReelCore
import ReelLibrary
import ReelStorage
import ReelTesting

@testable import ReelIngest

extension PostChanges {
  static func between(
    _ stores: [NamedStore], _ catalog: MemoryCatalog, recorders: [Destination: any PostRecorder] = [:],
    supply: Supply? = nil, tell: @escaping @Sendable ([IngestEvent.Body]) -> Void = { _ in }
  ) -> PostChanges {
    PostChanges(
      catalog: catalog, supply: supply,
      open: { destination throws(UploadError) in
        guard let store = stores.first(where: { $0.destination == destination }) else {
          throw UploadError(.storeUnusable, "no such store (a test)")
        }
        return Store(uploader: store, recorder: recorders[destination], reader: store)
      },
      tell: tell)
  }
}

extension ClipFolder {
  func publish(_ name: String, in store: NamedStore, _ catalog: MemoryCatalog) async throws -> Post {
    let services = IngestServices(prober: ScriptedProber(), uploader: store, catalog: catalog)
    let result = await services.publish(file(name), options: IngestOptions())
    guard case .published(let post) = result else {
      throw FileFailure(code: "unexpected", message: "\(result)")
    }
    return post
  }
}

/// A store under one of its names whose objects can be read.
struct NamedStore: ReadableStore {
  typealias Hook = @Sendable (ObjectKey) async throws(UploadError) -> Void

  let base: MemoryUploader
  let destination: Destination
  /// Hooks that run before an upload and before a removal.
  var (onUpload, onRemove): (Hook?, Hook?) = (nil, nil)

  init(_ base: MemoryUploader, _ name: String) {
    self.base = base
    destination = Destination("memory:" + name)
  }

  var traits: UploadTraits { base.traits }
  func prepare() async throws(UploadError) {}
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try await onUpload?(key)
    return try await base.upload(source, to: key, reporting: reporting)
  }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    try await onRemove?(key)
    return try await base.remove(key)
  }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? { try await base.readBack(key) }
  func download(
    _ key: ObjectKey, size: Int64, into file: any StagedFile
  ) async throws(UploadError) -> ContentDigest? {
    guard let bytes = base.bytes(of: key), bytes.count == size else { return nil }
    guard pwrite(file.descriptor, bytes, bytes.count, 0) == bytes.count else {
      throw file.failure(errno, "write")
    }
    return try await base.readBack(key)
  }
}
