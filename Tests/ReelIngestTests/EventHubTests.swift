import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelIngest

@Suite("Events for several observers", .shortTime)
struct EventHubTests {
  static let file = FileReference(number: 1, path: SourcePath("a.mp4"))

  static func progress(_ sent: Int64, of file: FileReference = file) -> IngestEvent.Body {
    .uploadProgress(file, TransferProgress(sent: sent, total: 100))
  }

  static func failed(_ number: Int) -> IngestEvent.Body {
    .fileFailed(
      FileReference(number: number, path: SourcePath("\(number)")), FileFailure(code: "x", message: "y"))
  }

  private func all(_ events: IngestEvents) async -> [IngestEvent] {
    var all: [IngestEvent] = []
    for await event in events { all.append(event) }
    return all
  }

  @Test("each observer gets every event, in the same order")
  func everyEvent() async {
    let hub = EventHub(clock: SystemWallClock())
    // An observer subscribes when it is made; two of them read while events are emitted, one afterwards.
    let (one, two, three) = (IngestEvents(hub: hub), IngestEvents(hub: hub), IngestEvents(hub: hub))
    async let first = all(one)
    async let second = all(two)
    for number in 1...1000 { hub.emit(Self.failed(number)) }
    hub.finish()
    for heard in [await first, await second, await all(three)] {
      #expect(heard.map(\.sequence) == Array(1...1000))
    }
  }

  @Test("superseded progress is dropped, in order; nothing else is, and memory stays small")
  func coalescing() async {
    let hub = EventHub(clock: SystemWallClock())
    let stuck = IngestEvents(hub: hub)
    for sent in 0..<10_000 { hub.emit(Self.progress(Int64(sent))) }
    hub.emit(Self.failed(1))
    for sent in 0..<10_000 {
      hub.emit(Self.progress(Int64(sent), of: FileReference(number: 2, path: SourcePath("b"))))
    }
    hub.emit(Self.failed(2))
    hub.finish()
    let heard = await all(stuck)
    #expect(heard.map(\.sequence) == [10_000, 10_001, 20_001, 20_002])
  }

  @Test(
    "a slow reader gets everything once and in order, except for superseded progress")
  func littleByLittle() async throws {
    let seed = TestSeed.drawn()
    var generator = SplitMix64(seed: seed)
    let hub = EventHub(clock: SystemWallClock())
    let slow = hub.subscribe()
    var (told, isProgress) = ([Int](), [false])
    for number in 1...40_000 {
      let progresses = Int.random(in: 0..<3, using: &generator) == 0
      isProgress.append(progresses)
      let file = FileReference(number: number % 7, path: SourcePath("\(number % 7)"))
      hub.emit(progresses ? Self.progress(Int64(number), of: file) : Self.failed(number))
      if Int.random(in: 0..<900, using: &generator) == 0 {
        let batch = try #require(await slow.nextBatch())
        #expect(!batch.isEmpty && batch.count <= 512, "seed \(seed)")
        told += batch.map(\.sequence)
      }
    }
    hub.finish()
    while let batch = await slow.nextBatch() { told += batch.map(\.sequence) }
    #expect(told == Set(told).sorted(), "seed \(seed)")
    #expect(Set(1...40_000).subtracting(told).allSatisfy { isProgress[$0] }, "seed \(seed)")
    // The newest progress of each file is never dropped.
    let newest = (0..<7).compactMap { file in (1...40_000).last { $0 % 7 == file && isProgress[$0] } }
    #expect(Set(newest).isSubset(of: told), "seed \(seed)")
  }

  @Test("a slow reader with much to read is waited for as long as it keeps reading")
  func slowReader() async {
    let hub = EventHub(clock: SystemWallClock(), patience: .seconds(600))
    let slow = hub.subscribe()
    for number in 1...20_000 { hub.emit(Self.failed(number)) }
    #expect(slow.isFarBehind)
    var unread = 20_000
    while let batch = await slow.nextBatch() {
      unread -= batch.count
      if unread <= 8192 { break }
      #expect(slow.isFarBehind, "\(unread) unread")
    }
    #expect(!slow.isFarBehind)
  }

  @Test(
    "an observer of mere changes gets one notice for many events, delays nobody, and learns of the end"
  )
  func changes() async {
    let hub = EventHub(clock: SystemWallClock())
    let changes = hub.changes()
    for number in 1...20_000 { hub.emit(Self.failed(number)) }
    // If anybody waited for that observer, this would never return.
    await hub.observersToCatchUp()
    hub.finish()
    var heard = 0
    for await _ in changes { heard += 1 }
    #expect(heard == 1 && hub.snapshot.failed == 20_000)
    for await _ in hub.changes() { Issue.record("after the end there is nothing") }
  }

  @Test("an observer that never reads delays nobody")
  func stuckObserver() async {
    let hub = EventHub(clock: SystemWallClock())
    let stuck = IngestEvents(hub: hub)
    let reading = IngestEvents(hub: hub)
    for number in 1...5000 { hub.emit(Self.failed(number)) }
    hub.finish()
    #expect(await all(reading).count == 5000)
    #expect(await all(stuck).count == 5000)
  }

  @Test("a waiting reader is woken by the next event, by the end, and by its own cancellation")
  func waking() async {
    let hub = EventHub(clock: SystemWallClock())
    let events = IngestEvents(hub: hub)
    let reader = Task { await all(events).count }
    try? await Task.sleep(for: .milliseconds(20))
    hub.emit(Self.failed(1))
    try? await Task.sleep(for: .milliseconds(20))
    hub.finish()
    #expect(await reader.value == 1)

    let endless = IngestEvents(hub: EventHub(clock: SystemWallClock()))
    let cancelled = Task { await all(endless).count }
    try? await Task.sleep(for: .milliseconds(20))
    cancelled.cancel()
    #expect(await cancelled.value == 0)
  }

  @Test("after the end no event comes, and nobody waits for one")
  func afterTheEnd() async {
    let hub = EventHub(clock: SystemWallClock())
    hub.finish()
    hub.emit(Self.failed(1))
    #expect(await all(IngestEvents(hub: hub)).isEmpty)
  }
}
