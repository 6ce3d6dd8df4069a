import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSandbox

/// A cancelled file ends soon, whatever its stage.
@Suite struct CancellationTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  @Test(arguments: [IsolationRequest.auto, .strict])
  func whileItIsRead(_ isolation: IsolationRequest) async throws {
    let prober = Sabotaged.prober(isolation, deadline: .seconds(3600))
    await prober.warmUp(for: .max)
    let file = try folder.file("bad.mp4", order("sleep"))
    let task = Task { await prober.code(file) }
    #expect(try await eventually { prober.counts.lent == 1 })
    // Most likely its worker has the file by then.
    try await Task.sleep(for: .milliseconds(300))
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(await prober.code(try folder.file("good.mp4", order("read"))) == nil)
    await prober.close()
  }

  @Test func whileItWaitsInLine() async throws {
    let prober = Sabotaged.prober(deadline: .seconds(3600))
    let bad = try folder.file("bad.mp4", order("sleep"))
    let good = try folder.file("good.mp4", order("read"))
    let sleeping = Task { await prober.code(bad) }
    #expect(try await eventually { prober.counts.lent == 1 })
    let waiting = Task { await prober.code(good) }
    #expect(try await eventually { prober.counts.waiting == 1 })
    waiting.cancel()
    #expect(await waiting.value == .cancelled)
    sleeping.cancel()
    #expect(await sleeping.value == .cancelled)
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
    let prober = Sabotaged.prober(workers: 2, deadline: .seconds(3600))
    let file = try folder.file("bad.mp4", order("sleep"))
    let tasks = (0..<4).map { _ in Task { await prober.code(file) } }
    #expect(try await eventually { prober.counts == (2, 2, 0) })
    // Most likely two workers have a file by then.
    try await Task.sleep(for: .milliseconds(300))
    await prober.close()
    for task in tasks { #expect(await task.value == .cancelled) }
  }
}

/// The worker gets its own open file description of the file.
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
