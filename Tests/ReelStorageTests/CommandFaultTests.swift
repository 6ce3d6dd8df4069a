import Foundation
import ReelCore
import ReelCrypto
import ReelFaultCampaign
import ReelIngest
import ReelStorage
import ReelTestSupport
import Testing

/// The real pipeline over an adapter that fails as planned: Tests/Adapters/sabotaged.py.
@Suite("one object and one post survive every broken adapter", .shortTime, .notQuick)
struct CommandFaultTests {
  /// Faults that must not fail a run when they strike one request only.
  private static let passing: Set = [
    "exit 1", "killed", "a crash", "words on standard error", "a child that stays", "stall",
    "unavailable", "unavailable, retryAfter", "interrupted", "killed before it is staged",
    "stall before it is staged", "killed before the commit", "killed after the commit",
    "stall after the commit",
    "error after the commit", "no digest",
  ]
  private static let reaches = ["once", "always", "alike"]

  @Test(.needsPython)
  func campaign() async throws {
    let setting = CampaignSetting()
    let sabotages = try await choose(setting)
    var tally = CampaignTally()
    try await withThrowingTaskGroup(of: ScenarioOutcome.self) { group in
      var waiting = sabotages.makeIterator()
      for _ in 0..<8 {
        if let next = waiting.next() { group.addTask { try await outcome(of: next, setting.seed) } }
      }
      while let ended = try await group.next() {
        tally.add(ended)
        if let next = waiting.next() { group.addTask { try await outcome(of: next, setting.seed) } }
      }
    }
    print("faults, command: \(sabotages.count) scenarios: \(tally); REEL_SEED=\(setting.seed)")
    try tally.check("REEL_SEED=\(setting.seed)")
  }

  private func choose(_ setting: CampaignSetting) async throws -> [Sabotage] {
    let kinds = try await Sabotage.kinds()
    let (bench, draws) = (try SabotageBench(seed: setting.seed), SeededRandomness(seed: setting.seed))
    try await bench.publish(patience: .seconds(60))
    let requests = bench.lines("requests").count
    return kinds.flatMap { kind in
      let all = (1...requests).flatMap { request in
        Self.reaches.map { Sabotage(fault: kind, request: request, reach: $0) }
      }
      return setting.draw(1, of: all, draws)
    }.filter { sabotage in setting.only.map { sabotage.description.contains($0) } ?? true }
  }

  private func outcome(of sabotage: Sabotage, _ seed: UInt64) async throws -> ScenarioOutcome {
    // The patience applies to every request of the run. Where the run has to survive a single stall, it must be long
    // enough for the other requests on a busy machine; where every request stalls, a long one would only take time.
    let isStall = sabotage.fault.contains("stall")
    let patience: Duration = .seconds(isStall ? sabotage.reach == "once" ? 20 : 2 : 60)
    let bench = try SabotageBench(seed: seed)
    try bench.plan(sabotage)
    let first = try await bench.publish(patience: patience)
    var outcome = ScenarioOutcome(
      fault: sabotage.description, result: first, struck: bench.lines("struck").count,
      broken: try bench.broken(after: first))
    if Self.passing.contains(sabotage.fault), sabotage.reach == "once", case .failed(let failure) = first {
      outcome.broken.append("the run did not recover from the fault: \(failure.code), \(failure.message)")
    }
    try bench.plan(nil)
    let second = try await bench.publish(patience: .seconds(60))
    if case .failed(let failure) = second {
      outcome.broken.append("the next run, without the fault, failed: \(failure.code), \(failure.message)")
    }
    outcome.broken += try bench.broken(after: second).map { "after the second run: " + $0 }
    if !bench.staged.isEmpty {
      outcome.broken.append("files were left in the staging folder: \(bench.staged)")
    }
    return outcome
  }
}

/// What fails, and at which requests.
private struct Sabotage: Encodable, Sendable, CustomStringConvertible {
  let fault: String
  let request: Int
  let reach: String

  var description: String { "\(fault), request \(request), \(reach)" }

  static let adapter = Checkout.root.appending(path: "Tests")
    .appending(path: "Adapters/sabotaged.py").path

  /// All kinds of faults that the adapter supports.
  static func kinds() async throws -> [String] {
    let said = FileManager.default.temporaryDirectory.appending(path: "reel-kinds-\(UUID().uuidString)")
    try Data().write(to: said)
    defer { try? FileManager.default.removeItem(at: said) }
    let process = Process()
    process.executableURL = URL(filePath: adapter)
    process.arguments = ["--faults"]
    process.environment = ["REEL_ADAPTER_FOLDER": "/nowhere/at all", "PATH": "/usr/bin:/bin"]
    process.standardOutput = try FileHandle(forWritingTo: said)
    try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { _ in continuation.resume() }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
    return try JSONDecoder().decode([String].self, from: Data(contentsOf: said))
  }
}

/// A store, a plan and a library in one folder.
private struct SabotageBench: Sendable {
  let scene: PublishScene

  init(seed: UInt64) throws { scene = try PublishScene(size: 30_001, seed: seed) }

  private var store: String { scene.folder + "/store" }

  func plan(_ sabotage: Sabotage?) throws {
    let file = URL(filePath: scene.folder + "/plan.json")
    if let sabotage {
      try JSONEncoder().encode(sabotage).write(to: file)
    } else {
      try FileManager.default.removeItem(at: file)
    }
  }

  /// Publishes the video with the adapter.
  ///
  /// - Parameter patience: How long the adapter may be silent.
  @discardableResult
  func publish(patience: Duration) async throws -> PublishResult {
    try await scene.publish { [scene, store] _ in
      let uploader = CommandUploader(
        try #require(AdapterProgram(path: Sabotage.adapter, store: nil)),
        environment: AdapterEnvironment(
          of: ["PATH": "/usr/bin:/bin", "REEL_ADAPTER_FOLDER": store], allowing: []),
        publicBaseURL: "https://media.example", temporaries: scene.folder, silence: patience)
      return (uploader, nil)
    }
  }

  func lines(_ name: String) -> [Substring] {
    ((try? String(contentsOfFile: scene.folder + "/" + name, encoding: .utf8)) ?? "").split(separator: "\n")
  }

  /// The names in the staging folder, where objects are never looked up.
  var staged: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: store + "/.staging")) ?? []
  }

  func broken(after result: PublishResult) throws -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: store)) ?? []
    let objects = try names.filter { !$0.hasPrefix(".") }.map { name in
      let bytes = try Data(contentsOf: URL(filePath: store + "/" + name))
      return (name: name, digest: ContentDigest(sha256: SHA256.hash(data: bytes)))
    }
    return OnceVerdict(of: scene.digest).broken(
      after: result, StoreContents(objects: objects), try CatalogLook(library: scene.library))
  }
}
