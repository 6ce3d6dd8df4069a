import Dispatch
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelStorage

@Suite struct DurableFolderTests {
  let folder: TemporaryFolder
  let descriptor: Descriptor

  init() throws {
    folder = try TemporaryFolder()
    descriptor = try StoreFolder.open(folder.path)
  }

  @Test func whoComesDuringAFlushSharesTheNext() async throws {
    let flushes = Flushes()
    let durable = DurableFolder(descriptor) { _ in flushes.flush() }
    async let first: Void = durable.sync()
    await flushes.hasBegun()
    let others = Task {
      try await withThrowingTaskGroup { group in
        for _ in 0..<100 { group.addTask { try await durable.sync() } }
        try await group.waitForAll()
      }
    }
    while await durable.asked < 101 { try await Task.sleep(for: .milliseconds(1)) }
    flushes.release()
    try await first
    try await others.value
    #expect(flushes.count == 2)
  }

  @Test func oneAfterTheOtherEachHasItsOwn() async throws {
    let counter = Counter()
    let durable = DurableFolder(descriptor) { _ in counter.add() }
    for _ in 0..<3 { try await durable.sync() }
    #expect(counter.count == 3)
  }

  @Test func aFailureIsToldToAllItServed() async throws {
    let durable = DurableFolder(descriptor) { _ throws(SystemError) in
      throw SystemError(code: 5, call: "fsync")
    }
    await #expect(throws: SystemError(code: 5, call: "fsync")) { try await durable.sync() }
  }

  @Test func aRealFolderSyncs() async throws {
    try await DurableFolder(descriptor).sync()
  }
}

private final class Counter: Sendable {
  private let value = Atomic<Int>(0)
  var count: Int { value.load(ordering: .relaxed) }
  func add() { value.add(1, ordering: .relaxed) }
}

/// Flushes, the first of which waits until it is released.
private final class Flushes: Sendable {
  private let counter = Counter()
  private let begun = AsyncStream<Void>.makeStream()
  private let gate = DispatchSemaphore(value: 0)

  var count: Int { counter.count }

  func flush() {
    counter.add()
    if counter.count == 1 {
      begun.continuation.finish()
      gate.wait()
    }
  }

  func hasBegun() async { for await _ in begun.stream {} }
  func release() { gate.signal() }
}
