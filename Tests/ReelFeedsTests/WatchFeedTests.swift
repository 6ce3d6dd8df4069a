import Foundation
import ReelCore
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTesting
import Synchronization
import Testing

@testable import ReelFeeds
@testable import ReelIngest
@testable import ReelSource

@Suite struct WatchFeedTests {
  /// If an NFS server is away, every access to the folder hangs.
  @Test func aFolderThatDoesNotAnswerIsTold() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let answer = DispatchSemaphore(value: 0)
    let feed = try Self.feed([Self.watch(folder, answering: answer)]) {}
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

  @Test func othersGoOnWhileOneFolderDoesNotAnswer() async throws {
    let (hanging, other) = (try Self.folder(), try Self.folder())
    defer { for folder in [hanging, other] { try? FileManager.default.removeItem(atPath: folder) } }
    let answer = DispatchSemaphore(value: 0)
    defer { answer.signal() }
    let (listed, tell) = AsyncStream.makeStream(of: Void.self)
    let feed = try Self.feed([Self.watch(hanging, answering: answer), Self.watch(other)]) { tell.yield() }
    #expect(FileManager.default.createFile(atPath: other + "/first.mp4", contents: Data([1])))
    #expect(await Self.next(feed) == [SourcePath(other + "/first.mp4")])
    #expect(FileManager.default.createFile(atPath: other + "/second.mp4", contents: Data([2])))
    #expect(await Self.next(feed) == [SourcePath(other + "/second.mp4")])
    // The responding folder has been listed, and a stop does not wait for the other one.
    async let rest = Self.next(feed)
    for await _ in listed { break }
    feed.drain()
    #expect(await rest == [])
    // On a busy machine the other folder may be silent for a moment, too.
    while feed.numbers.folders.map(\.isThere) != [false, true] {
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  private static func folder() throws -> String {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("watch-feed-\(UUID())").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  /// - Parameter answer: Every access to the folder waits for this semaphore.
  private static func watch(_ folder: String, answering answer: DispatchSemaphore? = nil) -> FolderWatch {
    var watch = FolderWatch(
      SourceInput(path: SourcePath(folder)), options: WalkOptions(),
      settings: FolderWatch.Settings(
        waits: SettlingFiles.Waits(settle: .zero), interval: .milliseconds(20), polls: true,
        presumesClosed: .zero))
    watch.isMounted = { _, _ in
      answer?.wait()
      answer?.signal()
      return nil
    }
    return watch
  }

  private static func feed(
    _ watches: [FolderWatch], onListed: @escaping @Sendable () -> Void
  ) throws -> WatchFeed {
    try WatchFeed(
      watches,
      disposals: WatchFeed.Disposals(
        after: .keep, reject: .keep, trustsSidecars: false, folders: FileDisposal.Folders()),
      secondLook: .seconds(30), jobs: 1,
      services: IngestServices(
        prober: ScriptedProber(), uploader: MemoryUploader(), catalog: MemoryCatalog()),
      patience: .milliseconds(40), onListed: onListed)
  }

  private static func next(_ feed: WatchFeed) async -> [SourcePath] {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        let items = feed.next(upTo: 8) { false }
        continuation.resume(
          returning: items.compactMap { if case .candidate(let file) = $0.item { file.path } else { nil } })
      }
    }
  }
}
