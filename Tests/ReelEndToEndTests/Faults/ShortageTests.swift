import Foundation
import Glibc
import ReelTestSupport
import Testing

/// A process limited in descriptors, other processes or file sizes. Each shortage is an error that says so.
@Suite("When the machine is short of a resource", .shortTime, .serialized)
struct ShortageTests {
  private func run(
    _ bench: Workbench, limit: String, _ arguments: [String], environment: [String: String] = [:],
    through wrapper: [String] = []
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.start(
      arguments + ["--library", bench.library.path], in: bench.folder, environment: environment,
      launcher: wrapper + ["/bin/sh", "-c", "\(limit); exec \"$0\" \"$@\""]
    ).outcome()
  }

  @Test(
    "the number of descriptors that Reel requires is enough, however many jobs are requested",
    .notSanitized, arguments: [nil, "16", "64"])
  func enoughDescriptors(jobs: String?) async throws {
    let bench = try Workbench()
    // Enough files to fill a batch for each lane.
    try bench.addDistinct(600)
    let arguments = ["ingest", "clips"] + (jobs.map { ["--jobs", $0] } ?? [])
    let environment = try await SystemShim.environment(root: bench.folder, [:])
    let fewer = try await run(bench, limit: "ulimit -n 63", arguments, environment: environment)
    #expect(fewer.status == 1 && fewer.errors.contains("needs at least 64"), "\(fewer.errors)")
    let enough = try await run(bench, limit: "ulimit -n 64", arguments, environment: environment)
    #expect(enough.status == 0, "\(enough.output) \(enough.errors)")
    #expect(try bench.objects().count == 600)
  }

  /// Whichever call is the first to lack a descriptor, no file is blamed, and the next run ingests all of them. The
  /// parent process has left so many descriptors open that too few are free, although the limit is high enough.
  @Test("a process with few free descriptors blames no file", .notSanitized)
  func descriptors() async throws {
    var codes: Set<String> = []
    for most in TestForm.isLong ? [6, 12, 20, 31] + Array(32...42) : [6, 20, 31, 34, 37, 40] {
      let bench = try Workbench()
      try bench.addDistinct(8)
      let taken = (most..<64).map { "exec \($0 - most + 10)</dev/null" }.joined(separator: "; ")
      // The shim lets libdispatch read about its threads. On a busy machine it would otherwise end the process.
      let outcome = try await ReelBinary.start(
        [
          "ingest", "clips", "--jobs", "8", "--events", "events.jsonl", "--library", bench.library.path,
        ],
        in: bench.folder, environment: SystemShim.environment(root: bench.folder, [:]),
        launcher: ["/bin/bash", "-c", "ulimit -n 64; \(taken); exec \"$0\" \"$@\""]
      ).outcome()
      let place: Comment = "\(most): \(outcome.status) \(outcome.output) \(outcome.errors)"
      #expect(!outcome.wasKilled && [0, 1, 3, 127].contains(outcome.status), place)
      #expect(outcome.status == 0 || !(outcome.output + outcome.errors).isEmpty, place)
      let events = bench.folder.appendingPathComponent("events.jsonl")
      if let log = try? EventLog(events) { codes.formUnion(log.ends().values.compactMap(\.code)) }
      let again = try await bench.reel("ingest", "clips")
      #expect(again.status == 0, "\(most): \(again.errors)")
      #expect(try bench.objects().count == 8)
    }
    // Codes that do not blame a file: shortages, also in the store or the catalog, where they end the run.
    let ours: Set = [
      "tooManyOpenFiles", "unavailable", "cancelled", "catalog.unusable", "catalog.unavailable",
    ]
    #expect(codes.isSubset(of: ours), "\(codes)")
    #expect(codes.contains("tooManyOpenFiles"))
  }

