import Foundation
import ReelCore
import ReelCrypto
import ReelFakeGoogle
import ReelFaultCampaign
import ReelLibrary
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

@Suite("one object, one document and one post survive every fault", .serialized, .shortTime, .notQuick)
struct FirebaseFaultTests {
  /// One part, and three parts of the smallest size.
  @Test("over a fake of Storage, Firestore and the token server", arguments: [70_001, 2 << 18 + 70_001])
  func fake(_ size: Int) async throws {
    let campaign = FaultCampaign(
      "Firebase fake, \(size) bytes", size: size, kinds: FaultKind.common + FaultKind.google,
      sparing: Work.sparesDocuments
    ) { GoogleBehindProxy(fake: try await FakeGoogle.start()) }
    try await campaign.run()
  }

  @Test("with a poster")
  func withPoster() async throws {
    let campaign = FaultCampaign(
      "Firebase fake, with a poster", size: 70_001, kinds: FaultKind.common + FaultKind.google,
      hasPoster: true,
      oneKindIn: 3, sparing: Work.sparesDocuments
    ) { GoogleBehindProxy(fake: try await FakeGoogle.start()) }
    try await campaign.run()
  }

  @Test("with tokens that expire after every third request")
  func shortTokens() async throws {
    // Faults of the token server are left out: an upload fails if its token is refused twice in a row.
    let kinds = FaultKind.broken + FaultKind.storage + FaultKind.firestore
    let campaign = FaultCampaign(
      "Firebase fake, short tokens", size: 1 << 18 + 70_001, kinds: kinds, sparing: Work.sparesDocuments
    ) {
      let fake = try await FakeGoogle.start()
      fake.state.withLock { $0.tokenUses = 3 }
      return GoogleBehindProxy(fake: fake)
    }
    try await campaign.run()
  }
}

