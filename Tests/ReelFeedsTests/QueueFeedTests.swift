import Dispatch
import Foundation
import ReelCore
import ReelLibrary
import ReelPostgres
import ReelSource
import ReelStorage
import ReelTestServers
import ReelTestSupport
import ReelTesting
import Synchronization
import Testing

@testable import ReelFeeds
@testable import ReelIngest

/// How the queue's items are handled, without a program around the feed.
@Suite(.besidePostgres, .shortTime) struct QueueFeedTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "reel-\(UUID().uuidString)")

  private func services(_ prober: ScriptedProber) -> IngestServices {
    IngestServices(prober: prober, uploader: MemoryUploader(), catalog: MemoryCatalog())
  }

  /// Enqueues files in a folder that is not mounted here.
  private func enqueue(_ count: Int, in queue: WorkQueue) throws {
    let items = (0..<count).map {
      NewItem(address: SourcePath("\(folder.path)/share/\($0).mp4"), version: "1", size: 7)
    }
    try #require(try queue.enqueue(items, priority: 0, wishes: ItemWishes(), at: nil).new == count)
  }

  private func failures(_ items: [FeedItem], from number: Int) -> [IngestEvent] {
    items.enumerated().compactMap { index, item in
      guard case .failed(let path, let error) = item.item else { return nil }
      let file = FileReference(number: number + index, path: path, ticket: item.ticket)
      return IngestEvent(
        sequence: number + index, at: Date(), body: .fileFailed(file, FileFailure(error)))
    }
  }

  @Test("a connection to a private network is refused as an item that names one is")
  func addresses() throws {
    let inside = IPAddress("10.0.0.1")
    let allowed = try AllowedSources([], destination: "s3+https://store.example/media")
    for (host, address) in [("files.example", inside), ("files.example", nil), ("a-store.example", inside)] {
      #expect(allowed.refusal(of: host, at: address)?.code == .outsideRoot, "\(host)")
    }
    for (host, address) in [
      ("files.example", IPAddress("93.184.215.14")), ("store.example", inside), ("b.store.example", inside),
    ] {
      #expect(allowed.refusal(of: host, at: address) == nil, "\(host)")
    }
    let named = try AllowedSources(["files.example"], destination: "file:///media")
    #expect(named.refusal(of: "files.example", at: inside) == nil)
  }

  @Test("with links followed, the place of a link's target decides")
  func links() async throws {
    let files = FileManager.default
    for name in ["in", "out"] {
      try files.createDirectory(
        at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
      try Data("video".utf8).write(to: folder.appendingPathComponent("\(name)/a.mp4"))
    }
    defer { try? files.removeItem(at: folder) }
    let inside = folder.resolvingSymlinksInPath().path + "/in"
    for (name, target) in [("b", "a.mp4"), ("c", "../out/a.mp4"), ("d", "\(folder.path)/out/a.mp4")] {
      try files.createSymbolicLink(atPath: "\(inside)/\(name).mp4", withDestinationPath: target)
    }
    let queue = try WorkQueue(try await TestDatabase().pool())
    let addresses = ["a", "b", "c", "d"].map { SourcePath("\(inside)/\($0).mp4") }
    let items = addresses.map { NewItem(address: $0, version: "1", size: 5) }
    try #require(try queue.enqueue(items, priority: 0, wishes: ItemWishes(), at: nil).new == 4)
    let worker = try QueueWorker(
      queue, host: "here", destination: "file:///media", serving: QueueWorker.Serving(),
      settings: QueueWorker.Settings())
    let prober = ScriptedProber { file throws(ProbeError) in .sample(size: file.size) }
    let feed = QueueFeed(
      worker, listener: QueueListener(queue), jobs: 4, staysForMore: false,
      walk: WalkOptions(followLinks: true),
      allowed: try AllowedSources([inside], destination: "file:///media"),
      check: MachineCheck(services: services(prober)),
      policy: { _ in DefaultIntakePolicy() }
    ) { _ throws(SourceError) in throw SourceError(.notFound, "no address") }
    let found = try Aside { feed.next(upTo: 4, until: { false }) }.value()
    let refused = found.compactMap { item in
      if case .failed(let path, let error) = item.item, error.code == .outsideRoot { path } else { nil }
    }
    #expect(found.count == 4 && Set(refused) == Set(addresses.suffix(2)))
  }

  @Test("an item whose address does not respond is reported")
  func silence() async throws {
    let queue = try WorkQueue(try await TestDatabase().pool())
    let items = [NewItem(address: SourcePath("https://host.example/a.mp4"), version: "1", size: 5)]
    try #require(try queue.enqueue(items, priority: 0, wishes: ItemWishes(), at: nil).new == 1)
    let worker = try QueueWorker(
      queue, host: "here", destination: "file:///media", serving: QueueWorker.Serving(),
      settings: QueueWorker.Settings())
    let (told, telling) = AsyncStream.makeStream(of: String.self)
    let (sentences, hearing) = AsyncStream.makeStream(of: String.self)
    let feed = QueueFeed(
      worker, listener: QueueListener(queue), jobs: 1, staysForMore: false, walk: WalkOptions(),
      allowed: try AllowedSources(["https://host.example/"], destination: "file:///media"),
      check: MachineCheck(services: services(ScriptedProber())), patience: .milliseconds(40),
      tell: { sentence in
        telling.yield(sentence)
        hearing.yield(sentence)
      },
      policy: { _ in DefaultIntakePolicy() }
    ) { _ throws(SourceError) in
      for await _ in told { break }
      throw SourceError(.notFound, "no address")
    }
    #expect(try Aside { feed.next(upTo: 1, until: { false }) }.value().count == 1)
    var heard = sentences.makeAsyncIterator()
    #expect(await heard.next()?.hasPrefix("https://host.example/a.mp4 (item ") == true)
  }

  @Test("while the machine is being checked, no failure counts against an item")
  func machine() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let queue = try WorkQueue(try await TestDatabase().pool())
    try enqueue(MachineDoubts.most, in: queue)
    var settings = QueueWorker.Settings()
    settings.pause = .zero
    let worker = try QueueWorker(
      queue, host: "here", destination: "file:///media", serving: QueueWorker.Serving(), settings: settings)
    let (isLooking, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let prober = ScriptedProber { file throws(ProbeError) in
      isLooking.signal()
      gate.wait()
      return .sample(size: file.size)
    }
    let feed = QueueFeed(
      worker, listener: QueueListener(queue), jobs: MachineDoubts.most, staysForMore: false,
      walk: WalkOptions(),
      allowed: try AllowedSources([folder.path], destination: "file:///media"),
      check: MachineCheck(services: services(prober)),
      policy: { _ in DefaultIntakePolicy() }
    ) { _ throws(SourceError) in throw SourceError(.notFound, "no address") }
    try Aside { [self] in
      var events: [IngestEvent] = []
      while events.count < MachineDoubts.most {
        let items = feed.next(upTo: MachineDoubts.most, until: { false })
        try #require(!items.isEmpty)
        events += failures(items, from: events.count + 1)
      }
      let noting = Aside { [events] in try feed.note(events) }
      isLooking.wait()
      let isOver = Atomic(false)
      let hasSettled = DispatchSemaphore(value: 0)
      let walking = Aside {
        feed.next(upTo: 1) {
          hasSettled.signal()
          return isOver.load(ordering: .acquiring)
        }
      }
      // By the second call, everything that may be settled is.
      for _ in 0..<2 { hasSettled.wait() }
      gate.signal()
      try noting.value()
      isOver.store(true, ordering: .releasing)
      #expect(try walking.value().isEmpty)
    }.value()
    #expect(feed.fault != nil)
    let items = try queue.items(ItemFilter(), upTo: 100)
    #expect(items.count == MachineDoubts.most)
    #expect(items.allSatisfy { $0.failures == 0 })
  }
}
