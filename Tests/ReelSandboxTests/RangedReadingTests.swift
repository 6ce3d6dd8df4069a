import Glibc
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelSandbox

/// A file without a descriptor, whose bytes the worker requests.
@Suite struct RangedReadingTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  @Test func theWorkerReadsWhatItAsksFor() async throws {
    let prober = Sabotaged.prober()
    let bytes = MemoryHandle(order("video"))
    #expect(try await prober.probe(bytes.file).media.video?.width == 320)
    // The next one may be a local file again.
    #expect(await prober.code(try folder.file("a.mp4", order("read"))) == nil)
    #expect(try await prober.report(MemoryHandle(order("report descriptors")).file) == "4")
    #expect(prober.replacedWorkers == 0)
    await prober.close()
  }

  @Test(arguments: [
    "ask behind", "ask far", "ask negative", "ask many", "ask none", "ask stale", "ask flood",
  ])
  func whatNoFileNeedsIsNotGiven(_ sabotage: String) async throws {
    let prober = Sabotaged.prober()
    let bytes = MemoryHandle(order(sabotage))
    let failure = await prober.failure(bytes.file)
    #expect([.implausible, .crashed].contains(failure?.code), "\(failure?.message ?? "no failure")")
    #expect(prober.replacedWorkers > 0)
    #expect(await prober.code(try folder.file("good.mp4", order("read"))) == nil)
    await prober.close()
  }

  @Test func whoAsksWithoutEndIsEnded() async throws {
    let limits = ProbeLimits(bytes: 8 << 20)
    let prober = Sabotaged.prober(limits: limits)
    let bytes = MemoryHandle(order("ask endless"), size: 1 << 20)
    let failure = await prober.failure(bytes.file)
    #expect(failure?.code == .implausible, "\(failure?.message ?? "no failure")")
    // Twice, because the file is retried in a fresh worker.
    #expect(bytes.given <= 2 * (limits.bytes + 65_536) + 200_000)
    await prober.close()
  }

  @Test(arguments: [
    (SourceError.Code.sourceChanged, ProbeError.Code.sourceChanged), (.readLimit, .readLimit),
    (.denied, .unreadable), (.unreadable, .unreadable),
  ])
  func bytesThatCannotBeHadEndTheFileAlone(_ code: SourceError.Code, _ expected: ProbeError.Code) async throws
  {
    let prober = Sabotaged.prober()
    #expect(await prober.code(try folder.file("first.mp4", order("read"))) == nil)
    let bytes = MemoryHandle(order("video"), failingAfter: 1, SourceError(code, "so it is"))
    let failure = await prober.failure(bytes.file)
    #expect(failure?.code == expected && failure?.message == "so it is")
    // The worker is not at fault, and the file is not retried.
    #expect(prober.replacedWorkers == 0 && bytes.reads == 2)
    #expect(await prober.code(try folder.file("next.mp4", order("read"))) == nil)
    await prober.close()
  }

  @Test func aWaitForBytesIsNoTimeOfTheWorkers() async throws {
    let prober = Sabotaged.prober(deadline: .seconds(10))
    // Longer than the deadline.
    let bytes = MemoryHandle(order("video"), pausing: 11)
    #expect(await prober.failure(bytes.file) == nil)
    await prober.close()
  }

  @Test func aWorkerThatHangsIsStillLate() async throws {
    let prober = Sabotaged.prober(deadline: .seconds(2))
    #expect(await prober.code(MemoryHandle(order("sleep")).file) == .timeout)
    await prober.close()
  }

  @Test func cancellationIsNoFailureOfTheFile() async throws {
    let prober = Sabotaged.prober()
    let flag = CancellationFlag()
    let bytes = MemoryHandle(order("video"), failingAfter: 1, SourceError(.unreadable, "cancelled")) {
      flag.set()
    }
    #expect(throws: ProbeError.cancelled) { try prober.probe(bytes.file, cancellation: flag) }
    await prober.close()
  }
}

/// An in-memory file without a descriptor.
private final class MemoryHandle: SourceHandle {
  private let bytes: [UInt8]
  private let size: Int64
  private let failure: (after: Int, SourceError)?
  private let pause: UInt32?
  private let onFailure: @Sendable () -> Void
  private let counts = Mutex<(reads: Int, given: Int64)>((0, 0))

  init(
    _ bytes: [UInt8], size: Int64? = nil, failingAfter reads: Int = .max, _ error: SourceError? = nil,
    pausing pause: UInt32? = nil, onFailure: @escaping @Sendable () -> Void = {}
  ) {
    let size = size ?? Int64(bytes.count)
    self.bytes = bytes + [UInt8](repeating: 0, count: Int(size) - bytes.count)
    (self.size, self.pause, self.onFailure) = (size, pause, onFailure)
    failure = error.map { (reads, $0) }
  }

  var file: SourceFile {
    let identity = FileIdentity(device: 0, inode: 0, size: size, modifiedAt: 0, changedAt: 0)
    return SourceFile(path: SourcePath("s3://bucket/a.mp4"), identity: identity, handle: self)
  }

  var descriptor: Int32? { nil }
  var reads: Int { counts.withLock { $0.reads } }
  var given: Int64 { counts.withLock { $0.given } }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    let number = counts.withLock { counts in
      counts.reads += 1
      return counts.reads
    }
    if let failure, number > failure.after {
      onFailure()
      throw failure.1
    }
    // The sniffer makes the first read.
    if let pause, number > 1 { sleep(pause) }
    guard offset < size else { return 0 }
    let count = min(buffer.count, Int(size - offset))
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + count]))
    }
    counts.withLock { $0.given += Int64(count) }
    return count
  }

  func currentIdentity() throws(SourceError) -> FileIdentity { file.identity }
}
