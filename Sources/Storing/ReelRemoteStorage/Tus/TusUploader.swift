import FoundationEssentials
import HTTPTypes
import ReelCore
import Synchronization

/// Stores objects on a tus server (tus.io, protocol 1.0.0).
///
/// tus has no names: the server gives each upload an address. Only the checkpoints know where an object is, so an
/// object's checkpoint is kept as long as the object exists, and two uploaders find each other's objects only if they
/// share their checkpoints (docs/tus.md).
public final class TusUploader: Uploader {
  /// `tus+`, the scheme, the host and the path, without a trailing slash.
  public let destination: Destination

  private let client: TusClient
  private let failure: TusFailure
  private let checkpoints: any UploadCheckpoints
  private let addresses: TusAddresses
  private let partSize: Int
  private let requestSize: TusRequestSize
  private let known = Mutex<TusServer?>(nil)

  /// Sends nothing yet.
  ///
  /// - Parameters:
  ///   - endpoint: where uploads are created.
  ///   - token: sent as `Authorization: Bearer` to the endpoint's origin; nil for a server that needs none.
  ///   - checkpoints: where each object is.
  ///   - uploadHosts: the hosts besides the endpoint's own to which the server may direct the bytes: `host`, or
  ///     `host:port` if the port is not the scheme's default.
  ///   - partSize: the number of bytes that one request sends, and that a crash costs at most. Some servers store
  ///     each part separately, in a bucket or elsewhere: they want at least 5 MiB, and a multiple of 256 KiB
  ///     (Cloudflare Stream).
  public init(
    _ endpoint: TusEndpoint, transport: any HTTPTransport, token: Secret? = nil,
    checkpoints: any UploadCheckpoints, addresses: TusAddresses = TusAddresses(publicBaseURL: nil),
    uploadHosts: Set<String> = [], partSize: Int = 8 << 20, now: @escaping @Sendable () -> Date = { Date() }
  ) {
    destination = endpoint.destination
    failure = TusFailure(store: endpoint.destination, now: now)
    let origin = endpoint.url.origin
    client = TusClient(
      transport: transport, failure: failure, endpoint: endpoint.url,
      credential: token.map { HTTPCredential(.authorization, Secret("Bearer " + $0.revealed), for: origin) },
      uploadHosts: Set(uploadHosts.map { $0.lowercased() }))
    self.checkpoints = checkpoints
    self.addresses = addresses
    self.partSize = max(1, partSize)
    requestSize = TusRequestSize(self.partSize)
  }

  /// Resumable. A name is assigned only once, by the checkpoints, and an existing object is never written to.
  public var traits: UploadTraits {
    let server = known.withLock { $0 }
    return UploadTraits(
      atomicCreate: true, resumable: true, verifiesChecksums: server?.checksum != nil, durable: true,
      largestObject: server?.largest, trustsClientDigest: server?.checksum == nil,
      removes: server?.canTerminate ?? true)
  }

  /// Asks the server what it can do.
  /// - Throws: `storeUnusable` if it does not speak tus, or creates no uploads.
  public func prepare() async throws(UploadError) { _ = try await server() }

