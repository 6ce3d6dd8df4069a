import Crypto
import FoundationEssentials
import Reel

/// Which bytes came by an address for one upload, as the catalog tells it to all its servers: whose are whole first, at whichever,
/// are the upload, and others are none. The same bytes may come once more, as they make one post.
struct SharedAddresses: Sendable {
  private static let prefix = "address-"
  /// Seconds that it is known after the address's end: what was begun before may still come.
  private static let lifetime: Double = 30 * 86_400
  private let catalog: any UploadCheckpoints
  private let destination: Destination

  /// - Parameter destination: of the servers' posts.
  init(_ catalog: any UploadCheckpoints, _ destination: Destination) {
    (self.catalog, self.destination) = (catalog, destination)
  }

  /// Whether the address of `id` is spent for these bytes, by this call or before; never where it will soon be forgotten.
  /// - Parameter end: of the address.
  func spend(
    _ id: UploadID, until end: Date, for digest: ContentDigest, now: Date
  ) async throws(CatalogError) -> Bool {
    guard now.timeIntervalSince(end) < Self.lifetime - 86_400 else { return false }
    guard let key = Self.key(id, end), let use = UploadCheckpoint("spent", of: digest) else { return false }
    if try await catalog.exchange(nil, for: use, of: key, in: destination) { return true }
    return try await catalog.checkpoint(of: key, in: destination) == use
  }

  /// Forgets what no upload can ask for any more.
  func tidy(_ now: Date) async throws(CatalogError) {
    let keys = try await catalog.keys(in: destination, after: ObjectKey(Self.prefix), limit: 1_000)
    for key in keys {
      guard let end = Self.end(of: key), end + Self.lifetime < now.timeIntervalSince1970 else { return }
      guard let use = try await catalog.checkpoint(of: key, in: destination) else { continue }
      try await catalog.forget(use, of: key, in: destination)
    }
  }

  /// Sorted by the end. Who reads the catalog does not learn the upload's name, by which it could be gone on with.
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