  /// The kernel counts the descriptors in transit between processes for each user, and refuses to send one for a
  /// process with a lower limit. Workers have a limit of five. Root is exempt unless it drops that right.
  @Test(
    "readers start while other processes of the user pass descriptors around",
    .notSanitized, arguments: ["auto", "strict"])
  func descriptorsOnTheirWay(isolation: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(8)
    let fill = """
      import array, os, socket, sys
      ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
      for _ in range(20):
          ends[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
      for end in ends: end.set_inheritable(True)
      os.execv(sys.argv[1], sys.argv[1:])
      """
    let rights = ["/usr/bin/setpriv", "--bounding-set=-sys_resource,-sys_admin"]
    let outcome = try await run(
      bench, limit: ":", ["ingest", "clips", "--jobs", "2", "--isolation", isolation],
      through: (OtherUser.isRoot ? rights : []) + ["/usr/bin/env", "python3", "-c", fill])
    #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
  }

  /// A limit on file sizes ends no process: the failed write is reported. A sanitizer's own files exceed the limit.
  @Test(
    "a limit on file sizes is an error", .notSanitized, arguments: [1, 8, 100])
  func fileSize(blocks: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await run(bench, limit: "ulimit -f \(blocks)", ["ingest", "clips"])
    let place: Comment = "\(outcome.status) \(outcome.output) \(outcome.errors)"
    #expect(!outcome.wasKilled && [1, 3].contains(outcome.status), place)
    #expect(!outcome.errors.isEmpty, place)
    #expect(try bench.objects().isEmpty)
    let again = try await bench.reel("ingest", "clips")
    #expect(again.status == 0, "\(again.errors)")
    #expect(try bench.objects().count == 1)
  }

  /// Runs the program as a user with a limit on processes, including threads. Root has no such limit.
  private static let unprivileged = OtherUser.launcher(of: 65533)

  /// Ends a process that hangs, which counts as a failure.
  private static let patience = ["/usr/bin/timeout", "--signal=KILL", "3000"]

  @Test(
    "a process that may start few threads says so and ends", .notSanitized,
    .needsNoRoot)
  func threads() async throws {
    var words: Set<Bool> = []
    for most in [1, 2, 4, 8, 12, 16] {
      let bench = try Workbench()
      try bench.addDistinct(30)
      // Open to everybody, so that the other user can read and write. Reel itself makes the library, for its owner.
      for folder in [bench.folder, bench.clips] { chmod(folder.path, 0o777) }
      let outcome = try await run(
        bench, limit: ":", ["ingest", "clips", "--jobs", "8"],
        through: Self.patience + (OtherUser.isRoot ? Self.unprivileged : []) + [
          "/usr/bin/prlimit", "--nproc=\(most)",
        ])
      let place: Comment = "\(most): \(outcome.status) \(outcome.output) \(outcome.errors)"
      #expect(!outcome.wasKilled && [0, 1, 3].contains(outcome.status), place)
      #expect(outcome.status == 0 || !(outcome.output + outcome.errors).isEmpty, place)
      words.insert(outcome.errors.contains("refuses to create more threads"))
    }
    #expect(words.contains(true))
  }

  /// The limits are in kilobytes. A thread reserves 72 MB of address space unless told to use less.
  @Test(
    "a process with little address space copes with it, or says so and ends",
    .notSanitized, arguments: [200_000, 262_144, 300_000, 400_000, 500_000, 700_000])
  func addressSpace(kilobytes: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(30)
    let outcome = try await run(
      bench, limit: "ulimit -v \(kilobytes)", ["ingest", "clips", "--jobs", "8"], through: Self.patience)
    let place: Comment = "\(kilobytes): \(outcome.status) \(outcome.output) \(outcome.errors)"
    guard kilobytes < 262_144 else {
      #expect(outcome.status == 0 && !outcome.wasKilled, place)
      return
    }
    #expect(outcome.status == 1 && !outcome.wasKilled, place)
    #expect(outcome.errors.contains("ulimit -v"), place)
  }
}
