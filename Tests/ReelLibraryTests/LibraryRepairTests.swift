import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelLibrary

/// What a repair removes, and what it leaves because somebody else has used it meanwhile.
@Suite struct LibraryRepairTests {
  @Test(
    "an object and its record are removed once the intent is given up",
    arguments: [([true], ["given up", "withdrawn", "removed"]), ([false], ["given up"])])
  func holding(_ answers: [Bool], _ done: [String]) async throws {
    let log = Log()
    let catalog = try StaleIntent(answers, log)
    let store = LoggedStore(log: log)
    let examination = LibraryExamination(catalog: catalog, grace: .zero) { _ in store }
    let failures = try await LibraryRepair(
      catalog: catalog, examination: examination, recorders: { _ in LoggedRecorder(log: log) }
    ).run()
    #expect(failures.isEmpty)
    #expect(log.entries == done)
  }

  @Test("a name given up in a store that can't be listed is reported from its row")
  func givenUpUnseen() async throws {
    let catalog = try StaleIntent([], Log(), state: .givenUp)
    let found = try await LibraryExamination(catalog: catalog) { _ in nil }.run().findings
    #expect(found.map(\.kind) == [.storeUnreachable, .objectGivenUp])
    #expect(found.last?.subject == "k.mp4" && found.last?.repair == .byHand)
  }

  @Test(
    "a damaged object is replaced in one step, and only once its damage is proved",
    arguments: [
      (StoredAs.sound, [String]()), (.otherBytes, ["replaced"]), (.shorter, ["replaced"]), (.unreadable, []),
      (.gone, ["uploaded"]),
    ])
  func replacing(_ stored: StoredAs, _ done: [String]) async throws {
    let log = Log()
    let catalog = try StaleIntent([], log, state: .published)
    let store = LoggedStore(log: log, stored: stored)
    let failures = try await LibraryRepair(
      catalog: catalog, examination: LibraryExamination(catalog: catalog) { _ in store },
      supply: OneFile(), wanting: ["k.mp4"]
    ).run()
    #expect(log.entries == done)
    #expect(failures.map(\.code) == (stored == .unreadable ? ["denied"] : []))
  }

  @Test(
    "an object left under a name that was given up is removed if it is the one that was stored",
    arguments: [
      (StoredAs.sound, ["withdrawn", "removed"], [Finding.Kind.objectGivenUp], true),
      (.otherBytes, ["withdrawn"], [.objectGivenUp], false), (.gone, ["withdrawn"], [], false),
    ])
  func leftBehind(_ stored: StoredAs, _ done: [String], _ kinds: [Finding.Kind], _ isMended: Bool)
    async throws
  {
    let log = Log()
    let catalog = try StaleIntent([], log, state: .givenUp)
    let store = LoggedStore(log: log, stored: stored)
    let examination = LibraryExamination(catalog: catalog) { _ in store }
    let found = try await examination.run().findings
    #expect(found.map(\.kind) == kinds && found.allSatisfy { ($0.repair == .byFix) == isMended })
    _ = try await LibraryRepair(
      catalog: catalog, examination: examination, recorders: { _ in LoggedRecorder(log: log) }
    ).run()
    #expect(log.entries == done)
  }

  @Test(
    "a poster without a post is removed once no post can use it, if it is the one that was stored",
    arguments: [
      (true, StoredAs.sound, ["given up", "removed"], [String]()), (false, .sound, ["given up"], []),
      (true, .gone, ["given up"], []), (true, .otherBytes, ["given up"], []),
      (true, .shorter, ["given up"], []), (true, .unreadable, ["given up"], ["denied"]),
    ])
  func unneeded(_ isFree: Bool, _ stored: StoredAs, _ done: [String], _ codes: [String]) async throws {
    let log = Log()
    let catalog = try StaleIntent([isFree], log, state: .unneeded)
    let store = LoggedStore(log: log, stored: stored)
    let examination = LibraryExamination(catalog: catalog, grace: .zero) { _ in store }
    let kinds: [Finding.Kind] =
      switch stored {
      case .gone: []
      case .otherBytes, .shorter: [.objectGivenUp]
      case .sound, .unreadable: [.posterUnneeded]
      }
    #expect(try await examination.run().findings.map(\.kind) == kinds)
    let failures = try await LibraryRepair(catalog: catalog, examination: examination).run()
    #expect(log.entries == done && failures.map(\.code) == codes)
  }

  @Test("a poster that the store's database shows is kept")
  func shownElsewhere() async throws {
    let log = Log()
    let catalog = try StaleIntent([true], log, state: .unneeded)
    let store = LoggedStore(log: log, stored: .sound)
    let failures = try await LibraryRepair(
      catalog: catalog, examination: LibraryExamination(catalog: catalog, grace: .zero) { _ in store },
      recorders: { _ in LoggedRecorder(log: log, poster: ObjectKey("k.mp4")) }
    ).run()
    #expect(log.entries == ["given up"] && failures.map(\.code) == ["conflict"])
  }

