import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelLibrary
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// A bucket's contents are compared against a catalog.
@Suite(.shortTime) struct VerifyingBucketTests {
  /// Rows as a catalog would return them.
  private struct Rows: CatalogExamination {
    let destination: Destination
    let rows: [ExaminedObject]

    func damage() async throws(CatalogError) -> [String] { [] }
    func owners() async throws(CatalogError) -> [ExaminedOwner] { [] }
    func destinations() async throws(CatalogError) -> [Destination] { [destination] }

    func objects(
      in destination: Destination, after key: ObjectKey?, limit: Int
    ) async throws(CatalogError) -> [ExaminedObject] {
      Array(rows.drop { $0.key.rawValue <= key?.rawValue ?? "" }.prefix(limit))
    }
  }

  /// Two published objects, of which the bucket has only the first.
  private func rows(_ transport: ScriptedTransport) async throws -> Rows {
    let store = try uploader(transport)
    let source = TestSource(size: 9).upload
    let rows = try ["a.mp4", "b.mp4"].map { name in
      ExaminedObject(
        id: PostID(at: StoppedClock().now(), random: SystemRandomness()), key: try #require(ObjectKey(name)),
        size: source.size, digest: source.digest, state: .published, changedAt: StoppedClock().now())
    }
    _ = try await store.upload(source, to: rows[0].key) { _ in }
    return Rows(destination: store.destination, rows: rows)
  }

  private func verdicts(_ rows: Rows, _ transport: ScriptedTransport) async throws -> [String] {
    let store = try uploader(transport)
    let told = Mutex<[String]>([])
    try await StoreVerification(catalog: rows) { _ throws(UploadError) in
      StoreVerification.Store(store)
    }.run { event in
      told.withLock { told in
        switch event {
        case .verified(let verified):
          told.append(verified.verdict.code(expecting: verified.object.size) ?? "sound")
        case .unreachable(_, let error): told.append("unreachable: \(error.code)")
        case .notLookedAt: told.append("not looked at")
        }
      }
    }
    return told.withLock { $0 }
  }

  @Test("a missing object is reported if its bucket exists, which is checked once")
  func missing() async throws {
    let transport = FakeS3().transport()
    let rows = try await rows(transport)
    let before = transport.calls.count
    #expect(try await verdicts(rows, transport) == ["sound", "missing"])
    #expect(transport.calls.count == before + 3)
  }

  @Test(
    "if the bucket is gone, or only a proxy answers, no object is reported lost", arguments: [true, false])
  func gone(_ isBucket: Bool) async throws {
    let isGone = Mutex(false)
    let transport = FakeS3 { sent in
      guard isGone.withLock({ $0 }) else { return nil }
      if sent.call.method == .head { return FakeS3.empty(404) }
      return isBucket
        ? FakeS3.error(404, "NoSuchBucket")
        : HTTPReply(status: .notFound, body: Array("404 page not found".utf8))
    }.transport()
    let rows = try await rows(transport)
    isGone.withLock { $0 = true }
    let expected = isBucket ? "unreachable: storeUnusable" : "unreachable: unavailable"
    #expect(try await verdicts(rows, transport) == [expected])
  }

  @Test(
    "a length that only a listing reports does not prove that the object differs", arguments: [true, false])
  func listedLength(_ isOther: Bool) async throws {
    let fake = FakeS3()
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      return HTTPReply(
        status: reply.status, fields: reply.fields,
        body: Array(
          String(decoding: reply.body, as: UTF8.self).replacing("<Size>9</Size>", with: "<Size>8</Size>").utf8
        )
      )
    }
    let rows = try await rows(transport)
    if isOther { fake.bucket.withLock { _ = $0.objects["a/b/a.mp4"]?.bytes.popLast() } }
    let store = try uploader(transport)
    let (findings, _) = try await LibraryExamination(catalog: rows, clock: StoppedClock()) {
      _ throws(UploadError) in store
    }.run()
    #expect(findings.count { $0.kind == .objectDiffers } == (isOther ? 1 : 0))
  }
}
