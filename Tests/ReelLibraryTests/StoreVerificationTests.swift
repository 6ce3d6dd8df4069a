import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelStorage
import Synchronization
import Testing

@testable import ReelLibrary

@Suite struct StoreVerificationTests {
  private let here = Destination("memory:here")

  @Test(arguments: [false, true]) func whatIsDamagedIsTold(reading: Bool) async throws {
    let store = DamagedStore()
    let rows = [
      try store.row("a-sound", .whole), try store.row("b-missing", .missing),
      try store.row("c-truncated", .cut), try store.row("d-longer", .longer),
      try store.row("e-flipped", .flipped), try store.row("f-unreadable", .failing(.denied)),
      try store.row("g-waiting", .missing, state: .waiting), try store.row("h-sound", .whole),
    ]
    let events = try await run(rows, store, reading: reading)
    #expect(
      codes(events) == [
        "a-sound", "b-missing missing", "c-truncated truncated", "d-longer longer",
        reading ? "e-flipped differs" : "e-flipped", "f-unreadable unreadable", "h-sound",
      ])
    var count = VerificationCount()
    for event in events { count.add(event) }
    #expect(count.damaged == (reading ? 4 : 3))
    #expect(count.unknown == 1 && count.unreachable == 0 && count.objects == 7)
    #expect(count.sound == (reading ? 2 : 3))
    #expect(count.digestsCompared == (reading ? 2 : 0))
  }

  @Test func aDigestThatTheStoreProvesIsComparedWithoutReading() async throws {
    let store = DamagedStore(provesDigests: true)
    let rows = [try store.row("a-sound", .whole), try store.row("b-flipped", .flipped)]
    let events = try await run(rows, store, reading: false)
    #expect(codes(events) == ["a-sound", "b-flipped differs"])
  }

  @Test func inAStoreThatKeepsPostsARecordIsLookedForToo() async throws {
    let store = DamagedStore()
    let rows = [
      try store.row("a-sound", .whole), try store.row("b-unrecorded", .whole),
      try store.row("c-other", .whole),
      try store.row("d-gone", .missing),
    ]
    let recorder = MemoryRecorder(of: here)
    for row in [rows[0], rows[2]] {
      let shown = row.key == rows[2].key ? rows[0].key : row.key
      let publication = Publication(digest: row.digest, destination: here, authorID: nil)
      _ = try await recorder.record(
        Post(
          draft: PostDraft(
            media: MediaInfo(container: .mp4, size: 100),
            provenance: ProbeProvenance(method: .header, isolation: .none, ffmpeg: "0"),
            metadata: PostMetadata(),
            commentID: "c"),
          intent: Intent(id: row.id, key: shown, publication: publication, attempt: 1),
          stored: StoredObject(key: shown, url: "memory:", size: 100, digest: row.digest), pageNumber: 1,
          createdAt: Date(timeIntervalSince1970: 0)))
    }
    let events = try await collected { [here] tell in
      try await StoreVerification(catalog: Rows(here, rows)) { _ throws(UploadError) in
        StoreVerification.Store(store, recorder: recorder)
      }.run(tell: tell)
    }
    #expect(
      codes(events) == ["a-sound", "b-unrecorded unrecorded", "c-other misrecorded", "d-gone missing"])
    var count = VerificationCount()
    for event in events { count.add(event) }
    #expect(count.damaged == 3 && count.recordsCompared == 1)
  }

  /// A large library is verified in pages of the catalog, with a bounded number of requests to the store at once.
  @Test func aLargeLibraryIsGoneThroughInPages() async throws {
    let store = DamagedStore()
    let rows = try (0..<5000).map { number in
      try store.row("k\(10_000 + number)", number == 4321 ? .missing : .whole)
    }
    let catalog = Rows(here, rows)
    let seen = Mutex<[String]>([])
    try await StoreVerification(catalog: catalog, width: 5) { [store] _ throws(UploadError) in
      StoreVerification.Store(store)
    }
    .run { event in seen.withLock { $0 += codes([event]) } }
    #expect(seen.withLock { $0.count } == 5000)
    #expect(seen.withLock { $0 == $0.sorted() })
    #expect(seen.withLock { $0.filter { $0.contains(" ") } } == ["k14321 missing"])
    #expect(catalog.largestPage <= 256)
    #expect((2...5).contains(store.most))
  }

  @Test func aStoreThatIsOutOfReachIsSaidOnce() async throws {
    let store = DamagedStore()
    let rows = try (0..<600).map {
      try store.row("k\(1000 + $0)", $0 < 300 ? .whole : .failing(.storeUnusable))
    }
    let events = try await run(rows, store, reading: false)
    guard case .unreachable(here, let error)? = events.last else {
      Issue.record("it was not told")
      return
    }
    #expect(error.code == .storeUnusable)
    #expect(events.count < 300)
    let none = try await collected { tell in
      try await StoreVerification(catalog: Rows(here, rows)) { _ throws(UploadError) in
        throw UploadError(.storeUnusable, "no such store")
      }.run(tell: tell)
    }
    #expect(none.count == 1)
  }

  @Test func onlyTheStoresThatAreNamed() async throws {
    let store = DamagedStore()
    let rows = [try store.row("a", .whole)]
    let other = try await collected { [store] tell in
      try await StoreVerification(catalog: Rows(here, rows)) { [store] _ throws(UploadError) in
        StoreVerification.Store(store)
      }
      .run([Destination("memory:there")], tell: tell)
    }
    #expect(other.isEmpty)
  }

  @Test func cancellingEndsIt() async throws {
    let store = DamagedStore()
    let rows = try (0..<600).map { try store.row("k\(1000 + $0)", .whole) }
    let catalog = Rows(here, rows)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await StoreVerification(catalog: catalog) { [store] _ throws(UploadError) in
        StoreVerification.Store(store)
      }.run { _ in }
    }
    let result = await task.result
    #expect(throws: CatalogError.self) { try result.get() }
  }

  // MARK: Events

  private func run(
    _ rows: [ExaminedObject], _ store: DamagedStore, reading: Bool
  ) async throws -> [VerificationEvent] {
    try await collected { [here] tell in
      try await StoreVerification(catalog: Rows(here, rows), width: 3, readsObjects: reading) {
        _ throws(UploadError) in StoreVerification.Store(store)
      }.run(tell: tell)
    }
  }

  private func collected(
    _ body: (@Sendable (VerificationEvent) async -> Void) async throws -> Void
  ) async throws -> [VerificationEvent] {
    let seen = Collected()
    try await body { event in seen.events.withLock { $0.append(event) } }
    return seen.events.withLock { $0 }
  }

  private final class Collected: Sendable {
    let events = Mutex<[VerificationEvent]>([])
  }

  private func codes(_ events: [VerificationEvent]) -> [String] {
    events.compactMap { event in
      guard case .verified(let verified) = event else { return nil }
      let code = verified.verdict.code(expecting: verified.object.size)
      return ([verified.object.key.rawValue] + (code.map { [$0] } ?? [])).joined(separator: " ")
    }
  }
}

