import FoundationEssentials
import ReelCore

extension MemoryLibrary {
  func status() -> CatalogStatus {
    let newest = failures.sorted { left, right in
      left.value.at == right.value.at ? left.key < right.key : left.value.at > right.value.at
    }
    return CatalogStatus(
      posts: posts.count, bytes: stores.values.reduce(0) { $0 + $1.bytes },
      destinations: stores.sorted { $0.key.name < $1.key.name }
        .map { (destination: $0.key, posts: $0.value.posts) },
      unfinished: rows.filter { $0.state == .unfinished }.count,
      failures: newest.prefix(CatalogStatus.mostFailures).map { (path: $0.key, failure: $0.value) },
      failureCount: failures.count, schemaVersion: CatalogSchema.version)
  }

  func knownFile(_ identity: FileIdentity) -> ContentDigest? {
    guard let known = files[Inode(identity)], known.identity == identity else { return nil }
    return known.digest
  }

  func readings(of digest: ContentDigest) -> [ReaderVersion: ProbeOutcome] {
    let found = readings.filter { $0.key.digest == digest }
    return Dictionary(found.map { ($0.key.reader, $0.value) }) { first, _ in first }
  }

  mutating func remember(_ digest: ContentDigest, of identity: FileIdentity) {
    files[Inode(identity)] = (identity: identity, digest: digest)
  }

  mutating func remember(_ failure: FailureRecord?, at path: SourcePath) {
    failures[path] = failure.map { failure in
      FailureRecord(
        code: failure.code, message: failure.message, refused: failure.refused,
        at: failure.at.wholeMilliseconds)
    }
  }

  /// The bytes are a guess at what the values take.
  var cacheStatus: CacheStatus {
    CacheStatus(
      files: files.count, readings: readings.count, bytes: Int64(files.count * 80 + readings.count * 1000))
  }

  mutating func clearCache() -> CacheStatus {
    defer {
      files = [:]
      readings = [:]
    }
    return cacheStatus
  }
}

extension MemoryLibrary.Inode {
  init(_ identity: FileIdentity) {
    self.init(device: identity.device, inode: identity.inode)
  }
}

extension CatalogStatus {
  /// How many failures are told.
  static let mostFailures = 1000
}
