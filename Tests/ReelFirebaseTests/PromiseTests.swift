import ReelCore
import ReelFakeGoogle
import ReelStorage
import ReelStorageTesting
import Testing

@testable import ReelRemoteStorage

/// The contract tests over the fake.
@Suite struct FirebasePromiseTests {
  @Test("the uploader keeps every promise", arguments: UploaderContractTest.all)
  func uploader(_ promise: UploaderContractTest) async throws {
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    try await promise.check(
      StoreUnderTest(largeSize: 3 << 18 + 3) { try await fake.uploader(checkpoints) })
    #expect(fake.objectNames.isEmpty)
  }

  /// Uploads that another process began are unknown here.
  @Test("the uploader keeps every promise with unshared checkpoints", arguments: UploaderContractTest.all)
  func alone(_ promise: UploaderContractTest) async throws {
    let fake = try await FakeGoogle.start()
    try await promise.check(StoreUnderTest(largeSize: 3 << 18 + 3) { try await fake.uploader() })
    #expect(fake.objectNames.isEmpty)
  }

  @Test("the recorder keeps every promise", arguments: PostRecorderContractTest.all)
  func recorder(_ promise: PostRecorderContractTest) async throws {
    let fake = try await FakeGoogle.start()
    try await promise.check { try await fake.posts() }
    #expect(fake.ids(in: "Post").isEmpty)
  }

  @Test(
    "the in-memory recorder and the retrying recorder keep every promise",
    arguments: PostRecorderContractTest.all)
  func memory(_ promise: PostRecorderContractTest) async throws {
    let memory = MemoryRecorder(of: Destination("memory:x"))
    try await promise.check { memory }
    try await promise.check { RetryingRecorder(base: memory) }
    #expect(memory.posts.isEmpty)
  }

  @Test("of several uploads under one name at once, only one wins")
  func oneWinner() async throws {
    for _ in 0..<10 {
      let fake = try await FakeGoogle.start()
      let key = try #require(ObjectKey("k.mp4"))
      let contents = (1...6).map { TestContent(200_000, seed: UInt8($0)) }
      let winners = try await withThrowingTaskGroup { group in
        for content in contents {
          group.addTask { () -> TestContent? in
            let uploader = try await fake.uploader()
            do throws(UploadError) {
              _ = try await uploader.upload(content.source, to: key) { _ in }
              return content
            } catch {
              #expect(error.code == .alreadyExists, "\(error)")
              return nil
            }
          }
        }
        return try await group.reduce(into: []) { $0 += [$1].compactMap { $0 } }
      }
      #expect(winners.count == 1)
      #expect(fake.object(key)?.bytes == winners.first?.bytes)
      #expect(fake.openSessions == 0)
    }
  }
}
