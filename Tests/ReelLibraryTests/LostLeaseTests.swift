import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelStorage
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelLibrary
@testable import ReelPostgres

/// A process that is stopped for longer than its lease, right before it removes something, must take nothing from a
/// process that has continued its work meanwhile.
@Suite struct LostLeaseTests {
  private let sketch = Sketch()
  private let bytes = [UInt8](repeating: 7, count: 1000)

  private func source() throws -> UploadSource {
    UploadSource(
      size: 1000, digest: try #require(ContentDigest(sha256: SHA256.hash(data: bytes))),
      contentType: "video/mp4",
      bytes: MemoryBytes(bytes: bytes))
  }

  /// Publishes as another machine would: stores the object unless it finds it.
  private func publish(
    _ request: ClaimRequest, by catalog: any PostCatalog, into store: any Uploader
  ) async throws -> Post {
    let intent = try #require(try await catalog.claim(request).intent)
    if try await store.find(intent.key) == nil {
      _ = try await store.upload(source(), to: intent.key) { _ in }
    }
    return try await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
  }

  @Test func theDoctorOfALibrary() async throws {
    let stage = try await SQLiteStage()
    let doctor = try await stage.openSQLite(host: "doctor")
    try await check(
      doctor, first: try await stage.openSQLite(), other: try await stage.openSQLite(host: "other"),
      expire: {
        try await doctor.die()
        stage.clock.advance(by: 61)
      })
  }

  @Test(.besidePostgres) func theDoctorOfAServersCatalog() async throws {
    let database = try await TestDatabase()
    let doctor = try await PostgresCatalog.open(try database.pool())
    try await check(
      doctor, first: try await PostgresCatalog.open(try database.pool()),
      other: try await PostgresCatalog.open(try database.pool()), expire: { try await doctor.die() })
  }

  private func check(
    _ doctor: any PostCatalog & CatalogExamination & CatalogRepair, first: any PostCatalog,
    other: any PostCatalog, expire: @escaping @Sendable () async throws -> Void
  ) async throws {
    let memory = MemoryUploader()
    let publication = sketch.publication(try source().digest, to: memory.destination.name)
    // The object is stored, and its intent released.
    let left = try #require(try await first.claim(sketch.request(publication)).intent)
    _ = try await memory.upload(source(), to: left.key) { _ in }
    try await first.release(left, because: .retryLater)
    let frozen = Mutex(false)
    let again = sketch.request(publication)
    let store = FreezingStore(base: memory) { [self] in
      guard
        frozen.withLock({ isFrozen in
          defer { isFrozen = true }; return !isFrozen
        })
      else { return }
      try await expire()
      _ = try await publish(again, by: other, into: memory)
    }
    let examination = LibraryExamination(catalog: doctor, grace: .seconds(-86_400)) { _ in store }
    _ = try await LibraryRepair(catalog: doctor, examination: examination).run()
    #expect(frozen.withLock { $0 }, "nothing was removed")
    let posts = try await other.posts(from: 1, count: 10)
    #expect(posts.count == 1)
    for post in posts { #expect(memory.bytes(of: post.video) == bytes, "the object of a post is gone") }
    #expect(memory.keys == posts.map(\.video), "what was given up is gone")
  }

  /// If another process has replaced a damaged object meanwhile, a second replacement does nothing.
  @Test func aDamagedObjectIsNeverMissing() async throws {
    let folder = try TemporaryFolder()
    let store = FolderUploader(root: folder.path(of: "media"))
    try await store.prepare()
    let key = try #require(ObjectKey("k.mp4"))
    try folder.write([UInt8](repeating: 8, count: 1000), to: "media/k.mp4")
    #expect(try await store.replaceDamaged(key, with: source().intended))
    #expect(try await store.readBack(key) == source().digest)
    #expect(try await !store.replaceDamaged(key, with: source().intended))
  }
}

/// A store that runs `freeze` right before each removal.
private struct FreezingStore: UploaderDecorator, StoreExamination {
  let base: any Uploader
  let freeze: @Sendable () async throws -> Void

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject { try await base.upload(source, to: key, reporting: reporting) }

  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    do {
      try await freeze()
    } catch {
      throw UploadError(.interrupted, "\(error)")
    }
    return try await base.remove(key)
  }

  func names() async throws(UploadError) -> [String] {
    (base as? MemoryUploader)?.keys.map(\.rawValue) ?? []
  }
  func leftovers() async throws(UploadError) -> [String] { [] }
  func removeLeftovers() async throws(UploadError) {}
}
