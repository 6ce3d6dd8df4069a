import Foundation
import ReelCore
import ReelLibrary
import ReelStorage
import ReelStores
import ReelTesting
import Testing

@Suite("A store's folder that has posts", .shortTime)
struct MountedStoreTests {
  @Test("counts as mounted if another process fills it during the check, and as missing otherwise")
  func isFilledMeanwhile() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let away = bench.folder.appendingPathComponent("away")
    try FileManager.default.moveItem(at: bench.media, to: away)
    let library = try #require(try await LibraryFolder.existing(at: bench.library.path))
    let catalog = try #require(try await SQLiteCatalog.openReadOnly(library: library))
    let store = OpenedStore(
      uploader: FolderUploader(root: library.mediaPath), folder: library.mediaPath)
    await #expect(throws: UploadError.self) { try await store.checkIsMounted(in: catalog) }
    let media = bench.media
    let filled = ScriptedCatalog(base: catalog) { _ in try? FileManager.default.moveItem(at: away, to: media)
    }
    try await store.checkIsMounted(in: filled)
  }
}
