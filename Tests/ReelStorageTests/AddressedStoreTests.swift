import Reel
import ReelTestSupport
import Testing

@Suite("a store made from its address") struct AddressedStoreTests {
  @Test("a folder without posts need not exist, and is created when it is prepared")
  func folder() async throws {
    let folder = try TemporaryFolder()
    let store = try await AddressedStore.open(
      at: folder.path(of: "media"), publicBaseURL: "https://media.example/v",
      checkpoints: MemoryCheckpoints())
    #expect(store.folder == folder.path(of: "media"))
    #expect(try store.recorder() == nil)
    try await store.checkIsMounted(in: MemoryCatalog())
    #expect(try folder.names().isEmpty)
    try await store.uploader.prepare()
    #expect(try folder.names() == ["media"])
  }

  @Test(
    "an address of no store is rejected",
    arguments: [
      ("", .empty), ("gopher://host", .unsupported), ("tus+https://host/?a", .notAServer),
      ("command:a%0", .notAPath), ("firebase://B", .notABucket),
    ] as [(String, DestinationAddressError.Code)])
  func refusals(address: String, code: DestinationAddressError.Code) async throws {
    let error = await #expect(throws: DestinationAddressError.self) {
      try await AddressedStore.open(at: address, checkpoints: MemoryCheckpoints())
    }
    #expect(error?.code == code)
  }
}
