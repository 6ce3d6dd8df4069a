import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelLibrary

/// A catalog is a file: whatever its rows contain, nothing may trap.
@Suite(.shortTime) struct ExtremeRowTests {
  private static let columns: [(table: String, columns: [String])] = [
    ("owner", ["pid", "startedAt", "leaseUntil"]), ("destination", ["posts", "bytes"]),
    ("intent", ["ordinal", "size", "attempt", "owner", "createdAt", "changedAt"]),
    ("feed", ["lastPageNumber", "revision"]), ("post", ["createdAt", "pageNumber"]), ("outbox", ["owner"]),
    ("knownFile", ["size", "modifiedAt", "changedAt", "device", "inode"]), ("failure", ["at"]),
    ("poster", ["size", "owner", "changedAt"]), ("checkpoint", ["changedAt"]),
  ]

  private func request(_ number: UInt8, _ destination: Destination) throws -> ClaimRequest {
    let random = SystemRandomness()
    let digest = try #require(ContentDigest(sha256: [UInt8](repeating: number, count: 32)))
    return ClaimRequest(
      publication: Publication(digest: digest, destination: destination, authorID: "a"), duplicates: .skip,
      size: 7,
      newID: PostID(at: Date(), random: random), newKey: ObjectKey(random: random, container: .mp4),
      poster: PosterRequest(digest: digest, size: 3, newKey: ObjectKey(posterNamedBy: random)))
  }

  private func draft() -> PostDraft {
    PostDraft(
      media: MediaInfo(container: .mp4, size: 7),
      provenance: ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100"),
      metadata: PostMetadata(authorID: "a", caption: "harbour"), commentID: "c")
  }

  @Test(
    "extreme values in each integer column do not trap",
    arguments: columns.flatMap { table in table.columns.map { (table.table, $0) } })
  func rows(table: String, column: String) async throws {
    let temporary = try await TemporaryLibrary()
    let destination = Destination("file:///media")
    do {
      let catalog = try await SQLiteCatalog.open(library: temporary.library)
      guard case .granted(let one) = try await catalog.claim(try request(1, destination)) else { return }
      _ = try await catalog.complete(
        one, draft: draft(),
        stored: StoredObject(
          key: one.key, url: "file:///media/\(one.key)", size: 7, digest: one.publication.digest))
      _ = try await catalog.claim(try request(2, destination))
      try await catalog.close()
    }
    for value in Extremes.integers {
      let catalog = try await SQLiteCatalog.open(library: temporary.library)
      try? await catalog.writable().writer.alone { db in
        try db.execute(
          "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; UPDATE \(table) SET \(column) = \(value);"
        )
      }
      await use(catalog, destination)
      try? await catalog.close()
    }
  }

  /// Calls everything that reads rows, and ignores the results.
  private func use(_ catalog: SQLiteCatalog, _ destination: Destination) async {
    _ = try? await catalog.status()
    _ = try? await catalog.feedRevision()
    for filter in [PostFilter(), PostFilter(since: .distantPast, text: "harbour"), PostFilter(authorID: "a")]
    {
      for limit in [1, .max] {
        guard let page = try? await catalog.newestPosts(matching: filter, before: nil, limit: limit) else {
          continue
        }
        _ = try? await catalog.newestPosts(matching: filter, before: page.next, limit: limit)
      }
    }
    for number in [1, Int.max, Int.max - 1] { _ = try? await catalog.posts(from: number, count: .max) }
    _ = try? await catalog.destinations()
    if let wanted = try? request(2, destination),
      case .granted(let intent)? = try? await catalog.claim(wanted)
    {
      _ = try? await catalog.complete(
        intent, draft: draft(),
        stored: StoredObject(
          key: intent.key, url: "file:///media/\(intent.key)", size: .max, digest: intent.publication.digest))
    }
    if let wanted = try? request(1, destination) { _ = try? await catalog.claim(wanted) }
    try? await catalog.releaseWhatTheDeadHold()
    _ = try? await catalog.owners()
  }
}
