import Foundation
import ReelHostileFiles
import Testing

@Suite("Hostile files, probed", .serialized, .timeLimit(.minutes(10)))
struct ProbeTests {
  /// A worker may have so much memory, and `reel` itself needs far less.
  static let memory = 512 << 20

  @Test("each has its one right answer, soon, and within the worker's memory")
  func everyAnswer() throws {
    let files = try Bench.hostileSet().files.filter { !["sparse", "edits"].contains($0.group) }
    #expect(files.count >= 300)
    let bench = try Bench(files)
    let run = try bench.reel("probe", "--jsonl", bench.files.path)
    try hold(run, files, in: bench, within: 10)
  }

  /// Some of these keep a processor busy for as long as they are let: the deadline lets them for less here.
  @Test("what takes long is ended by its deadline, not later")
  func deadline() throws {
    let files = try Bench.hostileSet().groups("sparse", "edits")
    let bench = try Bench(files)
    let run = try bench.reel("probe", "--jsonl", "--deadline", Bench.isLong ? "10" : "2", bench.files.path)
    // With slack for a machine that does other things, but less than the ten seconds that a file has otherwise.
    try hold(run, files, in: bench, within: Bench.isLong ? 20 : 8)
  }

  @Test("with a fresh process for each file the answers are the same")
  func strict() throws {
    let set = try Bench.hostileSet().files.filter { $0.group != "sparse" && $0.group != "edits" }
    let files = Bench.some(set, oneIn: 10)
    let bench = try Bench(files)
    let run = try bench.reel("probe", "--jsonl", "--isolation", "strict", bench.files.path)
    try hold(run, files, in: bench, within: 10)
  }

  static func expectFit(_ run: ReelRun) {
    #expect(Bench.isSanitized || run.peakMemory < memory, "\(run.peakMemory >> 20) MB")
  }

  private func hold(_ run: ReelRun, _ files: [HostileFile], in bench: Bench, within seconds: Double) throws {
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.longestSilence < seconds)
    Self.expectFit(run)
    let answers = try run.lines.map { try Answer(probed: $0, beneath: bench.files) }
    let verdicts = Verdicts(files: files, answers: answers)
    #expect(verdicts.broken() == [])
    #expect(verdicts.contradicting(try Self.whole()) == [])
  }

  /// What Reel says of the samples themselves.
  private static func whole() throws -> [String: Answer] {
    let bench = try Bench()
    let run = try bench.reel("probe", "--jsonl", Bench.samples.appendingPathComponent("clips").path)
    let answers = try run.lines.map { try Answer(probed: $0, beneath: Bench.samples) }
    return Dictionary(uniqueKeysWithValues: answers.map { (String(decoding: $0.path, as: UTF8.self), $0) })
  }
}
