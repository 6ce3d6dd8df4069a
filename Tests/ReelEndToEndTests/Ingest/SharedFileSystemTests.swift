import Foundation
import ReelTestSupport
import Testing

/// Folders that several machines share. Another kernel is simulated by a boot id of its own and by locks that no other
/// process sees.
@Suite("Shared file systems", .shortTime, .needsSystemShim)
struct SharedFileSystemTests {
  #if DEBUG
    @Test("of two machines that store into one folder, neither removes what the other is writing")
    func twoMachines() async throws {
      let bench = try Workbench()
      try bench.addDistinct(3)
      let temporaries = bench.folder.appendingPathComponent("store/.reel-tmp")
      func leftovers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: temporaries.path).sorted()
      }
      func beginElsewhere() async throws -> ReelBinary.Running {
        let elsewhere = try await ReelBinary.start(
          ["ingest", "clips", "--jobs", "1", "--library", "elsewhere", "--to", "store"], in: bench.folder,
          environment: bench.otherBoot().merging([
            "REEL_SHIM_FLOCK": "unseen", "REEL_FAILPOINT": "temporaryCreated=stop",
          ]) { $1 })
        try await elsewhere.untilStopped()
        return elsewhere
      }
      // However slow the machine is, the stopped process keeps its lease.
      func storeHere() async throws -> ReelBinary.Outcome {
        try await bench.reel("ingest", "clips", "--to", "store", environment: ["REEL_LEASE_SECONDS": "3600"])
      }
      let elsewhere = try await beginElsewhere()
      let before = try leftovers()
      #expect(before.contains { $0.hasSuffix(".part") })
      let here = try await storeHere()
      #expect(here.status == 0, "\(here.errors)")
      #expect(try leftovers() == before)
      elsewhere.send(SIGCONT)
      let outcome = try await elsewhere.outcome()
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(try leftovers() == [])

      // The other machine dies, and its lease ends.
      try bench.addDistinct(4)
      let gone = try await beginElsewhere()
      gone.send(SIGKILL)
      #expect(try await gone.outcome().wasKilled)
      #expect(try await storeHere().status == 0)
      #expect(try !leftovers().isEmpty)
      for name in try leftovers() where name.hasSuffix(".owner") {
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSinceNow: -3601)],
          ofItemAtPath: temporaries.appendingPathComponent(name).path)
      }
      #expect(try await storeHere().status == 0)
      #expect(try leftovers() == [])
    }
  #endif

  @Test(
    "a library that two kernels could open is refused by every command, with the way out",
    arguments: [("0x01021997", "9p"), ("0x00c36400", "CephFS"), ("0x786f4256", "vboxsf")])
  func library(type: String, name: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let shared = try await SystemShim.environment(root: bench.folder, ["REEL_SHIM_FILE_SYSTEM": type])
    for command in [
      ["ingest", "clips"], ["publish", "clips/clip-00000.mp4"], ["feed"], ["doctor", "--fix"], ["verify"],
    ] {
      let outcome = try await ReelBinary.run(
        command + ["--library", bench.library.path], in: bench.folder, environment: shared)
      #expect(outcome.status == 1, "\(command): \(outcome.output) \(outcome.errors)")
      for word in [name, "--library", "--to", bench.library.path] {
        #expect(outcome.errors.contains(word), "\(command): \(outcome.errors)")
      }
    }
  }

  /// Ingests into a store whose file system behaves as `settings` say.
  private func ingest(_ bench: Workbench, _ settings: [String: String]) async throws -> ReelBinary.Outcome {
    let store = bench.folder.appendingPathComponent("store")
    let shim = try await SystemShim.environment(root: store, settings)
    return try await bench.reel("ingest", "clips", "--to", "store", environment: shim)
  }

  @Test(
    "if permissions can't be restricted, videos are stored all the same, with one warning",
    arguments: [
      ("0777", "does not keep owners and permissions"), ("0755", "others on this machine may read"),
    ])
  func withoutModes(_ modes: String, _ told: String) async throws {
    let bench = try Workbench()
    for round in 1...2 {
      try bench.addDistinct(3 * round)
      let outcome = try await ingest(bench, ["REEL_SHIM_MODES": modes])
      #expect(outcome.status == 0, "\(outcome)")
      #expect(outcome.errors.components(separatedBy: told).count == 2, "\(outcome.errors)")
    }
    let names = try FileManager.default.contentsOfDirectory(
      atPath: bench.folder.appendingPathComponent("store").path)
    #expect(names.filter { $0.hasSuffix(".mp4") }.count == 6)
    let temporaries = bench.folder.appendingPathComponent("store/.reel-tmp")
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporaries.path) == [])
  }

  @Test("a library whose permissions can't be restricted causes one warning")
  func libraryWithoutModes() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    for (modes, count) in [("0700", 1), ("0755", 2)] {
      let shim = try await SystemShim.environment(root: bench.library, ["REEL_SHIM_MODES": modes])
      let outcome = try await bench.reel("ingest", "clips", "--to", "store", environment: shim)
      #expect(outcome.status == 0, "\(outcome)")
      let told = outcome.errors.components(separatedBy: "may read its catalog").count
      #expect(told == count, "\(outcome.errors)")
    }
  }

  @Test("objects get names even if a file system has no hard links and renames only by replacing")
  func withoutLinks() async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    let outcome = try await ingest(
      bench, ["REEL_SHIM_RENAMEAT2": "none", "REEL_SHIM_FAULT": "link:1+:\(EPERM)"])
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors.components(separatedBy: "can't name a file without replacing").count == 2)
    #expect(try await bench.reel("verify", "--read").status == 0)
  }

  @Test(
    "without locks, the lease decides whose temporary files are left over",
    arguments: [ENOLCK, ENOSYS, EOPNOTSUPP])
  func withoutLocks(_ error: Int32) async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    let store = bench.folder.appendingPathComponent("store")
    let temporaries = store.appendingPathComponent(".reel-tmp")
    try FileManager.default.createDirectory(at: temporaries, withIntermediateDirectories: true)
    for folder in [store, temporaries] { chmod(folder.path, 0o700) }
    for (letter, age) in [("a", 3601.0), ("b", 0)] {
      let owner = temporaries.appendingPathComponent("upload-" + String(repeating: letter, count: 22))
      for ending in [".owner", ".1.part"] {
        let file = owner.path + ending
        try Data().write(to: URL(fileURLWithPath: file))
        let date = Date(timeIntervalSinceNow: -age)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
      }
    }
    let outcome = try await ingest(
      bench, ["REEL_SHIM_FAULT": "flock:1+:\(error)", "REEL_LEASE_SECONDS": "3600"])
    #expect(outcome.status == 0, "\(outcome)")
    let left = try FileManager.default.contentsOfDirectory(atPath: temporaries.path).sorted()
    #expect(left.map { $0.dropFirst(29) } == [".1.part", ".owner"], "\(left)")
    #expect(left.allSatisfy { $0.hasPrefix("upload-b") })
  }
}
