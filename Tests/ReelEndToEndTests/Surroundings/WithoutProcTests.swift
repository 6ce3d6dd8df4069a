import Foundation
import Glibc
import ReelTestSupport
import Testing

/// A system without `/proc`, such as a plain chroot.
@Suite("Without /proc", .shortTime)
struct WithoutProcTests {
  /// Whether the tests may unmount `/proc`, for their own children only.
  private static let isPossible: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = ["-m", "/bin/sh", "-c", "umount -l /proc"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  private func run(
    _ bench: Workbench, _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.start(
      arguments, in: bench.folder, environment: environment,
      launcher: ["/usr/bin/unshare", "-m", "/bin/sh", "-c", "umount -l /proc; exec \"$0\" \"$@\""]
    ).outcome()
  }

  /// Reel opens videos through /proc, and libdispatch, on which everything runs, terminates a process that lacks it.
  @Test(
    "a command says that it needs /proc, and does not end as if it had succeeded",
    .enabled(if: isPossible, "needs the right to unmount /proc"),
    arguments: [
      ["ingest", "clips"], ["publish", "clips/clip-00000.mp4"], ["probe", "clips"], ["validate", "clips"],
      ["lock", "clips"], ["feed"], ["status"], ["doctor"], ["verify"], ["version"],
      ["uploader", "check", "store"],
    ])
  func commands(arguments: [String]) async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let outcome = try await run(bench, arguments)
    #expect(outcome.status == 1 && !outcome.wasKilled, "\(outcome.status) \(outcome.output)")
    #expect(outcome.errors.contains("/proc"), "\(outcome.errors)")
  }

  /// libdispatch would terminate it in the middle of its work.
  @Test(
    "the /proc of another PID namespace is none",
    .enabled(if: isPossible, "needs the right to unmount /proc"))
  func othersProc() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await ReelBinary.start(
      ["ingest", "clips"], in: bench.folder, launcher: ["/usr/bin/unshare", "--pid", "--fork"]
    ).outcome()
    #expect(outcome.status == 1 && !outcome.wasKilled, "\(outcome.status) \(outcome.output)")
    #expect(outcome.errors.contains("another PID namespace"), "\(outcome.errors)")
  }

  @Test(
    "a worker in the working folder is not started",
    .enabled(if: isPossible, "needs the right to unmount /proc"))
  func workerOfTheFolder() async throws {
    let bench = try Workbench()
    let file = bench.folder.appendingPathComponent("reel-probe-worker")
    try Script.write("#!/bin/sh\n: >started\n", to: file)
    let outcome = try await run(bench, ["version"])
    #expect(outcome.status == 1, "\(outcome.output) \(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.appendingPathComponent("started").path))
  }

  @Test(
    "help still works, and an unknown command is still an error",
    .enabled(if: isPossible, "needs the right to unmount /proc"))
  func words() async throws {
    let bench = try Workbench()
    for words in [["help"], ["--help"], ["ingest", "--help"]] {
      #expect(try await run(bench, words).status == 0)
    }
    let help = try await run(bench, ["help", "feed"])
    #expect(help.status == 0 && help.output.contains("newest"), "\(help.output)")
    #expect(try await run(bench, ["--version"]).status == 0)
    #expect(try await run(bench, ["nope"]).status == 64)
    #expect(try await run(bench, ["ingest"]).status == 64)
  }
}
