import Foundation
import Testing

/// Every call that makes something durable, or that needs something of the system: it fails, or is the last.
@Suite("When the system fails", .timeLimit(.minutes(60)), .serialized)
struct SystemFaultTests {
  static let isLong = ProcessInfo.processInfo.environment["REEL_LONG"] == "1"
  /// How often in a row a call is failed at its next place; the long form goes on until it is not made so often.
  static let places = isLong ? 200 : 3

  static let errors: [(call: String, error: String)] = [
    ("copy_file_range", "ENOSPC"), ("copy_file_range", "EIO"), ("copy_file_range", "EINTR"),
    ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"),
    ("fsync", "EIO"), ("fdatasync", "EIO"),
    ("renameat2", "EIO"), ("renameat2", "ENOSPC"), ("renameat2", "EINVAL"),
    ("ftruncate", "EIO"), ("flock", "EINTR"),
  ]

  @Test(
    "a call that fails is told, and the next run makes everything whole", .enabled(if: Strace.isPossible),
    arguments: errors)
  func failing(call: String, error: String) throws {
    for nth in 1...Self.places {
      let bench = try Workbench()
      try bench.addDistinct(2)
      let (outcome, happened) = try Strace.run(
        bench, call, "error=\(error)", at: nth, ["ingest", "clips", "--jobs", "1"])
      let place: Comment = "\(call) \(error) at \(nth): \(outcome.status) \(outcome.output) \(outcome.errors)"
      #expect(!outcome.wasKilled && [0, 1, 3, 127].contains(outcome.status), place)
      #expect(outcome.status == 0 || !(outcome.output + outcome.errors).isEmpty, place)
      #expect(!outcome.errors.contains("Fatal error"), place)
      try expectWhole(bench, 2, wasDone: outcome.status == 0, place)
      if !happened { break }
    }
  }

  @Test("a process without descriptors says so", .enabled(if: Strace.isPossible))
  func noDescriptors() throws {
    let places = Self.isLong ? Array(1...80) : [20, 25, 30, 35, 40]
    for nth in places {
      let bench = try Workbench()
      try bench.addDistinct(2)
      let (outcome, _) = try Strace.run(
        bench, "openat", "error=EMFILE", at: nth, ["ingest", "clips", "--jobs", "1"])
      let place: Comment = "openat EMFILE at \(nth): \(outcome.status) \(outcome.output) \(outcome.errors)"
      #expect(!outcome.wasKilled && [0, 1, 3, 127].contains(outcome.status), place)
      #expect(outcome.status == 0 || !(outcome.output + outcome.errors).isEmpty, place)
      try expectWhole(bench, 2, wasDone: false, place)
    }
  }

  @Test(
    "a call that is the last of its process: the next run makes everything whole",
    .enabled(if: Strace.isPossible),
    arguments: [
      "openat", "copy_file_range", "fsync", "fdatasync", "renameat2", "rename", "pwrite64", "unlink",
    ])
  func dying(call: String) throws {
    let places = Self.isLong ? Array(1...200) : call == "openat" ? [22, 30, 38] : [1, 2, 3]
    for nth in places {
      let bench = try Workbench()
      try bench.addDistinct(2)
      let (outcome, happened) = try Strace.run(
        bench, call, "signal=KILL", at: nth, ["ingest", "clips", "--jobs", "1"])
      try expectWhole(bench, 2, wasDone: outcome.status == 0 && !outcome.wasKilled, "\(call) at \(nth)")
      if !happened, call != "openat" { break }
    }
  }

  @Test(
    "an object that a dead process named is synced with its folder before it becomes a post",
    .enabled(if: Strace.isPossible))
  func foundObject() throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    _ = try bench.reel("ingest", "clips", environment: ["REEL_DIE_AT": "uploaded"])
    let log = bench.folder.appendingPathComponent("calls")
    let again = try ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path], in: bench.folder,
      launcher: [Strace.path, "-f", "-y", "-o", log.path, "-e", "trace=fsync"]
    ).outcome()
    #expect(again.status == 0, "\(again.errors)")
    let calls = String(decoding: try Data(contentsOf: log), as: UTF8.self)
    #expect(calls.contains("library/media>"), "\(calls)")
  }

  private func expectWhole(_ bench: Workbench, _ count: Int, wasDone: Bool, _ comment: Comment) throws {
    let catalog = bench.library.appendingPathComponent("catalog.sqlite")
    if FileManager.default.fileExists(atPath: catalog.path) {
      let inspection = try LibraryInspection(library: bench.library)
      #expect(try inspection.broken() == [], comment)
      if wasDone { #expect(inspection.published.count == count, comment) }
    }
    let again = try bench.reel("ingest", "clips")
    #expect(again.status == 0, "\(again.errors) after \(comment)")
    let whole = try LibraryInspection(library: bench.library)
    #expect(try whole.brokenAfterCompletion() == [], comment)
    #expect(whole.published.count == count, comment)
  }
}
