import ReelCore
import ReelStorageTesting
import Testing

@testable import ReelStorage

/// The adapters in `Samples/adapters` keep every promise.
@Suite struct SampleAdapterTests {
  @Test("with a copy of the bytes", arguments: SampleAdapter.allCases, UploaderContractTest.all)
  func copied(_ adapter: SampleAdapter, _ promise: UploaderContractTest) async throws {
    let folder = try AdapterFolder()
    try await promise.check(
      StoreUnderTest(largeSize: 9 << 20 + 3) {
        try folder.uploader(adapter.path, publicBaseURL: nil, grace: Self.grace)
      })
    #expect(folder.names(in: "store") == [])
    #expect(folder.names(in: "store/.staging") == [])
  }

  @Test("with the file itself", arguments: SampleAdapter.allCases, UploaderContractTest.all)
  func clientDigest(_ adapter: SampleAdapter, _ promise: UploaderContractTest) async throws {
    let folder = try AdapterFolder()
    try await promise.check(
      StoreUnderTest(sources: .files(folder: folder.path), largeSize: 9 << 20 + 3) {
        try folder.uploader(adapter.path, store: "north/clips", grace: Self.grace)
      })
    #expect(folder.names(in: "store/north/clips") == [])
    #expect(folder.names(in: "store/north/clips/.staging") == [])
  }

  /// An adapter that is stopped midway has time to remove what it staged, even on a busy machine.
  private static let grace = Duration.seconds(120)
}
