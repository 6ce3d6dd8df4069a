import Foundation
import Glibc
import ReelTestSupport
import Testing

/// A source that is changed during a run, without a trace in its timestamps.
@Suite(
  "A source that changes", .needsFailpoints, .needsSharedMemory,
  .shortTime)
struct ChangingSourceTests {
  /// A file mapped for writing.
  private final class Mapping {
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ file: URL) throws {
      let descriptor = open(file.path, O_RDWR | O_CLOEXEC)
      defer { close(descriptor) }
      var status = stat()
      try #require(fstat(descriptor, &status) == 0)
      let count = Int(status.st_size)
      let mapped = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
      try #require(mapped != MAP_FAILED)
      bytes = UnsafeMutableRawBufferPointer(start: mapped, count: count)
    }

    deinit { munmap(bytes.baseAddress, bytes.count) }

    /// Changes the last byte.
    func flip() { bytes[bytes.count - 1] ^= 1 }
  }

  private static let steps = ["hashed", "probed", "judged", "intended", "uploadBegun", "claimCommitted"]

  @Test("is stored as it was hashed, whatever its timestamps say", arguments: steps)
  func mapped(step: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let clip = URL(filePath: SharedMemory.path).appendingPathComponent("reel-test-\(UUID().uuidString).mp4")
    defer { try? FileManager.default.removeItem(at: clip) }
    try FileManager.default.copyItem(at: bench.clips.appendingPathComponent("clip-00000.mp4"), to: clip)
    let mapping = try Mapping(clip)
    let before = try times(of: clip)
    let run = try ReelBinary.start(
      ["ingest", clip.path, "--library", bench.library.path], in: bench.folder,
      environment: ["REEL_FAILPOINT": "\(step)=stop"])
    try await run.untilStopped()
    mapping.flip()
    let after = try times(of: clip)
    run.send(SIGCONT)
    let outcome = try await run.outcome()
    #expect(before == after, "the change showed in the times")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let inspection = try LibraryInspection(library: bench.library)
    #expect(try inspection.brokenAfterCompletion() == [])
    #expect(inspection.published.count == 1)
  }

  private func times(of file: URL) throws -> [Int] {
    var status = stat()
    try #require(lstat(file.path, &status) == 0)
    return [
      status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
    ]
  }
}

/// Files that a run uses are removed while it runs.
@Suite("A library that changes", .needsFailpoints, .shortTime)
struct ChangingLibraryTests {
  enum Loss: String, CaseIterable, CustomTestStringConvertible {
    case catalogRemoved, mediaMoved, libraryMoved

    var testDescription: String { rawValue }
  }

  @Test("ends the run with an explanation, and reports no post that does not exist", arguments: Loss.allCases)
  func loss(_ loss: Loss) async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let run = try ReelBinary.start(
      ["ingest", "clips", "--json", "--library", bench.library.path], in: bench.folder,
      environment: ["REEL_FAILPOINT": "uploadBegun=stop"])
    try await run.untilStopped()
    let files = FileManager.default
    let catalog = bench.library.appendingPathComponent("catalog.sqlite")
    switch loss {
    case .catalogRemoved:
      for end in ["", "-wal", "-shm"] { try files.removeItem(atPath: catalog.path + end) }
    case .mediaMoved: try files.moveItem(at: bench.media, to: bench.folder.appendingPathComponent("moved"))
    case .libraryMoved:
      try files.moveItem(at: bench.library, to: bench.folder.appendingPathComponent("moved"))
    }
    run.send(SIGCONT)
    let outcome = try await run.outcome()
    #expect(outcome.status == 1, "\(outcome.output) \(outcome.errors)")
    let summary = try outcome.object()["summary"] as? [String: Any]
    #expect(summary?["published"] as? Int == 0, "\(outcome.output)")
    #expect((outcome.output + outcome.errors).contains("was moved, removed or replaced"))
  }
}
