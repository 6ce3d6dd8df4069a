import Foundation
import ReelCore
import ReelIngest
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTesting
import Synchronization
import Testing

@testable import ReelFeeds
@testable import ReelSource

@Suite struct WatchFeedTests {
  /// An NFS server that is away keeps whoever asks for the folder.
  @Test func aFolderThatDoesNotAnswerIsTold() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("watch-feed-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let answer = DispatchSemaphore(value: 0)
    var watch = FolderWatch(
      SourceInput(path: SourcePath(folder)), options: WalkOptions(),
      settings: FolderWatch.Settings(
        waits: SettlingFiles.Waits(settle: .zero), interval: .seconds(1), polls: true))
    watch.isMounted = { _, _ in
      answer.wait()
      answer.signal()
      return nil
    }
    let feed = try WatchFeed(
      [watch],
      disposals: WatchFeed.Disposals(
        after: .keep, reject: .keep, trustsSidecars: false, folders: FileDisposal.Folders()),
      secondLook: .seconds(30), jobs: 1,
      services: IngestServices(
        prober: ScriptedProber(), uploader: MemoryUploader(), catalog: MemoryCatalog()),
      patience: .milliseconds(40)
    ) {}
    let (told, telling) = AsyncStream.makeStream(of: WatchNotice.self)
    feed.begin { for notice in $0 { telling.yield(notice) } }
    DispatchQueue.global().async { _ = feed.next(upTo: 1) { false } }
    var notices = told.makeAsyncIterator()
    #expect(await notices.next()?.code == .folderGone)
    #expect(feed.numbers.folders.map(\.isThere) == [false])
    answer.signal()
    #expect(await notices.next()?.code == .folderBack)
    feed.cancel()
  }
}
