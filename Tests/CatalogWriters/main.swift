import CPausingVFS
import Foundation
import Glibc
import ReelCore
import ReelLibrary
import ReelTestSupport

/// One of several processes that work on a library, to prove that no reported post is lost to SQLite's WAL-reset bug
/// (docs/publish.md): it opens the catalog, publishes, reports each post, closes the catalog, and starts over.
/// Occasionally it does what the other commands do.
struct CatalogWriter {
  let library: LibraryFolder
  let randomness: SeededRandomness
  var choices: SplitMix64

  mutating func run(openings: Int, rounds: Int) async throws {
    for opening in 0..<openings {
      let catalog = try await SQLiteCatalog.open(library: library, busyTimeout: .seconds(600))
      for _ in 0..<rounds {
        try await publish(into: catalog)
        // Without pauses there would be no moment at which the whole log has been checkpointed.
        try await Task.sleep(for: .microseconds(Int.random(in: 0...4000, using: &choices)))
      }
      if happens(oneIn: 8) { _ = try await catalog.clearCache() }
      try await catalog.close()
      if happens(oneIn: 4), let reading = try await SQLiteCatalog.openReadOnly(library: library) {
        _ = try await reading.damage()
        try await reading.close()
      }
      if happens(oneIn: 16) {
        let backup = library.path + "/backup-\(getpid())-\(opening).sqlite"
        try await CatalogBackup.write(of: library, to: backup)
        unlink(backup)
      }
    }
  }

  private mutating func happens(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &choices) == 0 }

  /// Publishes one to three videos, and prints each post's ID after it is committed.
  private mutating func publish(into catalog: SQLiteCatalog) async throws {
    for _ in 0..<Int.random(in: 1...3, using: &choices) {
      guard let digest = ContentDigest(sha256: randomness.bytes(32)) else { preconditionFailure("32 bytes") }
      let request = ClaimRequest(
        publication: Publication(digest: digest, destination: Destination("file:///media"), authorID: nil),
        duplicates: .skip, size: 1000, newID: PostID(at: Date(), random: randomness),
        newKey: ObjectKey(random: randomness, container: .mp4))
      guard case .granted(let intent) = try await catalog.claim(request) else { continue }
      let caption = String(repeating: "caption ", count: Int.random(in: 1...120, using: &choices))
      let draft = PostDraft(
        media: MediaInfo(container: .mp4, size: 1000),
        provenance: ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100"),
        metadata: PostMetadata(caption: caption), commentID: randomness.name(length: 12))
      let stored = StoredObject(
        key: intent.key, url: "file:///media/\(intent.key)", size: 1000, digest: digest)
      let post = try await catalog.complete(intent, draft: draft, stored: stored)
      let line = Array("\(post.id)\n".utf8)
      _ = write(1, line, line.count)
    }
  }
}

// The linker drops functions that are never called.
_ = reel_checkpoints_paused()
let arguments = CommandLine.arguments
guard arguments.count == 5, let seed = UInt64(arguments[2]), let openings = Int(arguments[3]),
  let rounds = Int(arguments[4])
else {
  FileHandle.standardError.write(Data("usage: reel-catalog-writer LIBRARY SEED OPENINGS ROUNDS\n".utf8))
  exit(64)
}
do {
  var writer = CatalogWriter(
    library: try await LibraryFolder.prepare(at: arguments[1]), randomness: SeededRandomness(seed: seed),
    choices: SplitMix64(seed: seed))
  try await writer.run(openings: openings, rounds: rounds)
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
