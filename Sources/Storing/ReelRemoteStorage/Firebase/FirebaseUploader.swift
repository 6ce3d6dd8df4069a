import FoundationEssentials
import ReelCore
import ReelStorage

/// Stores objects in a bucket of Cloud Storage for Firebase, which is a bucket of Google Cloud Storage.
///
/// Every object goes out by a resumable session, only if nothing has its name (`ifGenerationMatch=0`), and with the
/// CRC-32C that the store holds against what arrives. Its posts are kept by ``FirestorePosts``.
public struct FirebaseUploader: Uploader {
  /// As ``StorageBucket/destination``.
  public let destination: Destination

  private let client: StorageClient
  private let checkpoints: any UploadCheckpoints
  private let addresses: FirebaseAddresses
  private let partSize: Int
  private let newToken: @Sendable () -> String

  /// Asks nothing yet.
  ///
  /// - Parameters:
  ///   - tokens: what every request carries.
  ///   - checkpoints: which upload goes on where.
  ///   - publicBaseURL: stands before an object's name in the address that viewers open; nil for Firebase's own.
  ///   - partSize: bytes that a crash costs at most, and that one request sends: a multiple of 256 KiB, which it is
  ///     brought down to.
  ///   - newToken: draws a download token, which stands in the address that viewers open.
  public init(
    _ bucket: StorageBucket, transport: any HTTPTransport, tokens: any TokenSource,
    checkpoints: any UploadCheckpoints, publicBaseURL: String? = nil, partSize: Int = 8 << 20,
    clock: any WallClock = SystemWallClock(),
    newToken: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
  ) {
    destination = bucket.destination
    client = StorageClient(
      bucket: bucket,
      google: GoogleClient(
        origin: bucket.origin, transport: transport, tokens: tokens, store: bucket.destination, clock: clock))
    self.checkpoints = checkpoints
    addresses = FirebaseAddresses(bucket: bucket, publicBaseURL: publicBaseURL)
    self.partSize = max(1, partSize / StorageClient.granule) * StorageClient.granule
    self.newToken = newToken
  }

  /// Resumable and verified. Atomic at Google, which documents it; emulators may let two win at once.
  public var traits: UploadTraits {
    // https://cloud.google.com/storage/quotas#objects
    UploadTraits(
      atomicCreate: client.bucket.emulator == nil, resumable: true, verifiesChecksums: true, durable: true,
      largestObject: 5 << 40)
  }

  /// Asks the bucket for one name: a wrong bucket or key shows here, before anything is sent. It removes nothing: what
  /// was begun and never ended ends by itself after a week.
  /// - Throws: `storeUnusable`, and what may pass.
  public func prepare() async throws(UploadError) {
    do throws(UploadError) {
      _ = try await client.page(nil, limit: 1)
    } catch {
      // Without it nobody can tell whether an object is there.
      throw error.code == .denied || error.code == .rejected
        ? UploadError(.storeUnusable, error.text) : error
    }
  }

  /// Sends the source in parts, from where an earlier upload of the same bytes has come to, if there is one.
  /// - Throws: ``UploadError``, as ``Uploader`` promises.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let object = try await upload(source, key, token: newToken(), replacing: nil, reporting).run()
    // The store's checksums are those of the bytes that hash to the source's digest.
    return StoredObject(
      key: key, url: addresses.url(of: key, token: object.downloadToken), size: source.size,
      digest: source.digest)
  }

  private func upload(
    _ source: UploadSource, _ key: ObjectKey, token: String, replacing generation: String?,
    _ reporting: @escaping @Sendable (TransferProgress) -> Void
  ) -> FirebaseUpload {
    FirebaseUpload(
      source: source, key: key, client: client,
      ledger: CheckpointLedger(checkpoints, of: key, in: destination), partSize: partSize,
      downloadToken: token, replaced: generation, reporting: reporting)
  }

  /// The object's length, and its digest where it was stored by Reel and its checksum is still the one that goes with
  /// it.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    guard let object = try await client.object(key) else { return nil }
    guard let size = object.length else {
      throw UploadError(.interrupted, "\(destination) does not tell the length of \(key): try again")
    }
    return StoredObject(
      key: key, url: addresses.url(of: key, token: object.downloadToken), size: size, digest: object.digest)
  }

  /// Removes the object, and ends an upload under the same name that was begun from here. What a bucket keeps (soft
  /// deletion, versions) stays, and is told.
  /// - Throws: `rejected` when a retention policy or a hold keeps the object where it is; else as ``Uploader`` promises.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    let ledger = CheckpointLedger(checkpoints, of: key, in: destination)
    if let kept = try await ledger.kept() {
      if let session = StorageSession(kept.secret) { try await client.cancel(session, key) }
      try await ledger.forget(kept)
    }
    return try await client.remove(key)
  }

  /// Reads the object and hashes it.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    try await client.read(key)
  }
}

extension FirebaseUploader: DamagedObjectReplacing {
  /// In one step, where it is still the one that was read. Its post's address stays good: the token in it is kept.
  package func replaceDamaged(
    _ key: ObjectKey, with source: UploadSource
  ) async throws(UploadError) -> Bool {
    guard let damaged = try await client.object(key) else {
      throw UploadError(.conflict, "\(key) is not in the store \(destination) any more: try again")
    }
    guard try await isDamaged(key, source) else { return false }
    _ = try await upload(
      source, key, token: damaged.downloadToken ?? newToken(), replacing: damaged.generation
    ) { _ in }.run()
    return true
  }
}

extension FirebaseUploader: StoreListing {
  /// The names behind the prefix.
  public func names() async throws(UploadError) -> [String] { try await allNames() }

  /// Those behind the prefix.
  package func page(after token: String?) async throws(UploadError) -> StorePage {
    let skipped = client.bucket.prefix.isEmpty ? 0 : client.bucket.prefix.utf8.count + 1
    let page = try await client.page(token)
    return StorePage(
      (page.items ?? []).map { (String(decoding: $0.name.utf8.dropFirst(skipped), as: UTF8.self), nil) },
      next: page.nextPageToken.flatMap { $0.isEmpty ? nil : $0 })
  }

  /// None: what was begun and never ended can't be listed, and ends by itself after a week.
  public func leftovers() async throws(UploadError) -> [String] { [] }

  /// There are none.
  public func removeLeftovers() async throws(UploadError) {}
}

/// Where viewers find what is in a bucket.
struct FirebaseAddresses: Sendable {
  let bucket: StorageBucket
  let publicBaseURL: String?

  /// A base that the settings name; else the address that the Firebase apps themselves use. That holds the object's
  /// download token, which is made for viewers: whoever has the address can see the video, whatever the bucket's rules
  /// say, and nobody can change it with it.
  func url(of key: ObjectKey, token: String?) -> String {
    if let publicBaseURL { return ObjectAddresses(base: publicBaseURL).url(of: key) }
    if let emulator = bucket.emulator { return "\(emulator)\(bucket.target(of: key))?alt=media" }
    let address =
      "https://firebasestorage.googleapis.com/v0/b/\(bucket.name)/o/"
      + PercentEncoding.all(bucket.objectName(of: key)) + "?alt=media"
    return token.map { address + "&token=" + PercentEncoding.all($0) } ?? address
  }
}