  @Test("a poster that was named only recently is left alone, since a post may be about to use it")
  func young() async throws {
    let log = Log()
    let catalog = try StaleIntent([], log, state: .unneeded)
    let store = LoggedStore(log: log, stored: .sound)
    let longAgo = Duration.seconds(Date().timeIntervalSince1970 + 86_400)
    let examination = LibraryExamination(catalog: catalog, grace: longAgo) { _ in store }
    #expect(try await examination.run().findings.isEmpty)
    _ = try await LibraryRepair(catalog: catalog, examination: examination).run()
    #expect(log.entries.isEmpty)
  }
}

/// The condition of a post's object in the store.
enum StoredAs: Sendable {
  case sound, otherBytes, shorter, unreadable, gone
}

/// Supplies the bytes 1, 2, 3.
private struct OneFile: RestoreSource {
  func supply(
    _ wanted: [ExaminedObject], _ take: (ExaminedObject, UploadSource) async -> Void
  ) async -> [RepairFailure] {
    for object in wanted {
      await take(
        object,
        UploadSource(
          size: object.size, digest: object.digest, contentType: "video/mp4",
          bytes: MemoryBytes(bytes: [1, 2, 3])))
    }
    return []
  }
}

private final class Log: Sendable {
  private let kept = Mutex<[String]>([])
  var entries: [String] { kept.withLock { $0 } }
  func add(_ entry: String) { kept.withLock { $0.append(entry) } }
}

private let here = Destination("memory:here")

/// A catalog with one abandoned intent.
private final class StaleIntent: CatalogExamination, CatalogRepair {
  private let object: ExaminedObject
  private let answers: Mutex<[Bool]>
  private let log: Log

  init(_ answers: [Bool], _ log: Log, state: ExaminedObject.State = .waiting) throws {
    self.answers = Mutex(answers)
    self.log = log
    let epoch = Date(timeIntervalSince1970: 0)
    object = ExaminedObject(
      id: PostID(at: epoch, random: SystemRandomness()), key: try #require(ObjectKey("k.mp4")), size: 3,
      digest: try #require(ContentDigest(sha256: SHA256.hash(data: [1, 2, 3]))), state: state,
      changedAt: epoch)
  }

  func damage() async throws(CatalogError) -> [String] { [] }
  func owners() async throws(CatalogError) -> [ExaminedOwner] { [] }
  func destinations() async throws(CatalogError) -> [Destination] { [here] }
  func objects(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ExaminedObject] { key == nil ? [object] : [] }
  func releaseWhatTheDeadHold() async throws(CatalogError) {}
  func giveUp(_ id: PostID) async throws(CatalogError) -> Bool {
    log.add("given up")
    return answers.withLock { $0.removeFirst() }
  }
  func giveUpPoster(_ key: ObjectKey, in destination: Destination) async throws(CatalogError) -> Bool {
    log.add("given up")
    return answers.withLock { $0.removeFirst() }
  }
}

private struct LoggedStore: DamagedObjectReplacing, StoreExamination {
  let log: Log
  var stored = StoredAs.gone
  let traits = UploadTraits(atomicCreate: true, resumable: false, verifiesChecksums: false, durable: true)
  var destination: Destination { here }

  func prepare() async throws(UploadError) {}
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    log.add("uploaded")
    return StoredObject(key: key, url: "memory:", size: source.size, digest: source.digest)
  }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    stored == .gone
      ? nil : StoredObject(key: key, url: "memory:", size: stored == .shorter ? 2 : 3, digest: nil)
  }
  func replaceDamaged(_ key: ObjectKey, with source: UploadSource) async throws(UploadError) -> Bool {
    let isDamaged = try await isDamaged(key, source)
    if isDamaged { log.add("replaced") }
    return isDamaged
  }
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    log.add("removed")
    return .gone
  }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    if stored == .unreadable { throw UploadError(.denied, "in this test") }
    return ContentDigest(sha256: SHA256.hash(data: stored == .sound ? [1, 2, 3] : [3, 2, 1]))
  }
  func names() async throws(UploadError) -> [String] { stored == .gone ? [] : ["k.mp4"] }
  func leftovers() async throws(UploadError) -> [String] { [] }
  func removeLeftovers() async throws(UploadError) {}
}

private struct LoggedRecorder: PostRecorder {
  let log: Log
  var poster: ObjectKey?
  var destination: Destination { here }

  func prepare() async throws(UploadError) {}
  func record(_ post: Post) async throws(UploadError) -> RecordedPost {
    throw UploadError(.rejected, "not in this test")
  }
  func find(_ id: PostID) async throws(UploadError) -> PostRecord? {
    poster.map { PostRecord(video: nil, poster: $0) }
  }
  func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost {
    try await record(post)
  }
  func withdraw(_ id: PostID) async throws(UploadError) { log.add("withdrawn") }
}
