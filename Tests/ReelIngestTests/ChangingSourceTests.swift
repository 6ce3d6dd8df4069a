import Foundation
import Glibc
import ReelCore
import ReelCrypto
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import ReelTesting
import Synchronization
import Testing

@testable import ReelIngest

/// Somebody writes to a source after it was opened, in a way that its file status does not show.
@Suite(
  "A source that changes", .needsSharedMemory,
  .shortTime)
@MainActor
struct ChangingSourceTests {
  enum Store: CaseIterable { case folder, memory }

  /// A file in memory that is mapped for writing. Writing to it changes no timestamp. The same holds on a disk while
  /// the page is already dirty.
  private final class Mapping: Sendable {
    let path = "\(SharedMemory.path)/reel-ingest-\(UUID().uuidString).mp4"
    private let bytes: Mutex<UnsafeMutableRawBufferPointer>

    init() throws {
      try Data("a video".utf8).write(to: URL(filePath: path))
      let descriptor = open(path, O_RDWR | O_CLOEXEC)
      defer { close(descriptor) }
      let count = Int(lseek(descriptor, 0, SEEK_END))
      let mapped = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
      try #require(mapped != MAP_FAILED)
      bytes = Mutex(UnsafeMutableRawBufferPointer(start: mapped, count: count))
    }

    deinit {
      _ = bytes.withLock { munmap($0.baseAddress, $0.count) }
      unlink(path)
    }

    func flip() { bytes.withLock { $0[0] ^= 1 } }
  }

  @Test(
    "the bytes that were hashed are the ones that are probed, judged and stored",
    arguments: Store.allCases, [IntakeStep.hashed, .probed, .judged, .intended])
  func changes(store: Store, after step: IntakeStep) async throws {
    let objects = ClipFolder()
    let mapping = try Mapping()
    let uploader: any Uploader =
      switch store {
      case .folder: FolderUploader(root: objects.path)
      case .memory: MemoryUploader()
      }
    let read = Mutex<ContentDigest?>(nil)
    let prober = ScriptedProber { file throws(ProbeError) in
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(file.size), alignment: 1)
      defer { buffer.deallocate() }
      let count = (try? file.handle.read(into: buffer, at: 0)) ?? 0
      let digest = ContentDigest(sha256: SHA256.hash(data: Array(buffer.prefix(count))))
      read.withLock { $0 = digest }
      return ScriptedProber.video(file)
    }
    var services = IngestServices(
      prober: prober, uploader: uploader, catalog: MemoryCatalog(), clock: LaterClock())
    services.onStep = { if $0 == step { mapping.flip() } }
    let model = MediaModel(
      file: SourceInput(path: SourcePath(mapping.path)), options: IngestOptions(), services: services)
    guard case .published(let post) = await model.publish() else {
      Issue.record("not published: \(model.state)")
      return
    }
    let probed = try #require(read.withLock { $0 })
    #expect(post.digest == probed)
    #expect(try await uploader.readBack(post.video) == probed)
  }
}
