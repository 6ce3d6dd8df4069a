import Foundation
import ReelTestSupport
import Testing

/// `kill -9` at random moments, of several concurrent processes that remove, restore, edit and move posts.
@Suite("After a crash during changes to posts", .shortTime)
struct ChangeKillTests {
  /// The number of processes to kill: two thousand in the long form, or `REEL_KILLS`. `REEL_SEED` repeats a sequence.
  @Test("kills at random moments, among several processes that change the same posts, break nothing")
  func atRandomMoments() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = TestSeed.drawn(environment)
    let wanted = environment["REEL_KILLS"].flatMap { Int($0) } ?? (TestForm.isLong ? 2000 : 8)
    var scene = ChangeKills(seed: seed)
    while scene.killed < wanted {
      try await scene.round()
      if scene.rounds.isMultiple(of: 10) { print("\(scene)") }
    }
    print("kills among changes: \(scene)")
    // In a few rounds, it may be that no kill hit a change midway.
    if wanted >= 200 { #expect(scene.leftOpen > scene.rounds / 10, "no change was cut off: \(scene)") }
  }
}

/// A sequence of libraries. Each is filled, its posts are changed by processes that are killed, and the changes are
/// then completed.
private struct ChangeKills: CustomStringConvertible {
  /// The first `neverBack` of the clips are only ever removed: once removed, they stay away.
  static let (clips, neverBack) = (8, 3)

  let seed: UInt64
  private var generator: SplitMix64
  /// The time in microseconds within which a process is killed.
  private var window: UInt64 = 900_000
  private(set) var killed = 0
  private(set) var rounds = 0
  private var ended = 0
  private(set) var leftOpen = 0
  private var told: [String: Int] = [:]

  init(seed: UInt64) {
    (self.seed, generator) = (seed, SplitMix64(seed: seed))
  }

  var description: String {
    let told = told.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    return "seed \(seed): \(killed) killed and \(ended) ended in \(rounds) libraries, "
      + "\(leftOpen) waves left changes open; told: \(told)"
  }

  private func comment(_ wave: Int) -> Comment { "seed \(seed), library \(rounds), wave \(wave)" }

  mutating func round() async throws {
    let bench = try Workbench(reader: .fake, hasPosters: true)
    try bench.addDistinct(Self.clips)
    let filled = try await bench.reel("ingest", "clips")
    #expect(filled.status == 0, "\(filled.errors)")
    let other = bench.folder.appendingPathComponent("other")
    let start = try ChangeInspection(library: bench.library, others: [other])
    let ids = start.posts.values.sorted { $0.page < $1.page }.map(\.id)
    try #require(ids.count == Self.clips)
    var last = start
    let waves = 1 + Int(generator.next() % 3)
    for wave in 0..<waves {
      try await self.wave(wave, bench, ids)
      let found = try ChangeInspection(library: bench.library, others: [other])
      expectNothing(found.broken(), comment(wave))
      if found.open > 0 { leftOpen += 1 }
      try hold(found, start, last, bench, comment(wave))
      last = found
    }
    try await end(bench, start, last)
    rounds += 1
  }

  /// Checks that a post that was absent at the last look stays absent, and that every post has its number.
  private func hold(
    _ found: ChangeInspection, _ start: ChangeInspection, _ last: ChangeInspection, _ bench: Workbench,
    _ comment: Comment
  ) throws {
    for post in start.posts.values {
      let page = found.posts[post.id]?.page ?? found.removed[post.id]?.page
      #expect(page == post.page, "\(post.id) has lost its place, \(comment)")
    }
    let neverBack = start.posts.values.filter { $0.page <= Self.neverBack }
    let told = try ToldChanges(in: bench.folder)
    for post in neverBack where last.posts[post.id] == nil {
      #expect(found.posts[post.id] == nil, "came back, \(comment)")
      // A moved post that is published again at its old place becomes another post.
      let anew = found.posts.values.filter { $0.digest == post.digest && last.posts[$0.id] == nil }
      #expect(anew.isEmpty, "came back anew, \(comment)")
    }
    for post in neverBack where told.tells("post.removed", post.id) {
      #expect(found.posts[post.id] == nil, "told before it was so, \(comment)")
    }
  }

