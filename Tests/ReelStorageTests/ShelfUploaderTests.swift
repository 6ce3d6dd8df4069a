// docs/adding-an-uploader.md shows this test; a test compares the two.

import ReelTesting
import Testing

@Suite struct ShelfUploaderTests {
  @Test("a shelf keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let client = FakeShelf()
    try await promise.check(
      StoreUnderTest(largeSize: 3 << 20 + 1) { ShelfUploader(client: client, shelf: "tests") })
    #expect(await client.isEmpty)
  }
}
