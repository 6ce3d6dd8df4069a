import Foundation
import ReelCore
import ReelTestSupport
import Testing

#if DEBUG

  /// Removals, restorations, edits and moves of posts, interrupted between every two effects. The invariants hold, and
  /// the same command again, `reel prune` and the doctor complete everything.
  @Suite("Failpoints of changes to posts", .shortTime, .serialized)
  struct ChangeFailpointTests {
    static let clips = 2

    enum Kind: String, CaseIterable {
      case crash, error, delay
    }

    @Test("at each place that is reached, with each kind of fault", arguments: ChangeScene.allCases)
    func at(scene: ChangeScene) async throws {
      let bench = try Workbench(reader: .fake, hasPosters: true)
      let stage = try await ChangeStage(scene, bench)
      let places = try await stage.places()
      #expect(places.count > 10, "\(places)")
      var (runs, generator) = (0, SplitMix64(seed: TestSeed.drawn()))
      for (place, count) in places.sorted(by: { $0.key < $1.key }) where Self.isLookedAt(place) {
        for nth in TestForm.isLong ? Array(1...count) : [1] {
          // The short form draws one of the two.
          let drawn: Kind = generator.next().isMultiple(of: 2) ? .crash : .error
          for kind in TestForm.isLong ? Kind.allCases : [drawn] {
            try await run(stage, place, nth, kind)
            runs += 1
          }
        }
      }
      print("\(scene): \(runs) runs at \(places.count) places")
    }

    /// The short form has only the places between effects of changes. `FailpointTests` covers the others, too.
    private static func isLookedAt(_ place: String) -> Bool {
      if let places = ProcessInfo.processInfo.environment["REEL_PLACES"] {
        return places.split(separator: ",").contains(Substring(place))
      }
      return TestForm.isLong || place.hasPrefix("change") || ["objectRemoved", "objectNamed"].contains(place)
    }

    private func run(_ stage: ChangeStage, _ place: String, _ nth: Int, _ kind: Kind) async throws {
      let at: Comment = "\(stage.scene): \(place):\(nth)=\(kind)"
      try stage.reset()
      let bench = stage.bench
      let armed = try stage.start(
        ["--events", "armed.jsonl"], ["REEL_FAILPOINT": "\(place):\(nth)=\(kind)"])
      let beside = kind == .delay ? try stage.start(["--events", "beside.jsonl"], [:]) : nil
      let outcome = try await armed.outcome()
      if let beside {
        let other = try await beside.outcome()
        #expect([0, 3].contains(other.status), "beside \(at): \(other.output) \(other.errors)")
      }
      switch kind {
      case .crash: #expect(outcome.wasKilled, "\(at) \(outcome.errors)")
      case .error, .delay:
        #expect(!outcome.wasKilled && [0, 1, 3].contains(outcome.status), "\(at) \(outcome.errors)")
        #expect(outcome.status == 0 || !(outcome.output + outcome.errors).isEmpty, at)
      }
      let found = try stage.inspection()
      expectNothing(found.broken(), at)
      expectNothing(try stage.untrue(found), at)
      // Both `prune` and the same command complete what was interrupted. The doctor checks the result.
      if nth.isMultiple(of: 2) {
        let prune = try await bench.reel("prune", "--events", "prune.jsonl")
        // `prune` knows no files, so it ends a restoration whose video is not in the store yet (docs/remove.md).
        let asks = stage.scene == .restoreFromFiles && prune.output.contains("the file that it was made from")
        #expect(prune.status == (asks ? 3 : 0), "prune after \(at): \(prune.output) \(prune.errors)")
        expectNothing(try stage.inspection().broken(), at)
      }
      let again = try await stage.start(["--events", "again.jsonl"], [:]).outcome()
      #expect(again.status == 0, "again after \(at): \(again.output) \(again.errors)")
      let prune = try await bench.reel("prune", "--events", "last.jsonl")
      #expect(prune.status == 0, "prune after \(at): \(prune.output) \(prune.errors)")
      _ = try await bench.reel("doctor", "--fix")
      let doctor = try await bench.reel("doctor", "--read")
      #expect(doctor.status == 0, "\(doctor.output) \(doctor.errors) after \(at)")
      let whole = try stage.inspection()
      expectNothing(whole.brokenAtRest(), at)
      expectNothing(try stage.undone(whole), at)
    }
  }

  /// A command that changes all posts of a library, and the command that must precede it.
  enum ChangeScene: CaseIterable {
    case remove, removeAndKeep, removeWhatIsKept, prune, restoreKept, restoreFromFiles, edit, move

    var arguments: [String] {
      switch self {
      case .remove, .removeWhatIsKept: ["remove"]
      case .removeAndKeep: ["remove", "--keep", "1h"]
      case .prune: ["prune"]
      case .restoreKept: ["restore"]
      case .restoreFromFiles: ["restore", "--from", "clips"]
      case .edit: ["edit", "--caption", "new words"]
      case .move: ["move", "--to", "other"]
      }
    }

    /// The preceding command; nil for none.
    fileprivate var before: [String]? {
      switch self {
      case .remove, .removeAndKeep, .edit, .move: nil
      case .removeWhatIsKept, .restoreKept: ["remove", "--keep", "1h"]
      case .prune: ["remove", "--keep", "1s"]
      case .restoreFromFiles: ["remove"]
      }
    }
  }

  /// A library that is reset to its state before the scene, any number of times.
  private final class ChangeStage {
    let scene: ChangeScene
    let bench: Workbench
    private let saved: URL
    private let start: ChangeInspection
    private var ids: [String] { start.posts.keys.sorted() }

    init(_ scene: ChangeScene, _ bench: Workbench) async throws {
      (self.scene, self.bench) = (scene, bench)
      try bench.addDistinct(ChangeFailpointTests.clips)
      let filled = try await bench.reel("ingest", "clips")
      #expect(filled.status == 0, "\(filled.errors)")
      start = try ChangeInspection(library: bench.library)
      saved = bench.folder.appendingPathComponent("saved")
      if let before = scene.before {
        let outcome = try await ReelBinary.run(
          before + start.posts.keys.sorted() + ["--library", bench.library.path], in: bench.folder,
          environment: bench.environment)
        #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
        if scene == .prune { try await Task.sleep(for: .milliseconds(1_100)) }
      }
      try FileManager.default.copyItem(at: bench.library, to: saved)
    }

    func reset() throws {
      let files = FileManager.default
      for name in try files.contentsOfDirectory(atPath: bench.folder.path)
      where name.hasSuffix(".jsonl") || ["library", "other", "seen"].contains(name) {
        try files.removeItem(at: bench.folder.appendingPathComponent(name))
      }
      try files.copyItem(at: saved, to: bench.library)
    }

    func start(_ more: [String], _ environment: [String: String]) throws -> ReelBinary.Running {
      try ReelBinary.start(
        scene.arguments + (scene == .prune ? [] : ids) + more + ["--library", bench.library.path],
        in: bench.folder, environment: bench.environment.merging(environment) { $1 })
    }

    /// Returns every place that an undisturbed run passes, and how often.
    func places() async throws -> [String: Int] {
      try reset()
      let seen = bench.folder.appendingPathComponent("seen")
      let outcome = try await start([], ["REEL_FAILPOINTS_SEEN": seen.path]).outcome()
      #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
      expectNothing(try undone(try inspection(), isTold: false))
      let lines = try String(contentsOf: seen, encoding: .utf8).split(separator: "\n")
      return Dictionary(lines.map { (String($0), 1) }, uniquingKeysWith: +)
    }

    func inspection() throws -> ChangeInspection {
      try ChangeInspection(
        library: bench.library, others: [bench.folder.appendingPathComponent("other")])
    }

    /// Returns the reported changes that are not in effect.
    func untrue(_ found: ChangeInspection) throws -> [String] {
      let told = try ToldChanges(in: bench.folder)
      return told.ids.flatMap { type, ids in
        ids.filter { !isSo(type, $0, in: found) }.map { "\(type) was sent for \($0), but is not true" }
      }
    }

    private func isSo(_ type: String, _ id: String, in found: ChangeInspection) -> Bool {
      switch type {
      case "post.removed": found.removed[id] != nil
      case "post.restored": found.posts[id] != nil
      case "post.edited": found.posts[id]?.caption == "new words"
      case "post.moved": found.posts[id]?.store == "file://" + bench.folder.path + "/other"
      default: true
      }
    }

    /// Returns what the scene should have changed or reported, and has not.
    func undone(_ found: ChangeInspection, isTold: Bool = true) throws -> [String] {
      let told = try ToldChanges(in: bench.folder)
      return start.posts.values.flatMap { post in
        var undone: [String] = []
        if (found.posts[post.id]?.page ?? found.removed[post.id]?.page) != post.page {
          undone.append("\(post.id) has lost its place")
        }
        if let type, isTold, !told.tells(type, post.id) {
          undone.append("\(type) of \(post.id) was not sent")
        }
        let isDone =
          switch scene {
          case .remove, .removeWhatIsKept, .prune: found.removed[post.id]?.isStored == false
          case .removeAndKeep: found.removed[post.id]?.isStored == true
          default: isSo(type ?? "", post.id, in: found)
          }
        if !isDone { undone.append("\(post.id) is not in the expected state") }
        return undone
      }
    }

    private var type: String? {
      switch scene {
      case .remove, .removeAndKeep: "post.removed"
      case .removeWhatIsKept, .prune: nil
      case .restoreKept, .restoreFromFiles: "post.restored"
      case .edit: "post.edited"
      case .move: "post.moved"
      }
    }
  }
#endif