  /// Sends the source in parts, resuming an earlier upload of the same bytes if there is one.
  ///
  /// All bytes sent together have the source's digest, whichever process sent them, and the server has acknowledged
  /// every byte. The digest is proved if the server compares each part with a checksum; otherwise it only describes
  /// what was sent.
  /// - Throws: `alreadyExists`, `tooLarge`, `sourceChanged`, `sourceUnreadable`, `interrupted`, `unavailable`,
  ///   `denied`, `rejected`, `storeFull`, `storeUnusable`, `cancelled`.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let server = try await server()
    if let largest = server.largest, source.size > largest { throw failure.tooLarge(source.size, largest) }
    let upload = TusUpload(
      source: source, key: key, server: server, client: client, failure: failure,
      ledger: CheckpointLedger(checkpoints, of: key, in: destination), partSize: partSize,
      requestSize: requestSize, reporting: reporting)
    let url = try await upload.run()
    return StoredObject(
      key: key, url: addresses.url(of: key, at: url), size: source.size,
      digest: server.checksum == nil ? nil : source.digest,
      clientDigest: server.checksum == nil ? source.digest : nil)
  }

  /// Returns what the server reports about the upload that the checkpoint names; nil while it is incomplete. An upload
  /// that the server has handed on is looked up at the address for viewers.
  /// - Throws: `interrupted` if it exists, and its length is not stated.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    guard let url = try await place(of: key)?.url else { return nil }
    let size: Int64
    switch try await client.standing(of: url, key) {
    case .whole(let length): size = length
    case .partial(let offset, let length):
      // Without a length, the server has not said that the upload is incomplete.
      guard length != nil else { throw failure.noLength(key, offset) }
      return nil
    case .gone:
      guard let elsewhere = addresses.other(than: url, key),
        let found = try await client.size(elsewhere, key)
      else { return nil }
      size = found
    }
    return StoredObject(key: key, url: addresses.url(of: key, at: url), size: size, digest: nil)
  }

  /// Removes the upload from the server, complete or not, and forgets its address.
  /// - Throws: `rejected` if the server has no termination extension, or has handed on an object that viewers
  ///   still find.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    let ledger = CheckpointLedger(checkpoints, of: key, in: destination)
    guard let kept = try await ledger.kept() else { return .gone }
    var removal = ObjectRemoval.gone
    if let place = TusUploadState(kept.secret) { removal = try await remove(key, at: place.url) }
    try await ledger.forget(kept)
    return removal
  }

  /// Reads the object from the server, or, if that does not return uploads, from the address for viewers.
  /// - Throws: `rejected` if neither returns it.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    guard let url = try await place(of: key)?.url else { return nil }
    let elsewhere = addresses.other(than: url, key)
    let length: Int64
    switch try await client.standing(of: url, key) {
    case .partial(let offset, let length):
      guard length != nil else { throw failure.noLength(key, offset) }
      return nil
    case .gone:
      guard let elsewhere else { return nil }
      return try await client.read(elsewhere, key, length: nil)?.digest
    case .whole(let size): length = size
    }
    do throws(UploadError) {
      if let read = try await client.read(url, key, length: length) { return read.digest }
    } catch {
      guard error.code == .rejected, elsewhere != nil else { throw error }
    }
    guard let elsewhere else { throw client.givesNothingBack(key) }
    return try await client.read(elsewhere, key, length: length)?.digest
  }

  private func remove(_ key: ObjectKey, at url: TusURL) async throws(UploadError) -> ObjectRemoval {
    let wasThere: Bool
    if try await server().canTerminate {
      wasThere = try await client.terminate(url, key)
    } else {
      // Somebody may have removed it there, as the error message asks for.
      guard try await client.standing(of: url, key) == .gone else { throw failure.removesNothing(key) }
      wasThere = false
    }
    guard let elsewhere = addresses.other(than: url, key) else { return .gone }
    do throws(UploadError) {
      guard try await client.reply(at: elsewhere, key) != nil else { return .gone }
    } catch {
      if wasThere { return .gone }
      if error.isWorthARetry || error.code == .cancelled { throw error }
      return ObjectRemoval(
        remains:
          "the tus server \(destination) does not know \(key) any more, and \(elsewhere.text) does not say "
          + "whether it has it (\(error.message)): see whether viewers still find it, and remove it there")
    }
    guard wasThere else { throw failure.handedOn(key, elsewhere.text) }
    return ObjectRemoval(
      remains:
        "\(key) is removed from the tus server \(destination), but \(elsewhere.text) still answers: if that is no "
        + "cache, which forgets it after a while, remove it there")
  }

  /// Returns the state of the object's upload; nil also if the server refused it: that is no object, whatever the
  /// server says.
  private func place(of key: ObjectKey) async throws(UploadError) -> TusUploadState? {
    let ledger = CheckpointLedger(checkpoints, of: key, in: destination)
    return try await ledger.kept().flatMap { TusUploadState($0.secret) }.flatMap { $0.isRefused ? nil : $0 }
  }

  private func server() async throws(UploadError) -> TusServer {
    if let server = known.withLock({ $0 }) { return server }
    let server = try await client.server()
    guard server.canCreate else { throw failure.noCreation }
    known.withLock { $0 = server }
    return server
  }
}