  private mutating func wave(_ wave: Int, _ bench: Workbench, _ ids: [String]) async throws {
    var running: [(ReelBinary.Running, delay: UInt64)] = []
    for number in 0..<3 + Int(generator.next() % 3) {
      let events = "wave-\(wave)-\(number).jsonl"
      let process = try ReelBinary.start(
        command(ids) + ["--events", events, "--library", bench.library.path], in: bench.folder,
        environment: bench.environment.merging(lingering()) { $1 })
      running.append((process, 150_000 + generator.next() % window))
    }
    let began = ContinuousClock.now
    for (process, delay) in running.sorted(by: { $0.delay < $1.delay }) {
      try await Task.sleep(until: began + .microseconds(Int(delay)), clock: .continuous)
      process.send(SIGKILL)
    }
    var (killedNow, endedNow) = (0, 0)
    for (process, _) in running {
      let outcome = try await process.outcome()
      if outcome.wasKilled { killedNow += 1 } else { endedNow += 1 }
      #expect(outcome.wasKilled || [0, 3].contains(outcome.status), "\(outcome.errors) \(comment(wave))")
    }
    // Most processes are to be killed, but not all of them before they have begun.
    window =
      killedNow > 2 * endedNow
      ? min(window + window / 12, 3_000_000) : max(100_000, window - window / 12)
    killed += killedNow
    ended += endedNow
  }

  /// Returns a delay at one place between two effects, where the process is then most often killed.
  private mutating func lingering() -> [String: String] {
    let places = [
      "changeWritten", "changeCommitted", "changeNoted", "changeCarriedOut", "changeFinished",
      "changeFinishedCommitted",
      "changeCleared", "changeTold", "changeStruckOut", "objectRemoved", "objectNamed", "folderSynced",
      "groupCommitted", "claimCommitted",
    ]
    let place = places[Int(generator.next() % UInt64(places.count))]
    return ["REEL_FAILPOINT": "\(place):\(1 + generator.next() % 3)=delay:\(50 + generator.next() % 500)"]
  }

  private mutating func command(_ ids: [String]) -> [String] {
    var generator = generator
    defer { self.generator = generator }
    func some(_ ids: ArraySlice<String>) -> [String] {
      let chosen = ids.filter { _ in generator.next() % 3 != 0 }
      return chosen.isEmpty ? Array(ids.prefix(1)) : chosen
    }
    let (all, mayReturn) = (ids[...], ids.dropFirst(Self.neverBack))
    switch generator.next() % 12 {
    case 0, 1: return ["remove"] + some(all)
    case 2, 3: return ["remove", "--keep", generator.next() % 2 == 0 ? "1s" : "1h"] + some(all)
    case 4, 5: return ["restore", "--from", "clips"] + some(mayReturn)
    case 6: return ["edit", "--caption", "words \(generator.next() % 1_000_000)"] + some(all)
    case 7, 8: return ["move", "--to", "other"] + some(all)
    case 9: return ["move", "--to", "library/media"] + some(all)
    case 10: return ["ingest", "clips"]
    default: return ["prune"]
    }
  }

  /// Completes everything, and checks that nothing is left half done and that everything was reported.
  private mutating func end(
    _ bench: Workbench, _ start: ChangeInspection, _ last: ChangeInspection
  ) async throws {
    let comment: Comment = "seed \(seed), library \(rounds), in the end"
    let prune = try await bench.reel("prune", "--events", "end-prune.jsonl")
    // A restoration is given up if no store has its objects any more.
    #expect([0, 3].contains(prune.status), "\(prune.output) \(prune.errors) \(comment)")
    let ingest = try await bench.reel("ingest", "clips", "--events", "end-ingest.jsonl")
    #expect(ingest.status == 0, "\(ingest.errors) \(comment)")
    // Removes what a restoration that was given up has left.
    let again = try await bench.reel("prune", "--events", "end-again.jsonl")
    #expect(again.status == 0, "\(again.output) \(again.errors) \(comment)")
    _ = try await bench.reel("doctor", "--fix", "--grace", "0")
    let doctor = try await bench.reel("doctor", "--read", "--json")
    #expect(doctor.status == 0, "\(doctor.output) \(doctor.errors) \(comment)")
    let found = try ChangeInspection(
      library: bench.library, others: [bench.folder.appendingPathComponent("other")])
    expectNothing(found.brokenAtRest(), comment)
    try hold(found, start, last, bench, comment)
    let told = try ToldChanges(in: bench.folder)
    for id in found.removed.keys { #expect(told.tells("post.removed", id), "\(id), \(comment)") }
    for post in found.posts.values where start.posts[post.id] != nil {
      if told.tells("post.removed", post.id) { #expect(told.tells("post.restored", post.id), comment) }
      if let caption = post.caption {
        #expect(told.captions[post.id]?.contains(caption) == true, "\(post.id): \(caption), \(comment)")
      }
      if told.moves[post.id] != nil || post.store != "library:media" {
        let name = post.store == "library:media" ? "file://" + bench.media.path : post.store
        #expect(told.moves[post.id]?.contains(name) == true, "\(post.id) is in \(name), \(comment)")
      }
    }
    for (type, ids) in told.ids { self.told[type, default: 0] += ids.count }
  }
}