/// An error in the format of Google's services (https://cloud.google.com/apis/design/errors#http_mapping).
private func refusal(_ code: Int, _ status: String, _ message: String = "a test") -> CannedReply {
  CannedReply(
    code, [("content-type", "application/json")],
    body: #"{"error":{"code":\#(code),"status":"\#(status)","message":"\#(message)"}}"#)
}

/// The requests that a fault applies to, as words in their shape.
private enum Work {
  static let documents: Set = [":beginTransaction", ":batchGet", ":commit"]
  /// All requests but those to the token server.
  static let withToken: Set = documents.union(["GET", "PUT", "uploadType"])
  /// Firestore verifies no checksums: only TLS detects a bit that was flipped on the way.
  static let sparesDocuments: @Sendable (FaultKind, String) -> Bool = { kind, shape in
    kind.isSilentDamage && documents.contains { shape.contains($0) }
  }
}

extension FaultKind {
  /// The faults that only Google's services can produce.
  static let google: [FaultKind] = storage + tokens + firestore

  static let storage: [FaultKind] = [
    FaultKind(
      "a wrong md5Hash",
      .edit { $0.replaceText(after: "\"md5Hash\":\"", before: "\"", with: "AAAAAAAAAAAAAAAAAAAAAA==") },
      passes: false),
    FaultKind(
      "a wrong crc32c", .edit { $0.replaceText(after: "\"crc32c\":\"", before: "\"", with: "AAAAAA==") },
      passes: false),
    FaultKind(
      "a wrong size", .edit { $0.replaceText(after: "\"size\":\"", before: "\"", with: "3") }, passes: false
    ),
    FaultKind(
      "another's sha256",
      .edit {
        $0.replaceText(after: "\"sha256\":\"", before: "\"", with: String(repeating: "0", count: 64))
      }, passes: false),
    FaultKind("no Range", .edit { $0["range"] = nil }, passes: false),
    FaultKind(
      "a Range that is too short", .edit { if $0["range"] != nil { $0["range"] = "bytes=0-9" } },
      passes: false),
    FaultKind(
      "a Range that is too long", .edit { if $0["range"] != nil { $0["range"] = "bytes=0-99999999" } },
      passes: false),
    FaultKind("no Location", .edit { $0["location"] = nil }, passes: false),
    FaultKind(
      "a Location elsewhere",
      .edit { if $0["location"] != nil { $0["location"] = "{elsewhere}/upload?upload_id=1" } },
      passes: false),
    FaultKind("410", .answer(CannedReply(410)), passes: false),
    FaultKind("410 after it was done", .replace(CannedReply(410)), passes: false),
    FaultKind("499", .answer(CannedReply(499)), passes: false),
    FaultKind(
      "403, rateLimitExceeded",
      .answer(
        CannedReply(403, body: #"{"error":{"code":403,"errors":[{"reason":"rateLimitExceeded"}]}}"#)),
      on: Work.withToken),
  ]

  private static let tokens: [FaultKind] = [
    FaultKind(
      "a token that has ended", .answer(refusal(401, "UNAUTHENTICATED")), on: Work.withToken),
    FaultKind(
      "invalid_grant",
      .answer(CannedReply(400, body: #"{"error":"invalid_grant","error_description":"a test"}"#)),
      passes: false),
    FaultKind(
      "a token without letters",
      .edit { $0.replaceText(after: "\"access_token\":\"", before: "\"", with: "") },
      passes: false),
    FaultKind(
      "another token",
      .edit { $0.replaceText(after: "\"access_token\":\"", before: "\"", with: "ya29.nobodys") }),
  ]

  static let firestore: [FaultKind] = [
    FaultKind("ABORTED", .answer(refusal(409, "ABORTED")), on: Work.documents),
    FaultKind("ABORTED after it was done", .replace(refusal(409, "ABORTED")), on: Work.documents),
    FaultKind("ALREADY_EXISTS", .answer(refusal(409, "ALREADY_EXISTS")), on: [":commit"]),
    FaultKind("UNAVAILABLE", .answer(refusal(503, "UNAVAILABLE"))),
    FaultKind("RESOURCE_EXHAUSTED", .answer(refusal(429, "RESOURCE_EXHAUSTED"))),
    FaultKind("DEADLINE_EXCEEDED after it was done", .replace(refusal(504, "DEADLINE_EXCEEDED"))),
    FaultKind("PERMISSION_DENIED", .answer(refusal(403, "PERMISSION_DENIED")), passes: false),
    FaultKind("NOT_FOUND", .answer(refusal(404, "NOT_FOUND")), passes: false),
    FaultKind("FAILED_PRECONDITION", .answer(refusal(400, "FAILED_PRECONDITION")), passes: false),
    FaultKind(
      "a transaction that has ended",
      .answer(
        refusal(
          400, "INVALID_ARGUMENT", "The referenced transaction has expired or is no longer valid.")),
      on: [":batchGet", ":commit"]),
    FaultKind("200 and {}", .answer(CannedReply(200, body: "{}")), passes: false),
    FaultKind("200 and {}, after it was done", .replace(CannedReply(200, body: "{}")), passes: false),
    FaultKind("200 and []", .answer(CannedReply(200, body: "[]")), passes: false),
    FaultKind(
      "no counter", .edit { $0.replaceText(after: "\"found\":", before: "}", with: "null") }, passes: false),
  ]
}

/// An in-memory Google and one service account for all of it, as in the product.
private struct GoogleBehindProxy: StoreBehindProxy {
  let fake: FakeGoogle

  var port: Int { fake.port }
  /// The marker in every upload's address, the prefix of every token, and the key.
  var secrets: [String] { [FakeGoogle.sessionMark, "ya29.", "PRIVATE KEY"] }

  func services(
    through port: Int, _ transport: any HTTPTransport, _ catalog: SQLiteCatalog
  ) async throws -> (any Uploader, (any PostRecorder)?) {
    fake.stand(behind: port)
    let tokens = try await fake.tokens(transport)
    let bucket = try StorageBucket(FakeGoogle.bucket, prefix: "videos", emulator: fake.origin)
    let database = try #require(FirestoreDatabase(project: FakeGoogle.project, emulator: fake.origin))
    return (
      FirebaseUploader(
        bucket, transport: transport, tokens: tokens, checkpoints: catalog, partSize: 1 << 18),
      FirestorePosts(
        database, of: bucket.destination, transport: transport, tokens: tokens, pause: HurriedClock())
    )
  }

  func contents() async throws -> StoreContents {
    let stored = fake.state.withLock { $0.objects }
    return StoreContents(
      objects: stored.map {
        ($0.key.replacing("videos/", with: ""), ContentDigest(sha256: SHA256.hash(data: $0.value.bytes)))
      },
      documents: fake.ids(in: "Post").map { id in
        fake.fields("Post/\(id)")?["video"]?["stringValue"] as? String ?? "?"
      })
  }

  func stop() async { await fake.stop() }
}
