import ReelCore
import ReelStorage
import ReelStorageTesting
import Testing

@Suite struct MemoryUploaderTests {
  @Test("keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let uploader = MemoryUploader()
    try await promise.check(StoreUnderTest(largeSize: 3 << 20 + 1) { uploader })
    #expect(uploader.keys.isEmpty)
  }

  @Test func showsWhatItHolds() async throws {
    let uploader = MemoryUploader(name: "a test's")
    try await uploader.upload(.of([1, 2, 3]), to: key("b.mp4"))
    try await uploader.upload(.of([]), to: key("a.mp4"))
    #expect(uploader.destination.name == "memory:a test's")
    #expect(uploader.keys.map(\.rawValue) == ["a.mp4", "b.mp4"])
    #expect(try uploader.bytes(of: key("b.mp4")) == [1, 2, 3])
    #expect(try uploader.bytes(of: key("c.mp4")) == nil)
  }
}
