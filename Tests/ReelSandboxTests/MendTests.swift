import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSandbox

/// Mending by the shipped worker and by a compromised one.
@Suite struct MendTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  private func output() throws -> Descriptor {
    let number = open("\(folder.path)/mended", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try #require(number >= 0)
    return Descriptor(adopting: number)
  }

  private func mend(
    _ mender: SandboxedMender, _ file: SourceFile, _ options: MendOptions = MendOptions([.faststart])
  ) throws -> Result<MendOutcome, MendError> {
    let output = try output()
    return Result { () throws(MendError) in
      try mender.mend(file, options, into: output.rawValue, cancellation: CancellationFlag())
    }
  }

  private func mender() -> SandboxedMender {
    SandboxedMender(SandboxedProber(workers: 1, deadline: patience, mends: true))
  }

  private func clip(_ name: String) throws -> SourceFile {
    try TestFolder.open(try #require(RealWorkerTests.clips.first { $0.hasSuffix("/" + name) }))
  }

  @Test(arguments: IsolationRequest.allCases)
  func confinedMends(_ isolation: IsolationRequest) throws {
    let mender = SandboxedMender(
      SandboxedProber(isolation: isolation, workers: 1, deadline: patience, mends: true))
    let outcome = try mend(mender, try clip("moov-at-end.mp4")).get()
    #expect(outcome.done == [.faststart] && outcome.pictures > 0)
    let prober = SandboxedProber(isolation: isolation, workers: 1, deadline: patience)
    let after = try prober.probe(try folder.open("mended"), cancellation: CancellationFlag())
    #expect(after.media.fastStart == true)
  }

  @Test func whatIsWellIsNotWritten() throws {
    let outcome = try mend(mender(), try clip("faststart.mp4")).get()
    #expect(outcome.done.isEmpty)
    #expect(try folder.open("mended").size == 0)
  }

  @Test func whatCannotBeReadHasItsCode() throws {
    let mender = mender()
    for path in RealWorkerTests.broken {
      guard case .failure(let error) = try mend(mender, try TestFolder.open(path)) else { continue }
      #expect(
        ![.crashed, .sandboxViolation, .timeout, .implausible, .notProven].contains(error.code), "\(path)")
    }
  }

  // MARK: A compromised worker

  /// A readable file with an order where the compromised worker looks for it: among the brands.
  private func obeyed(_ order: String) throws -> SourceFile {
    let clip = try clip("faststart.mp4")
    var bytes = [UInt8](repeating: 0, count: Int(clip.size))
    _ = bytes.withUnsafeMutableBytes { pread(clip.handle.descriptor ?? -1, $0.baseAddress, $0.count, 0) }
    var words = Array(order.utf8)
    words += [UInt8](repeating: 0, count: 256 - words.count)
    let brands = Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isomiso2avc1mp41".utf8) + words
    let size = UInt32(4 + brands.count)
    let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) } + brands
    // The offsets of the samples now point to other bytes, which serve as well.
    return try folder.file("order.mp4", head + bytes.dropFirst(Int(bytes[3])))
  }

  private func code(_ order: String) throws -> MendError.Code? {
    let mender = SandboxedMender(
      SandboxedProber(worker: Sabotaged.worker, workers: 1, deadline: patience, mends: true),
      provers: SandboxedProber(workers: 1, deadline: patience, mends: true))
    switch try mend(mender, try obeyed("mend " + order)) {
    case .success: return nil
    case .failure(let error): return error.code
    }
  }

  @Test(
    .disabled(if: Program.isSanitized, Program.whyNotSanitized),
    arguments: [
      ("honest", nil), ("at-once", nil), ("twice", .implausible), ("nothing", nil), ("flip", .notProven),
      ("short", .notProven),
      ("more", .implausible), ("other", .implausible),
    ] as [(String, MendError.Code?)])
  func anythingElseThanTheSameIsFound(_ order: String, _ expected: MendError.Code?) throws {
    #expect(try code(order) == expected)
  }

  /// A mending worker may write to one descriptor, up to a maximum size, and nowhere else.
  @Test(.disabled(if: Program.isSanitized, Program.whyNotSanitized))
  func itWritesNothingElse() throws {
    #expect(try code("source") == .sandboxViolation)
    #expect(try code("huge") == .implausible)
    #expect(try folder.open("mended").size <= 2 * clip("faststart.mp4").size + 64 << 20)
    for escape in ["open", "open-for-writing", "socket", "execve", "fork", "memfd", "dup", "unlink"] {
      #expect(try code("escape \(escape)") == .sandboxViolation, "\(escape)")
    }
  }
}
