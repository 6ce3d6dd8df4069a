import Foundation
import ReelTestSupport
import Testing

/// A library with a recorded history: a run that was killed, a complete one, and the doctor's.
struct PowerLossScene {
  var record: DiskRecord { replay.record }
  private var replay: DiskReplay
  private let bench: Workbench
  private let clips: Int
  /// The posts that were reported before the power loss.
  private var announced: Set<String> = []

  /// - Parameter fault: `REEL_SHIM_FAULT` for the first run, which is then not killed.
  init(clips: Int, fault: String? = nil) async throws {
    bench = try Workbench(reader: .fake)
    self.clips = clips
    try bench.addDistinct(clips)
    let log = bench.folder.appendingPathComponent("record")
    // After the power loss, unfinished work belongs to another boot. By then its leases should have ended.
    let recording = ["REEL_SHIM_RECORD": log.path, "REEL_LEASE_SECONDS": "1"]
    let first = fault.map { ["REEL_SHIM_FAULT": $0] } ?? ["REEL_DIE_AT": "uploaded:2"]
    for settings in [first, [:]] {
      let environment = try await SystemShim.environment(
        root: bench.folder, recording.merging(settings) { $1 })
      _ = try await bench.reel("ingest", "clips", "--jobs", "2", "--events", "-", environment: environment)
    }
    let environment = try await SystemShim.environment(root: bench.folder, recording)
    let doctor = try await bench.reel("doctor", "--fix", environment: environment)
    #expect(doctor.status == 0, "\(doctor.output) \(doctor.errors)")
    replay = DiskReplay(try DiskRecord(log))
    // Waits for leases to end. On a fast machine, recovery would otherwise come sooner.
    try await Task.sleep(for: .milliseconds(1_100))
    try FileManager.default.removeItem(at: log)
  }

  /// Removes the syncs of matching paths, as if the process had not made them.
  mutating func forgetSyncs(_ isForgotten: (String) -> Bool) {
    replay.forgetSyncs(isForgotten)
  }

  /// Replaces the library by what survives a power loss after the first `cut` steps.
  mutating func cutPower(after cut: Int, _ rule: ImaginedDisk.Rule, _ fate: ImaginedDisk.Fate, _ seed: UInt64)
    throws
  {
    try? FileManager.default.removeItem(at: bench.library)
    let disk = ImaginedDisk(root: bench.folder, rule: rule)
    announced = Announcements(try replay.cutPower(after: cut, on: disk, fate, seed)).keys
  }

  /// Returns the violations before any process has touched the library.
  func broken() throws -> [String] {
    guard bench.hasCatalog else {
      return announced.isEmpty ? [] : ["posts were announced, but there is no catalog"]
    }
    let inspection = try LibraryInspection(library: bench.library)
    return try inspection.broken() + inspection.missing(of: announced)
  }

  /// Recovers the library with the real binary, on a machine that was rebooted.
  func bringUp(_ comment: Comment) async throws {
    let boot = try await bench.otherBoot()
    if bench.hasCatalog {
      let doctor = try await bench.reel("doctor", "--fix", "--read", "--json", environment: boot)
      // Unfinished intents are reported until the next run has resumed them.
      let left = try doctor.object()["left"] as? [[String: Any]] ?? []
      #expect(left.allSatisfy { $0["kind"] as? String == "intent.waiting" }, "\(doctor.output) \(comment)")
      #expect(doctor.status == (left.isEmpty ? 0 : 3), "\(doctor.output) \(doctor.errors) \(comment)")
    }
    try await bench.expectWhole(clips, comment, environment: boot)
    let inspection = try LibraryInspection(library: bench.library)
    expectNothing(inspection.missing(of: announced), comment)
    let doctor = try await bench.reel("doctor", "--read", environment: boot)
    #expect(doctor.status == 0, "\(doctor.output) \(doctor.errors) \(comment)")
  }
}
