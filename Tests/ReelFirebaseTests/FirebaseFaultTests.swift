#if HTTP
  import Crypto
  import Foundation
  import ReelCatalog
  import ReelFaultCampaign
  import ReelGoogleDouble
  import ReelHTTP
  import ReelModel
  import Testing

  @testable import ReelFirebase

  @Suite("one object, one document and one post through every fault", .serialized, .timeLimit(.minutes(60)))
  struct FirebaseFaultTests {
    /// Three parts of the smallest size.
    @Test(arguments: [70_001, 2 << 18 + 70_001])
    func double(_ size: Int) async throws {
      let campaign = FaultCampaign(
        "Firebase double, \(size) bytes", size: size, kinds: FaultKind.common + FaultKind.google, samples: 1
      ) { GoogleBehindProxy(double: try await GoogleDouble.start()) }
      #expect(try await campaign.run() == [])
    }
  }

  extension FaultKind {
    /// What only Google's services can say, or lie about.
    static let google: [FaultKind] = [
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
      FaultKind("no Range", .edit { $0["range"] = nil }, passes: false),
      FaultKind(
        "a Range that is too short", .edit { if $0["range"] != nil { $0["range"] = "bytes=0-9" } },
        passes: false),
      FaultKind("no Location", .edit { $0["location"] = nil }, passes: false),
      FaultKind(
        "ABORTED",
        .answer(CannedReply(409, body: #"{"error":{"code":409,"status":"ABORTED","message":"a test"}}"#)),
        passes: false),
      FaultKind("410", .answer(CannedReply(410)), passes: false),
    ]
  }

  /// Google's part in memory.
  private struct GoogleBehindProxy: StoreBehindProxy {
    let double: GoogleDouble

    var port: Int { double.port }
    var secrets: [String] { [GoogleDouble.sessionMark] }

    func uploader(
      through port: Int, _ transport: any HTTPTransport, _ catalog: SQLiteCatalog
    ) async throws -> any Uploader {
      double.state.withLock { $0.proxyPort = port }
      return FirebaseUploader(
        try StorageBucket(GoogleDouble.bucket, prefix: "videos", emulator: double.origin),
        transport: transport, tokens: try await tokens(transport), checkpoints: catalog, partSize: 1 << 18)
    }

    func recorder(
      through port: Int, _ transport: any HTTPTransport
    ) async throws -> (any PostRecorder)? {
      FirestorePosts(
        try #require(FirestoreDatabase(project: GoogleDouble.project, emulator: double.origin)),
        of: Destination("firebase://\(GoogleDouble.bucket)/videos"), transport: transport,
        tokens: try await tokens(transport), pause: HurriedClock())
    }

    private func tokens(_ transport: any HTTPTransport) async throws -> ServiceAccountTokens {
      let key = try ServiceAccountKey(TestKey.file("\(double.origin)"), path: "key.json")
      return try await ServiceAccountTokens(key, transport: transport, clock: SystemWallClock())
    }

    func contents() async throws -> StoreContents {
      let state = double.state.withLock { $0 }
      return StoreContents(
        objects: state.objects.map {
          ($0.key.replacing("videos/", with: ""), ContentDigest(sha256: SHA256.hash(data: $0.value.bytes)))
        },
        documents: state.documents.keys.count { $0.contains("/Post/") })
    }

    func stop() async { await double.stop() }
  }
#endif
