import Foundation
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

/// What servers can't do, and servers that do not speak tus.
@Suite(.shortTime, .notQuick) struct TusMistakeTests {
  @Test(
    "a server that speaks no tus is reported in one sentence",
    .needsPython)
  func noTus() async throws {
    let fake = try await FakeTus.start(FakeTus.everything, ["--token", "t0ken"])
    let transport = try CurlTransport.patient()
    for (path, code, hint) in [
      ("/nothing", UploadError.Code.storeUnusable, "does not speak tus 1.0"),
      ("/files/", .denied, "credentials"),
    ] {
      let uploader = TusUploader(
        try #require(TusEndpoint("tus+http://127.0.0.1:\(fake.server.port)\(path)")),
        transport: transport,
        checkpoints: MemoryCheckpoints())
      let error = try #require(await #expect(throws: UploadError.self) { try await uploader.prepare() })
      #expect(error.code == code && error.message.contains(hint), "\(error.message)")
    }
    try await fake.uploader(MemoryCheckpoints(), token: Secret("t0ken")).prepare()
    let bare = try await FakeTus.start("termination")
    let error = await #expect(throws: UploadError.self) {
      try await bare.uploader(MemoryCheckpoints()).prepare()
    }
    #expect(error?.code == .storeUnusable && error?.message.contains("creates no uploads") == true)
  }

  @Test(
    "each limit of a server is reported", .needsPython)
  func limits() async throws {
    let bytes = [UInt8](repeating: 7, count: 100)
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: bytes)))
    let source = UploadSource(
      size: 100, digest: digest, contentType: "video/mp4", bytes: MemoryBytes(bytes: bytes))
    let key = try #require(ObjectKey("k.mp4"))

    let small = try await FakeTus.start("creation", ["--max-size", "99"])
    let tooLarge = await #expect(throws: UploadError.self) {
      try await small.uploader(MemoryCheckpoints()).upload(source, to: key) { _ in }
    }
    #expect(tooLarge?.code == .tooLarge)

    let checkpoints = MemoryCheckpoints()
    let mute = try await FakeTus.start("creation", ["--no-get"])
    let uploader = try mute.uploader(checkpoints)
    let object = try await uploader.upload(source, to: key) { _ in }
    // The server proves nothing and is not claimed to.
    #expect(object.digest == nil && object.clientDigest == digest && uploader.traits.trustsClientDigest)
    for task in [{ _ = try await uploader.remove(key) }, { _ = try await uploader.readBack(key) }] {
      let error = await #expect(throws: UploadError.self) { try await task() }
      #expect(error?.code == .rejected)
    }
    #expect(!uploader.traits.removes)
    #expect(try await uploader.find(key)?.size == 100)

    // A file that the server has passed on is looked up where viewers find it.
    let viewers = try await FakeTus.start("creation")
    _ = try await viewers.uploader(MemoryCheckpoints()).upload(source, to: key) { _ in }
    let id = try #require(try await viewers.seen().uploads.first?.id)
    let elsewhere = try mute.uploader(
      checkpoints, publicBaseURL: "http://127.0.0.1:\(viewers.server.port)/files/\(id)?{key}")
    #expect(try await elsewhere.readBack(key) == digest)
    try await mute.expire(all: true)
    #expect(try await uploader.find(key) == nil)
  }

  @Test(
    "where the reply to a part lacks the offset, HEAD supplies it",
    .needsPython)
  func withoutOffset() async throws {
    let source = TestSource(size: 2_500_000)
    let key = try #require(ObjectKey("k.mp4"))
    let fake = try await FakeTus.start("creation", ["--no-offset"])
    _ = try await fake.uploader(MemoryCheckpoints()).upload(source.upload, to: key) { _ in }
    let seen = try await fake.seen()
    #expect(seen.whole.count == 1 && seen.uploads.count == 1 && seen.received == 2_500_000)
  }
}
