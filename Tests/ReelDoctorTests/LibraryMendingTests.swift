import Crypto
import FoundationEssentials
import ReelModel
import ReelUploading
import Synchronization
import Testing

@testable import ReelDoctor

/// What is removed, and what is not when somebody else has gone on with it meanwhile.
@Suite struct LibraryMendingTests {
  @Test(
    "an object and its record go only while the intent is ours",
    arguments: [
      ([true, true], ["withdrawn", "removed", "given up"]), ([true, false], ["withdrawn"]), ([false], []),
    ])
  func holding(_ answers: [Bool], _ done: [String]) async throws {
    let log = Log()
    let catalog = try StaleIntent(answers, log)
    let store = LoggedStore(log: log)
    let examination = LibraryExamination(catalog: catalog, grace: .zero) { _ in store }
    let failures = try await LibraryMending(
      catalog: catalog, examination: examination, recorders: { _ in LoggedRecorder(log: log) }
    ).run()
    #expect(failures.isEmpty)
    #expect(log.entries == done)
  }
}

private final class Log: Sendable {
  private let kept = Mutex<[String]>([])
  var entries: [String] { kept.withLock { $0 } }
  func add(_ entry: String) { kept.withLock { $0.append(entry) } }
}

private let here = Destination("memory:here")

/// A catalog with one intent that nobody goes on with.
private final class StaleIntent: CatalogExamination, CatalogMending {
  private let object: ExaminedObject
  private let answers: Mutex<[Bool]>
  private let log: Log

  init(_ answers: [Bool], _ log: Log) throws {
    self.answers = Mutex(answers)
    self.log = log
    let epoch = Date(timeIntervalSince1970: 0)
    object = ExaminedObject(
      id: PostID(at: epoch, random: SystemRandomness()), key: try #require(ObjectKey("k.mp4")), size: 3,
      digest: try #require(ContentDigest(sha256: SHA256.hash(data: [1, 2, 3]))), state: .waiting,
      changedAt: epoch)
  }

  func damage() async throws(CatalogError) -> [String] { [] }
  func owners() async throws(CatalogError) -> [ExaminedOwner] { [] }
  func destinations() async throws(CatalogError) -> [Destination] { [here] }
  func objects(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ExaminedObject] { key == nil ? [object] : [] }
  func releaseWhatTheDeadHold() async throws(CatalogError) {}
  func takeOver(_ id: PostID) async throws(CatalogError) -> Intent? {
    Intent(
      id: id, key: object.key,
      publication: Publication(digest: object.digest, destination: here, authorID: nil), attempt: 2)
  }
  func holds(_ intent: Intent) async throws(CatalogError) -> Bool { answers.withLock { $0.removeFirst() } }
  func giveUp(_ intent: Intent) async throws(CatalogError) { log.add("given up") }
}

private struct LoggedStore: Uploader, StoreExamination {
  let log: Log
  let traits = UploadTraits(atomicCreate: true, resumable: false, verifiesChecksums: false, durable: true)
  var destination: Destination { here }

  func prepare() async throws(UploadError) {}
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject { throw UploadError(.rejected, "not in this test") }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { nil }
  func remove(_ key: ObjectKey) async throws(UploadError) { log.add("removed") }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? { nil }
  func names() async throws(UploadError) -> [String] { [] }
  func leftovers() async throws(UploadError) -> [String] { [] }
  func removeLeftovers() async throws(UploadError) {}
}

private struct LoggedRecorder: PostRecorder {
  let log: Log
  var destination: Destination { here }

  func prepare() async throws(UploadError) {}
  func record(_ post: Post) async throws(UploadError) -> RecordedPost {
    throw UploadError(.rejected, "not in this test")
  }
  func find(_ id: PostID) async throws(UploadError) -> PostRecord? { nil }
  func withdraw(_ id: PostID) async throws(UploadError) { log.add("withdrawn") }
}
