// docs/adding-an-uploader.md shows this file from here on; a test compares the two.

import Reel

/// What the shelf's own library offers: drafts that nobody sees until they are published.
protocol ShelfClient: Sendable {
  func begin() async throws -> Int
  func append(_ bytes: [UInt8], to draft: Int) async throws
  /// False when the name is taken: then nothing happens.
  func publish(_ draft: Int, as name: String) async throws -> Bool
  func discard(_ draft: Int) async
  func read(_ name: String) async throws -> [UInt8]?
  func delete(_ name: String) async throws
}

/// Stores objects on a shelf.
struct ShelfUploader: Uploader {
  let client: any ShelfClient
  let shelf: String

  let traits = UploadTraits(atomicCreate: true, resumable: false, verifiesChecksums: false, durable: true)
  var destination: Destination { Destination("shelf:" + shelf) }

  func prepare() async throws(UploadError) {}

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let draft = try await asking { try await client.begin() }
    do throws(UploadError) {
      try await send(source, to: draft, reporting)
      let isNew = try await asking { try await client.publish(draft, as: key.rawValue) }
      guard isNew else { throw UploadError(.alreadyExists, "the shelf \(shelf) has a \(key) already") }
    } catch {
      await client.discard(draft)
      throw error
    }
    return StoredObject(key: key, url: url(of: key), size: source.size, digest: nil)
  }

  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    let bytes = try await asking { try await client.read(key.rawValue) }
    return bytes.map { StoredObject(key: key, url: url(of: key), size: Int64($0.count), digest: nil) }
  }

  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    try await asking { try await client.delete(key.rawValue) }
    return .gone
  }

  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    let bytes = try await asking { try await client.read(key.rawValue) }
    return bytes.map { ContentDigest(of: $0) }
  }

  /// The last chunk comes only when the source's length and digest are proved.
  private func send(
    _ source: UploadSource, to draft: Int, _ reporting: @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) {
    var sent: Int64 = 0
    reporting(TransferProgress(sent: sent, total: source.size))
    for try await chunk in SourceChunks(of: source) {
      try await asking { try await client.append(chunk, to: draft) }
      sent += Int64(chunk.count)
      reporting(TransferProgress(sent: sent, total: source.size))
    }
    if Task.isCancelled { throw UploadError(.cancelled, "cancelled before it was stored") }
  }

  /// Turns the library's errors into ours.
  private func asking<Value>(_ question: () async throws -> Value) async throws(UploadError) -> Value {
    do {
      return try await question()
    } catch is CancellationError {
      throw UploadError(.cancelled, "cancelled while the shelf \(shelf) was asked")
    } catch {
      throw UploadError(.unavailable, "the shelf \(shelf) does not answer (\(error)): try again later")
    }
  }

  private func url(of key: ObjectKey) -> String { "https://shelf.example/\(shelf)/\(key)" }
}
