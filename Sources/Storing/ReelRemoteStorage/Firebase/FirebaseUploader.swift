import FoundationEssentials
import ReelCore
import ReelStorage

/// Stores objects in a bucket of Cloud Storage for Firebase, which is a bucket of Google Cloud Storage.
///
/// Every object is sent in a resumable session, only if no object has its name (`ifGenerationMatch=0`), and with the
/// CRC-32C that the store compares with what arrives. Its posts are kept by ``FirestorePosts``.
public struct FirebaseUploader: Uploader {
  /// As in ``StorageBucket/destination``.
  public let destination: Destination

  private let client: StorageClient
  private let checkpoints: any UploadCheckpoints
  private let addresses: FirebaseAddresses
  private let partSize: Int
  private let newToken: @Sendable () -> String

  /// Sends nothing yet.
  ///
  /// - Parameters:
  ///   - tokens: the access tokens that requests carry.
  ///   - checkpoints: the sessions from which uploads are resumed.
  ///   - publicBaseURL: the prefix of an object's name in the address that viewers open; nil for Firebase's own.
  ///   - partSize: the number of bytes that one request sends, and that a crash costs at most; rounded down to a
  ///     multiple of 256 KiB.
  ///   - newToken: draws a download token, which is part of the address that viewers open.
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

  /// Resumable and verified. Atomic at Google, which documents it; at emulators two concurrent uploads may both win.
  public var traits: UploadTraits {
    // https://cloud.google.com/storage/quotas#objects
    UploadTraits(
      atomicCreate: client.bucket.emulator == nil, resumable: true, verifiesChecksums: true, durable: true,
      largestObject: 5 << 40)
  }

  /// Lists one name of the bucket: a wrong bucket or key shows here, before anything is sent. It removes nothing:
  /// unfinished uploads expire after a week.
  /// - Throws: `storeUnusable`, and errors that may be temporary.
  public func prepare() async throws(UploadError) {
    do throws(UploadError) {
      _ = try await client.page(nil, limit: 1)
    } catch {
      // Without this permission, nobody can tell whether an object exists.
      throw error.code == .denied || error.code == .rejected
        ? UploadError(.storeUnusable, error.text) : error
    }
  }

  /// Sends the source in parts, resuming an earlier upload of the same bytes if there is one.
  /// - Throws: ``UploadError``, as ``Uploader`` promises.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let object = try await upload(source, key, token: newToken(), replacing: nil, reporting).run()
    // The store's checksums are those of the bytes that have the source's digest.
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

  /// Returns the object's length, and its digest if Reel stored it and its checksum is still the one recorded with
  /// the digest.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    guard let object = try await client.object(key) else { return nil }
    guard let size = object.length else {
      throw UploadError(.interrupted, "\(destination) does not tell the length of \(key): try again")
    }
    return StoredObject(
      key: key, url: addresses.url(of: key, token: object.downloadToken), size: size, digest: object.digest)
  }

  /// Removes the object, and cancels an unfinished upload of the same name that is on record here. What a bucket keeps
  /// (soft deletion, versions) stays, and is reported.
  /// - Throws: `rejected` if a retention policy or a hold protects the object; otherwise as ``Uploader`` promises.
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
  /// Replaces the object in one step, if it is still the one that was read. The address in its post stays valid, as the
  /// download token is kept.
  package func replaceDamaged(
    _ key: ObjectKey, with source: UploadSource
  ) async throws(UploadError) -> Bool {
    guard let damaged = try await client.object(key) else {
      throw UploadError(.conflict, "\(key) is no longer in the store \(destination): try again")
    }
    guard try await isDamaged(key, source) else { return false }
    _ = try await upload(
      source, key, token: damaged.downloadToken ?? newToken(), replacing: damaged.generation
    ) { _ in }.run()
    return true
  }
}

extension FirebaseUploader: StoreListing {
  /// Returns the names of the objects below the prefix.
  public func names() async throws(UploadError) -> [String] { try await allNames() }

  /// Returns a page of the objects below the prefix.
  package func page(after token: String?) async throws(UploadError) -> StorePage {
    let skipped = client.bucket.prefix.isEmpty ? 0 : client.bucket.prefix.utf8.count + 1
    let page = try await client.page(token)
    return StorePage(
      (page.items ?? []).map { (String(decoding: $0.name.utf8.dropFirst(skipped), as: UTF8.self), nil) },
      next: page.nextPageToken.flatMap { $0.isEmpty ? nil : $0 })
  }

  /// Returns none: unfinished uploads can't be listed, and expire after a week.
  public func leftovers() async throws(UploadError) -> [String] { [] }

  /// Does nothing, as there are none.
  public func removeLeftovers() async throws(UploadError) {}
}

/// The addresses at which viewers find the objects of a bucket.
struct FirebaseAddresses: Sendable {
  let bucket: StorageBucket
  let publicBaseURL: String?

  /// Returns the address below the base in the settings, or else the one that Firebase apps use. The latter contains
  /// the object's download token, which is made for viewers: whoever has the address can see the video, whatever the
  /// bucket's rules say, but can't change it.
  func url(of key: ObjectKey, token: String?) -> String {
    if let publicBaseURL { return ObjectAddresses(base: publicBaseURL).url(of: key) }
    if let emulator = bucket.emulator { return "\(emulator)\(bucket.target(of: key))?alt=media" }
    let address =
      "https://firebasestorage.googleapis.com/v0/b/\(bucket.name)/o/"
      + PercentEncoding.all(bucket.objectName(of: key)) + "?alt=media"
    return token.map { address + "&token=" + PercentEncoding.all($0) } ?? address
  }
}
