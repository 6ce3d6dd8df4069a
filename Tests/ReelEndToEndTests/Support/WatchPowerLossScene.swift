import Foundation
import ReelCrypto
import ReelTestSupport
import Testing

/// A recorded watch with `--after`, and what a power loss leaves of its effects.
struct WatchPowerLossScene {
  enum Way: String, CaseIterable {
    case move, delete, otherDisk

    /// The folder that files go to, within the bench's folder. It must not become durable through the creation of the
    /// library.
    var target: String { self == .otherDisk ? "disk/done" : "out/done" }
    var rejects: String { self == .otherDisk ? "disk/no" : "out/no" }
  }

  private static let videos = (0..<4).map { String(format: "clip-%05d.mp4", $0) }
  private static let others = ["clip-00001.json", "no.mp4"]

  var record: DiskRecord { replay.record }
  private var replay = DiskReplay(DiskRecord())
  private let bench: Workbench
  private let way: Way
  /// What existed before, durably: files by their paths, nil for a folder.
  private let before: [(path: String, bytes: Data?)]
  /// The posts that were reported before the power loss.
  private var announced: Set<String> = []

  init(_ way: Way) async throws {
    self.way = way
    bench = try Workbench(reader: .fake)
    try bench.addDistinct(Self.videos.count)
    try bench.write(#"{"caption": "one"}"#, to: Self.others[0])
    try bench.write("no video", to: Self.others[1])
    for name in ["out", "disk"] {
      try FileManager.default.createDirectory(
        at: bench.folder.appendingPathComponent(name), withIntermediateDirectories: false)
    }
    var before: [(path: String, bytes: Data?)] = ["clips", "out", "disk"].map { ($0, nil) }
    for name in Self.videos + Self.others {
      before.append(("clips/" + name, try Data(contentsOf: bench.clips.appendingPathComponent(name))))
    }
    self.before = before
    let log = bench.folder.appendingPathComponent("record")
    try await watch(
      ["--events", "-"], environment: ["REEL_SHIM_RECORD": log.path, "REEL_LEASE_SECONDS": "1"]
    ) { true }
    replay = DiskReplay(try DiskRecord(log))
    // Otherwise recovery would come sooner than the last lease ends.
    try await Task.sleep(for: .milliseconds(1_100))
  }

  /// Watches until nothing is left to be done.
  private func watch(
    _ arguments: [String], environment: [String: String], _ hasBegun: () -> Bool
  ) async throws {
    var environment = environment
    if way == .otherDisk {
      environment["REEL_SHIM_DISK"] = bench.folder.appendingPathComponent("disk").path
    }
    let watch = try await ReelBinary.start(
      [
        "watch", "clips", "--settle", "0.2", "--jobs", "2", "--library", bench.library.path, "--after",
        way == .delete ? "delete" : "move:" + way.target, "--reject", "move:" + way.rejects,
      ] + arguments, in: bench.folder,
      environment: SystemShim.environment(root: bench.folder, bench.environment.merging(environment) { $1 }))
    try await watch.until { hasBegun() && names("clips").isEmpty }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0, "\(outcome)")
  }

  private func names(_ folder: String) -> [String] {
    let path = bench.folder.appendingPathComponent(folder).path
    return (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
  }

  // MARK: The power loss

  mutating func forgetSyncs(_ isForgotten: (String) -> Bool) {
    replay.forgetSyncs(isForgotten)
  }

  /// Whether the step removes a file's name from the watched folder.
  func takesFileAway(_ step: Int) -> Bool {
    let clips = bench.clips.path + "/"
    return switch record.steps[step] {
    case .unlink(let path): path.hasPrefix(clips)
    case .rename(let old, let new): old.hasPrefix(clips) && !new.hasPrefix(clips)
    default: false
    }
  }

  /// Leaves in the folder what survives a power loss after the first `cut` steps.
  mutating func cutPower(
    after cut: Int, _ rule: ImaginedDisk.Rule, _ fate: ImaginedDisk.Fate, _ seed: UInt64
  ) throws {
    for name in ["clips", "out", "disk", "library", "record", "events.jsonl"] {
      try? FileManager.default.removeItem(at: bench.folder.appendingPathComponent(name))
    }
    let disk = ImaginedDisk(
      root: bench.folder, rule: rule, otherDisk: bench.folder.appendingPathComponent("disk").path,
      holding: before)
    announced = Announcements(try replay.cutPower(after: cut, on: disk, fate, seed)).keys
  }

  /// Returns the violations before any process has touched the library.
  func broken() throws -> [String] {
    var broken: [String] = []
    var digests: Set<Data> = []
    if bench.hasCatalog {
      let inspection = try LibraryInspection(library: bench.library)
      broken += try inspection.broken() + inspection.missing(of: announced)
      digests = Set(inspection.published.map(\.digest))
    } else if !announced.isEmpty {
      broken.append("posts were announced, but there is no catalog")
    }
    for name in Self.videos {
      guard !isThere(name) else { continue }
      if !digests.contains(Data(SHA256.hash(data: try original(name)))) {
        broken.append("\(name) is gone, but was not published")
      }
      if way != .delete, !holds(way.target, name) { broken.append("\(name) is in neither folder") }
    }
    if !holds("clips", Self.others[1]), !holds(way.rejects, Self.others[1]) {
      broken.append("the rejected file \(Self.others[1]) is in neither folder")
    }
    if isThere(Self.others[0]), !isThere(Self.videos[1]) {
      broken.append(
        "the sidecar has stayed without its video, so it would go with the next video of that name")
    }
    if way != .delete, !holds("clips", Self.others[0]), !holds(way.target, Self.others[0]) {
      broken.append("the sidecar is in neither folder")
    }
    return broken
  }

  private func original(_ name: String) throws -> Data {
    try #require(before.first { $0.path == "clips/" + name }?.bytes)
  }

  /// Whether the file is complete in the watched folder, possibly under its name for removal.
  private func isThere(_ name: String) -> Bool {
    holds("clips", name) || holds("clips", ".reel-removing-" + name)
  }

  /// Whether the file is there, complete.
  private func holds(_ folder: String, _ name: String) -> Bool {
    let plain = name.replacing(".reel-removing-", with: "")
    let file = bench.folder.appendingPathComponent(folder).appendingPathComponent(name)
    return (try? Data(contentsOf: file)).map { $0 == (try? original(plain)) } ?? false
  }

  /// Runs the same watch on a machine that was rebooted.
  func bringUp(_ comment: Comment) async throws {
    let boot = try await bench.otherBoot()
    let events = bench.folder.appendingPathComponent("events.jsonl")
    try await watch(["--events", events.path], environment: boot) {
      let text = (try? String(contentsOf: events, encoding: .utf8)) ?? ""
      return text.contains(#""type":"run.started""#)
    }
    expectNothing(try broken(), comment)
    let inspection = try LibraryInspection(library: bench.library)
    #expect(inspection.published.count == Self.videos.count, comment)
    expectNothing(inspection.missing(of: announced), comment)
    for folder in [way.target, way.rejects] {
      expectNothing(names(folder).filter { $0.hasPrefix(".") }, comment)
    }
    let doctor = try await bench.reel("doctor", "--read", environment: boot)
    #expect(doctor.status == 0, "\(doctor.output) \(doctor.errors) \(comment)")
  }
}
