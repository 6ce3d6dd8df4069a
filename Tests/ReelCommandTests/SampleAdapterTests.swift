import ReelModel
import ReelUploaderPromises
import Testing

@testable import ReelCommand

/// The adapters of `Samples/adapters` keep every promise.
@Suite struct SampleAdapterTests {
  @Test("with a copy of the bytes", arguments: SampleAdapter.allCases, UploaderPromise.all)
  func copied(_ adapter: SampleAdapter, _ promise: UploaderPromise) async throws {
    let folder = try AdapterFolder()
    try await promise.check(
      StoreUnderTest(largeSize: 9 << 20 + 3) { try folder.uploader(adapter.path, publicBaseURL: nil) })
    try await sweep(try folder.uploader(adapter.path), after: promise)
    #expect(folder.names(in: "store") == [])
    #expect(folder.names(in: "store/.staging") == [])
  }

  @Test("with the file itself", arguments: SampleAdapter.allCases, UploaderPromise.all)
  func handedOver(_ adapter: SampleAdapter, _ promise: UploaderPromise) async throws {
    let folder = try AdapterFolder()
    try await promise.check(
      StoreUnderTest(sources: .files(folder: folder.path), largeSize: 9 << 20 + 3) {
        try folder.uploader(adapter.path, store: "north/clips")
      })
    try await sweep(try folder.uploader(adapter.path, store: "north/clips"), after: promise)
    #expect(folder.names(in: "store/north/clips") == [])
    #expect(folder.names(in: "store/north/clips/.staging") == [])
  }

  /// Who is ended in the middle removes what it has staged, or, killed before it comes to that on a busy machine, the
  /// next one that prepares does.
  private func sweep(_ uploader: CommandUploader, after promise: UploaderPromise) async throws {
    guard promise.name.hasPrefix("cancel.") || promise.name.hasPrefix("source.") else { return }
    try await uploader.prepare()
  }
}