/// A catalog that returns the given rows.
private final class Rows: CatalogExamination {
  private let destination: Destination
  private let rows: [ExaminedObject]
  private let largest = Mutex(0)

  var largestPage: Int { largest.withLock { $0 } }

  init(_ destination: Destination, _ rows: [ExaminedObject]) {
    self.destination = destination
    self.rows = rows.sorted { $0.key.rawValue < $1.key.rawValue }
  }

  func damage() async throws(CatalogError) -> [String] { [] }
  func owners() async throws(CatalogError) -> [ExaminedOwner] { [] }
  func destinations() async throws(CatalogError) -> [Destination] { [destination] }

  func objects(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ExaminedObject] {
    largest.withLock { $0 = max($0, limit) }
    return Array(rows.drop { $0.key.rawValue <= key?.rawValue ?? "" }.prefix(limit))
  }
}

/// A store whose objects are damaged as a test specifies.
private final class DamagedStore: Uploader {
  enum Damage: Hashable {
    case whole, missing, cut, longer, flipped
    case failing(UploadError.Code)
  }
  private struct Held {
    let damage: Damage
    let size: Int64
    let digest: ContentDigest
  }
  private let held = Mutex<[ObjectKey: Held]>([:])
  private let gauge = Mutex((now: 0, most: 0))
  private let provesDigests: Bool

  let traits = UploadTraits(atomicCreate: true, resumable: false, verifiesChecksums: false, durable: true)
  let destination = Destination("memory:here")

  init(provesDigests: Bool = false) {
    self.provesDigests = provesDigests
  }

  /// The largest number of concurrent requests.
  var most: Int { gauge.withLock { $0.most } }

  /// Adds an object with its damage, and returns its row.
  func row(
    _ name: String, _ damage: Damage, state: ExaminedObject.State = .published
  ) throws -> ExaminedObject {
    let key = try #require(ObjectKey(name))
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: Array(name.utf8))))
    held.withLock { $0[key] = Held(damage: damage, size: 100, digest: digest) }
    let random = SystemRandomness()
    return ExaminedObject(
      id: PostID(at: Date(timeIntervalSince1970: 0), random: random), key: key, size: 100, digest: digest,
      state: state, changedAt: Date(timeIntervalSince1970: 0))
  }

  func prepare() async throws(UploadError) {}
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval { .gone }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    throw UploadError(.rejected, "not in this test")
  }

  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    if Task.isCancelled { throw UploadError(.cancelled, "cancelled") }
    gauge.withLock { gauge in
      gauge.now += 1
      gauge.most = max(gauge.most, gauge.now)
    }
    defer { gauge.withLock { $0.now -= 1 } }
    await Task.yield()
    guard let object = held.withLock({ $0[key] }), object.damage != .missing else { return nil }
    if case .failing(let code) = object.damage { throw UploadError(code, "no") }
    let size =
      object.damage == .cut ? object.size - 1 : object.damage == .longer ? object.size + 1 : object.size
    return StoredObject(
      key: key, url: "memory:", size: size, digest: provesDigests ? try await readBack(key) : nil)
  }

  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    guard let object = held.withLock({ $0[key] }) else { return nil }
    return object.damage == .flipped
      ? ContentDigest(sha256: object.digest.bytes.map { ~$0 }) : object.digest
  }
}
