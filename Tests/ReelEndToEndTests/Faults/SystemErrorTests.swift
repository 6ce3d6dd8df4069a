import Foundation
import ReelTestSupport
import Testing

/// Every system call that Reel makes on its files fails once, or is the last of its process: the nth call of the
/// process, for every n that a complete run reaches. The short form draws one n for each.
@Suite(
  "When a system call fails", .shortTime, .serialized, .needsSystemShim)
struct SystemErrorTests {
  static let clips = 2

  struct Fault: CustomTestStringConvertible, Sendable {
    let call: String
    let what: String
    let number: Int32

    var testDescription: String { "\(call) \(what)" }
    var effect: String { number == 0 ? what : "\(number)" }
  }

  static let faults: [Fault] = [
    ("open", ["EMFILE", "ENFILE", "ENOMEM", "EINTR", "kill"]),
    ("read", ["EIO", "EINTR", "short", "kill"]),
    ("write", ["ENOSPC", "EIO", "EDQUOT", "EINTR", "short", "kill"]),
    ("fsync", ["EIO", "ENOSPC", "EINTR", "kill"]),
    ("rename", ["EIO", "ENOSPC", "EINVAL", "EINTR", "kill"]),
    ("unlink", ["EIO", "EROFS", "kill"]),
    ("mkdir", ["ENOSPC", "EIO", "kill"]),
    ("ftruncate", ["EIO", "ENOSPC", "EINTR", "kill"]),
    ("flock", ["EINTR", "ENOLCK"]),
    ("fcntl", ["ENOLCK", "EIO", "kill"]),
    ("mmap", ["ENOMEM", "kill"]),
    ("spawn", ["ENOMEM", "EAGAIN"]),
  ].flatMap { call, names in
    names.map { Fault(call: call, what: $0, number: SystemErrorTests.numbers[$0] ?? 0) }
  }.filter { fault in
    chosen.map { $0.contains(fault.call) || $0.contains(fault.testDescription) } ?? true
  }

  /// `REEL_CALLS='fsync,write kill'` selects only these: the long form takes an hour.
  private static let chosen = ProcessInfo.processInfo.environment["REEL_CALLS"]?.split(separator: ",").map(
    String.init)

  private static let numbers: [String: Int32] = [
    "EMFILE": EMFILE, "ENFILE": ENFILE, "ENOMEM": ENOMEM, "EINTR": EINTR, "EIO": EIO, "ENOSPC": ENOSPC,
    "EDQUOT": EDQUOT, "EXDEV": EXDEV, "EINVAL": EINVAL, "EROFS": EROFS, "ENOLCK": ENOLCK, "EAGAIN": EAGAIN,
  ]

  @Test(
    "a call that the kernel or a filter lacks is named, with what to do",
    arguments: ["pidfd_open", "memfd_create"])
  func refused(call: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let shim = try await SystemShim.environment(root: bench.folder, ["REEL_SHIM_REFUSED": call])
    let outcome = try await bench.reel("ingest", "clips", environment: shim)
    #expect(outcome.status == 1, "\(outcome)")
    let said = outcome.output + outcome.errors
    #expect(said.contains("does not allow \(call)") && said.contains("Linux 5.4"), "\(outcome)")
    #expect(!said.contains("swift build") && !said.contains("--jobs"), "\(outcome)")
  }

  @Test("a failing call is reported or handled, and the next run completes everything", arguments: faults)
  func failing(fault: Fault) async throws {
    let count = try await Self.clean.value[fault.call] ?? 0
    #expect(count > 0, "a clean run never makes this call")
    // A different place for each fault, since calls do not always come at the same moments.
    var generator = SplitMix64(
      seed: fault.testDescription.utf8.reduce(TestSeed.drawn()) { $0 &* 31 &+ UInt64($1) })
    let all = 1...max(1, count)
    let places = TestForm.isLong ? Array(all) : [Int.random(in: all, using: &generator)]
    for nth in places { try await run(fault, at: nth) }
  }

  @Test(
    "a disk that is out of space from any moment on", arguments: ["write", "fsync", "rename"])
  func fromThereOn(call: String) async throws {
    let count = try await Self.clean.value[call] ?? 0
    let places = TestForm.isLong ? Array(1...max(1, count)) : [1, max(1, count / 2)]
    for nth in places {
      try await run(Fault(call: call, what: "ENOSPC", number: ENOSPC), at: nth, andOn: true)
    }
  }

  private func run(_ fault: Fault, at nth: Int, andOn: Bool = false) async throws {
    let bench = try Workbench(clips: try await Self.originals.value.clips, reader: .fake)
    let environment = try await SystemShim.environment(
      root: Self.files, ["REEL_SHIM_FAULT": "\(fault.call):\(nth)\(andOn ? "+" : ""):\(fault.effect)"])
    let outcome = try await bench.reel(
      "ingest", bench.clips.path, "--jobs", "1", "--events", "events.jsonl", environment: environment)
    let at: Comment = """
      \(fault.call) \(fault.what) at \(nth): \(outcome.status) \(outcome.output) \(outcome.errors)
      """
    if fault.what == "kill" {
      // The threads may have made fewer calls than in the clean run.
      #expect(outcome.wasKilled || outcome.status == 0, at)
    } else {
      #expect(!outcome.wasKilled && [0, 1, 3].contains(outcome.status), at)
    }
    #expect(outcome.wasKilled || outcome.status == 0 || !(outcome.output + outcome.errors).isEmpty, at)
    try await bench.expectKept(announcedIn: "events.jsonl", at)
    // If the catalog can't be written any more, objects that must not count stay. The doctor removes them.
    try await bench.expectWhole(Self.clips, at, fixing: andOn)
  }

  /// The folder of the libraries and the originals.
  private static var files: URL { FileManager.default.temporaryDirectory }

  private static let originals = Task { try await Workbench.settled(clips, reader: .fake) }

  private struct NotClean: Error {
    let errors: String
  }

  /// How often a run without faults makes each call.
  private static let clean = Task { () throws -> [String: Int] in
    let bench = try Workbench(clips: try await originals.value.clips, reader: .fake)
    let counts = bench.folder.appendingPathComponent("counts")
    let environment = try await SystemShim.environment(
      root: files, ["REEL_SHIM_COUNTS": counts.path])
    let outcome = try await bench.reel(
      "ingest", bench.clips.path, "--jobs", "1", "--events", "events.jsonl", environment: environment)
    guard outcome.status == 0 else { throw NotClean(errors: outcome.errors) }
    return try SystemShim.Counts(counts).calls
  }
}
