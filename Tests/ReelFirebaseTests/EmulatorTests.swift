import Foundation
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelStorageTesting
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

/// gcp-storage-emulator has resumable sessions, 308 with Range, status queries and checksums. It ignores tokens and
/// `ifGenerationMatch`.
@Suite(
  "over gcp-storage-emulator",
  .enabled(if: GoogleEmulator.storage != nil, GoogleEmulator.storageAbsence), .shortTime, .notQuick)
struct StorageEmulatorTests {
  private static let bucket = "my-app.appspot.com"

  private func uploader(
    _ port: Int, _ checkpoints: any UploadCheckpoints, transport: any HTTPTransport, bucket: String = bucket
  ) throws -> FirebaseUploader {
    FirebaseUploader(
      try StorageBucket(
        bucket, prefix: "videos", emulator: HTTPOrigin(isSecure: false, host: "127.0.0.1", port: port)),
      transport: transport, tokens: EmulatorToken(), checkpoints: checkpoints, partSize: 1 << 18)
  }

  @Test("it keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let server = try await GoogleEmulator.startStorage(bucket: Self.bucket)
    let checkpoints = MemoryCheckpoints()
    let transport = try CurlTransport.patient()
    try await promise.check(
      StoreUnderTest(largeSize: 3 << 18 + 3) {
        try uploader(server.port, checkpoints, transport: transport)
      })
    await server.stop()
  }

  @Test("an interrupted upload resumes, and the object is found with its digest")
  func goesOn() async throws {
    let server = try await GoogleEmulator.startStorage(bucket: Self.bucket)
    let checkpoints = MemoryCheckpoints()
    let content = TestContent(5 << 18 + 17)
    let key = try #require(ObjectKey("k.mp4"))
    let breaking = BreakingTransport(base: try CurlTransport.patient(), words: "PUT", from: 4)
    let first = try uploader(server.port, checkpoints, transport: breaking)
    await #expect(throws: UploadError.self) { try await first.upload(content.source, to: key) { _ in } }
    let counting = BreakingTransport(base: try CurlTransport.patient(), words: "PUT", from: .max)
    let second = try uploader(server.port, checkpoints, transport: counting)
    #expect(try await second.find(key) == nil)
    let stored = try await second.upload(content.source, to: key) { _ in }
    #expect(try await second.find(key) == stored)
    #expect(try await second.readBack(key) == content.digest)
    #expect(counting.bytes == content.bytes.count - 3 << 18)
    #expect(try await second.names() == ["k.mp4"])
    await server.stop()
  }

  @Test("the emulator refuses bytes with another checksum, and stores nothing")
  func otherBytes() async throws {
    let server = try await GoogleEmulator.startStorage(bucket: Self.bucket)
    let corrupting = BreakingTransport(base: try CurlTransport.patient(), words: "PUT", corrupting: 1)
    let uploader = try uploader(server.port, MemoryCheckpoints(), transport: corrupting)
    let key = try #require(ObjectKey("k.mp4"))
    let error = await #expect(throws: UploadError.self) {
      try await uploader.upload(TestContent(1000).source, to: key) { _ in }
    }
    #expect(
      error?.code == .interrupted && error?.message.contains("CRC32C") == true, "\(error?.message ?? "")")
    #expect(try await uploader.find(key) == nil)
    _ = try await uploader.upload(TestContent(1000).source, to: key) { _ in }
    await server.stop()
  }

  @Test("a missing bucket is reported")
  func noBucket() async throws {
    let server = try await GoogleEmulator.startStorage(bucket: Self.bucket)
    let uploader = try uploader(
      server.port, MemoryCheckpoints(), transport: try CurlTransport.patient(),
      bucket: "no-such-bucket")
    let error = await #expect(throws: UploadError.self) { try await uploader.prepare() }
    #expect(error?.code == .storeUnusable && error?.message.contains("no-such-bucket") == true)
    await server.stop()
  }
}

/// Google's Firestore emulator has transactions, preconditions and ABORTED.
@Suite(
  "over the Firestore emulator",
  .enabled(if: GoogleEmulator.firestore != nil, GoogleEmulator.firestoreAbsence), .shortTime, .notQuick)
struct FirestoreEmulatorTests {
  /// One emulator serves many separate projects.
  private func posts(_ port: Int, project: String) throws -> FirestorePosts {
    FirestorePosts(
      try #require(
        FirestoreDatabase(
          project: project, emulator: HTTPOrigin(isSecure: false, host: "127.0.0.1", port: port))),
      of: Destination("firebase://my-app"), transport: try CurlTransport.patient(),
      tokens: EmulatorToken())
  }

  @Test("the recorder keeps every promise")
  func promises() async throws {
    let server = try await GoogleEmulator.startFirestore()
    for (index, promise) in PostRecorderContractTest.all.enumerated() {
      try await promise.check {
        RetryingRecorder(base: try posts(server.port, project: "promise-\(index)"))
      }
    }
    await server.stop()
  }

  @Test("two libraries that publish at once get different numbers, and a retry creates no second document")
  func twoLibraries() async throws {
    let server = try await GoogleEmulator.startFirestore()
    let libraries = try (0..<2).map { _ in
      RetryingRecorder(base: try posts(server.port, project: "two-libraries"))
    }
    let twice = try newPost()
    let first = try await libraries[0].record(twice)
    let numbers = try await withThrowingTaskGroup { group in
      for index in 0..<12 {
        group.addTask { try await libraries[index % 2].record(try newPost()).pageNumber }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(numbers.sorted() == Array(2...13))
    #expect(try await libraries[1].record(twice) == first)
    await server.stop()
  }

  @Test("a commit whose reply is lost is found")
  func lostReply() async throws {
    let server = try await GoogleEmulator.startFirestore()
    let database = try #require(
      FirestoreDatabase(
        project: "lost-reply", emulator: HTTPOrigin(isSecure: false, host: "127.0.0.1", port: server.port)))
    let losing = BreakingTransport(base: try CurlTransport.patient(), words: ":commit", losing: 1)
    let posts = RetryingRecorder(
      base: FirestorePosts(
        database, of: Destination("firebase://my-app"), transport: losing, tokens: EmulatorToken()))
    let post = try newPost()
    #expect(try await posts.record(post).pageNumber == 1)
    #expect(try await posts.record(try newPost()).pageNumber == 2)
    #expect(try await posts.record(post).pageNumber == 1)
    await server.stop()
  }
}
