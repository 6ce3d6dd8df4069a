import Glibc
import ReelModel
import ReelSystem
import Testing

@testable import ReelSandbox

/// A cancelled file ends soon, wherever it was.
@Suite struct CancellationTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  @Test(arguments: [IsolationRequest.auto, .strict])
  func whileItIsRead(_ isolation: IsolationRequest) async throws {
    let prober = SandboxedProber(
      worker: Sabotaged.worker, isolation: isolation, workers: 1, deadline: .seconds(60))
    await prober.warmUp(for: .max)
    let file = try folder.file("bad.mp4", order("hang"))
    let start = ContinuousClock.now
    let task = Task { await prober.code(file) }
    try await Task.sleep(for: .milliseconds(300))
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(ContinuousClock.now - start < .seconds(30))
    #expect(await prober.code(try folder.file("good.mp4", order("read"))) == nil)
    await prober.close()
  }

  @Test func whileItWaitsInLine() async throws {
    let prober = SandboxedProber(worker: Sabotaged.worker, workers: 1, deadline: .seconds(60))
    let (bad, good) = (try folder.file("bad.mp4", order("hang")), try folder.file("good.mp4", order("read")))
    let hanging = Task { await prober.code(bad) }
    try await Task.sleep(for: .milliseconds(300))
    let waiting = Task { await prober.code(good) }
    try await Task.sleep(for: .milliseconds(100))
    waiting.cancel()
    #expect(await waiting.value == .cancelled)
    hanging.cancel()
    #expect(await hanging.value == .cancelled)
    await prober.close()
  }

  @Test func beforeItBegan() async throws {
    let prober = SandboxedProber(worker: .path("/nowhere"), workers: 1)
    let file = try folder.file("good.mp4", order("read"))
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await prober.code(file)
    }
    task.cancel()
    #expect(await task.value == .cancelled)
  }

  @Test func closeInterruptsWhatIsRead() async throws {
    let prober = SandboxedProber(worker: Sabotaged.worker, workers: 2, deadline: .seconds(60))
    let file = try folder.file("bad.mp4", order("hang"))
    let tasks = (0..<4).map { _ in Task { await prober.code(file) } }
    try await Task.sleep(for: .milliseconds(300))
    await prober.close()
    for task in tasks { #expect(await task.value == .cancelled) }
  }
}

/// The file that goes to the worker is its own open file description.
@Suite struct FreshDescriptorTests {
  @Test func itSharesNoOffset() throws {
    let folder = try TestFolder()
    let file = try folder.file("a.mp4", smallMP4)
    let shared = try #require(file.handle.descriptor)
    #expect(lseek(shared, 5, SEEK_SET) == 5)
    let fresh = try Descriptor.reopening(file.handle)
    #expect(lseek(fresh.rawValue, 0, SEEK_CUR) == 0)
    #expect(lseek(fresh.rawValue, 9, SEEK_SET) == 9)
    #expect(lseek(shared, 0, SEEK_CUR) == 5)
    #expect(fcntl(fresh.rawValue, F_GETFL) & O_ACCMODE == O_RDONLY)
    #expect(fcntl(fresh.rawValue, F_GETFD) & FD_CLOEXEC != 0)
  }
}
