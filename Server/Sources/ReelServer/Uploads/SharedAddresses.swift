import Crypto
import FoundationEssentials
import Reel

/// A record in the catalog of which bytes came by an address for one upload, for all servers that share the catalog.
/// The upload that is complete first, on whichever server, counts, and others are refused. The same bytes may come
/// again, as they make only one post.
struct SharedAddresses: Sendable {
  private static let prefix = "address-"
  /// How many seconds after the address's end the record is kept: an upload that began earlier may still arrive.
  private static let lifetime: Double = 30 * 86_400
  private let catalog: any UploadCheckpoints
  private let destination: Destination

  /// - Parameter destination: that of the servers' posts.
  init(_ catalog: any UploadCheckpoints, _ destination: Destination) {
    (self.catalog, self.destination) = (catalog, destination)
  }

  /// Whether the address of `id` is spent for these bytes, by this call or an earlier one; false if the record would
  /// soon be forgotten.
  /// - Parameter end: when the address expires.
  func spend(
    _ id: UploadID, until end: Date, for digest: ContentDigest, now: Date
  ) async throws(CatalogError) -> Bool {
    guard now.timeIntervalSince(end) < Self.lifetime - 86_400 else { return false }
    guard let key = Self.key(id, end), let use = UploadCheckpoint("spent", of: digest) else { return false }
    if try await catalog.exchange(nil, for: use, of: key, in: destination) { return true }
    return try await catalog.checkpoint(of: key, in: destination) == use
  }

  /// Forgets the records that no upload can need any more.
  func tidy(_ now: Date) async throws(CatalogError) {
    let keys = try await catalog.keys(in: destination, after: ObjectKey(Self.prefix), limit: 1_000)
    for key in keys {
      guard let end = Self.end(of: key), end + Self.lifetime < now.timeIntervalSince1970 else { return }
      guard let use = try await catalog.checkpoint(of: key, in: destination) else { continue }
      try await catalog.forget(use, of: key, in: destination)
    }
  }

  /// A key that sorts by the address's end. It contains only a hash of the upload's name, so that a reader of the
  /// catalog can't resume the upload.
  private static func key(_ id: UploadID, _ end: Date) -> ObjectKey? {
    let seconds = String(max(0, Int64(end.timeIntervalSince1970)))
    let name = Base64.encodeForURL(SHA256.hash(data: Data("\(id)".utf8)))
    return ObjectKey(
      prefix + String(repeating: "0", count: max(0, 20 - seconds.count)) + seconds + "-" + name)
  }

  private static func end(of key: ObjectKey) -> Double? {
    guard key.rawValue.hasPrefix(prefix) else { return nil }
    return key.rawValue.dropFirst(prefix.count).split(separator: "-").first.flatMap { Double($0) }
  }
}
