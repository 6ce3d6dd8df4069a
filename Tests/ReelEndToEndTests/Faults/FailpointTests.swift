import Foundation
import ReelCore
import ReelIngest
import ReelTestSupport
import Testing

@Suite("Failpoints in a release")
struct ReleaseFailpointTests {
  @Test("a debug build obeys REEL_FAILPOINT; a release build does not contain the word")
  func compiledOut() async throws {
    let bench = try Workbench()
    let search = try await ReelBinary.runProgram(
      "/bin/grep", ["--quiet", "--text", "REEL_FAILPOINT", ReelBinary.url.path], in: bench.folder)
    #expect(search.status == (ReelBinary.hasFailpoints ? 0 : 1))
    try bench.addDistinct(1)
    let outcome = try await bench.reel("ingest", "clips", environment: ["REEL_FAILPOINT": "groupBegun=crash"])
    #expect(outcome.wasKilled == ReelBinary.hasFailpoints)
  }
}

#if DEBUG

  /// At a place between two effects, in the pipeline, the folder store or the catalog, the process dies, the effect
  /// fails, or it is delayed while another process works on the same videos. The fault strikes when a run first comes
  /// to the place; in the long form, each time.
  @Suite("Failpoints", .shortTime, .serialized)
  struct FailpointTests {
    /// How often everything is repeated. The interleaving of threads and processes differs from run to run.
    static let rounds = ProcessInfo.processInfo.environment["REEL_ROUNDS"].flatMap { Int($0) } ?? 1
    /// All places, or those listed in `REEL_PLACES`, separated by commas. `MendedPostTests` has those of mending, and
    /// `ChangeFailpointTests` those of changes.
    static let places =
      (Failpoint.allCases.map { "\($0)" }.filter { !$0.hasPrefix("change") }
      + IntakeStep.allCases.filter { $0 != .mended }.map(\.rawValue))
      .filter { place in
        ProcessInfo.processInfo.environment["REEL_PLACES"]?.split(separator: ",").contains(Substring(place))
          ?? true
      }
    static let clips = 4

    enum Kind: String, CaseIterable {
      case crash, error, delay
    }

    @Test(
      "at each place, with each kind of fault, the invariants hold, and the next run completes everything",
      arguments: places)
    func at(place: String) async throws {
      let scene = FailpointScene(place: place)
      var tally = Tally()
      for _ in 0..<Self.rounds where scene.isPossible {
        var nth = 1
        repeat {
          for kind in Kind.allCases {
            tally.add(try await run(scene, place, nth, kind, "\(place):\(nth)=\(kind)"), nth, kind)
          }
          nth += 1
        } while TestForm.isLong && nth <= tally.most
      }
      if TestForm.isLong { print("\(place): \(tally)") }
    }

    /// How many runs of each kind came to the place as often as required.
    private struct Tally: CustomStringConvertible {
      private var runs: [Kind: Int] = [:]
      private var reached: [Kind: Int] = [:]
      /// The largest number of times that a run came to the place.
      private(set) var most = 1

      mutating func add(_ count: Int, _ nth: Int, _ kind: Kind) {
        most = max(most, count)
        runs[kind, default: 0] += 1
        if count >= nth { reached[kind, default: 0] += 1 }
      }

      var description: String {
        Kind.allCases.map { "\($0) \(reached[$0] ?? 0) of \(runs[$0] ?? 0)" }.joined(separator: ", ")
      }
    }

    /// Returns how often the run came to the place.
    private func run(
      _ scene: FailpointScene, _ place: String, _ nth: Int, _ kind: Kind, _ at: Comment
    ) async throws -> Int {
      let bench = try Workbench(reader: .fake, hasPosters: true)
      try bench.addDistinct(Self.clips)
      try await scene.prepare(bench)
      let seen = bench.folder.appendingPathComponent("seen")
      var environment = try await bench.environment.merging(scene.environment(bench)) { $1 }
      environment["REEL_FAILPOINT"] = "\(place):\(nth)=\(kind)"
      environment["REEL_FAILPOINTS_SEEN"] = seen.path
      let armed = try ReelBinary.start(
        scene.arguments + ["--library", bench.library.path], in: bench.folder, environment: environment)
      let beside =
        kind == .delay
        ? try ReelBinary.start(
          ["ingest", "clips", "--library", bench.library.path], in: bench.folder,
          environment: bench.environment) : nil
      let outcome = try await armed.outcome()
      if let beside {
        let other = try await beside.outcome()
        #expect(other.status == 0, "beside \(at): \(other.errors)")
      }
      let count =
        (try? String(contentsOf: seen, encoding: .utf8))?.split(separator: "\n").count { $0 == place } ?? 0
      // A concurrent process may have done the work first.
      if nth == 1, kind != .delay { #expect(count > 0, "never came to \(at): \(outcome.errors)") }
      judge(outcome, kind, wasReached: count >= nth, at)
      try await bench.expectKept(announcedIn: "events.jsonl", at)
      if scene.isGivingUp {
        // Objects that it gave up without removing them still have their rows. The doctor removes them.
        let again = try await ReelBinary.run(
          scene.arguments + ["--library", bench.library.path], in: bench.folder,
          environment: bench.environment)
        #expect([0, 3].contains(again.status), "again after \(at): \(again.output) \(again.errors)")
        try await bench.expectKept(announcedIn: "events.jsonl", at)
      }
      try await bench.expectWhole(Self.clips, at)
      return count
    }

    private func judge(_ outcome: ReelBinary.Outcome, _ kind: Kind, wasReached: Bool, _ at: Comment) {
      switch kind {
      case .crash: #expect(outcome.wasKilled == wasReached, "\(at) \(outcome.errors)")
      // The doctor may find what the other process is working on.
      case .delay: #expect([0, 3].contains(outcome.status), "\(at) \(outcome.output) \(outcome.errors)")
      case .error:
        #expect(!outcome.wasKilled && [0, 1, 3].contains(outcome.status), "\(at) \(outcome.errors)")
        #expect(outcome.status == 0 || !(outcome.output + outcome.errors).isEmpty, at)
      }
    }
  }

  /// The state that is needed for a process to come to a place.
  struct FailpointScene {
    private enum Kind {
      case fresh, afterCrash, givingUp, heartbeat, withoutRename, damaged
    }
    private let kind: Kind

    init(place: String) {
      switch place {
      case "deadLockRemoved", "leftoverRemoved", "takeOverWritten": kind = .afterCrash
      case "objectRemoved", "releaseWritten", "giveUpCommitted": kind = .givingUp
      case "objectReplaced": kind = .damaged
      case "leaseRenewed", "leaseCommitted": kind = .heartbeat
      case "temporaryRemoved": kind = .withoutRename
      default: kind = .fresh
      }
    }

    var isGivingUp: Bool { kind == .givingUp }
    var isPossible: Bool { kind != .withoutRename || SystemShim.isPossible }

    var arguments: [String] {
      switch kind {
      case .givingUp: ["doctor", "--fix", "--grace", "0"]
      case .damaged: ["doctor", "--fix", "--from", "clips"]
      default: ["ingest", "clips", "--jobs", "2", "--events", "events.jsonl"]
      }
    }

    func prepare(_ bench: Workbench) async throws {
      switch kind {
      case .fresh, .heartbeat, .withoutRename: break
      case .damaged:
        _ = try await bench.reel("ingest", "clips")
        // Truncates a video whose original is at hand.
        for object in try bench.objects().sorted().filter({ !$0.hasSuffix(".jpg") }).prefix(1) {
          truncate(bench.media.appendingPathComponent(object).path, 10)
        }
      case .afterCrash:
        _ = try await bench.reel(
          "ingest", "clips", "--jobs", "1", environment: ["REEL_DIE_AT": "temporarySynced:2"])
      case .givingUp:
        _ = try await bench.reel("ingest", "clips", "--jobs", "1", environment: ["REEL_DIE_AT": "uploaded:2"])
      }
    }

    func environment(_ bench: Workbench) async throws -> [String: String] {
      switch kind {
      case .fresh, .afterCrash, .givingUp, .damaged: [:]
      case .heartbeat: ["REEL_LEASE_SECONDS": "0.06"]
      // The third rename is an object's; the first two are the locks of the catalog and of the store.
      case .withoutRename:
        try await SystemShim.environment(root: bench.folder, ["REEL_SHIM_FAULT": "rename:3+:\(EINVAL)"])
      }
    }
  }
#endif
