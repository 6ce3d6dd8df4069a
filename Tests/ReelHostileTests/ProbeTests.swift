import Foundation
import ReelHostileFiles
import ReelTestSupport
import Testing

@Suite("hostile files, probed", .serialized, .shortTime)
struct ProbeTests {
  /// The memory that a worker may use; `reel` itself needs far less.
  static let memory = 512 << 20

  /// Whether the file may keep a processor busy until it is stopped.
  private static func mayTakeLong(_ file: HostileFile) -> Bool { file.answers.contains("timeout") }

  @Test("each file has its one right answer, within a worker's processor time and memory")
  func everyAnswer() throws {
    let files = try Bench.hostileSet().files.filter { !Self.mayTakeLong($0) }
    #expect(files.count >= 300)
    let bench = try Bench(files)
    let run = try bench.reel("probe", "--jsonl", bench.files.path)
    try hold(run, files, in: bench)
  }

  @Test("a file that takes long is ended by its deadline")
  func deadline() throws {
    let files = try Bench.hostileSet().files.filter(Self.mayTakeLong)
    let bench = try Bench(files)
    // Less than the processor time limit, which would otherwise end the file first.
    let seconds = TestForm.isLong ? 8.0 : 2.0
    let run = try bench.reel("probe", "--jsonl", "--deadline", "\(seconds)", bench.files.path)
    try hold(run, files, in: bench)
    let late = try run.lines.map { try Answer(probed: $0, beneath: bench.files) }
      .filter { $0.code == "timeout" }
    // At least one of them runs until it is stopped.
    #expect(!late.isEmpty)
    for answer in late {
      // The deadline, or the worker's own, which is slightly earlier.
      let named = answer.message.firstMatch(of: #/longer than ([0-9.]+) s/#).flatMap { Double($0.1) }
      #expect(named.map { (0.9 * seconds...seconds).contains($0) } == true, "\(answer.message)")
    }
  }

  @Test("the answers are the same with a fresh process for each file")
  func strict() throws {
    let set = try Bench.hostileSet().files.filter { !Self.mayTakeLong($0) }
    let files = Bench.some(set, oneIn: 10)
    let bench = try Bench(files)
    let run = try bench.reel("probe", "--jsonl", "--isolation", "strict", bench.files.path)
    try hold(run, files, in: bench)
  }

  static func expectFit(_ run: ReelRun) {
    #expect(TestForm.isSanitized || run.peakMemory < memory, "\(run.peakMemory >> 20) MB")
  }

  private func hold(_ run: ReelRun, _ files: [HostileFile], in bench: Bench) throws {
    #expect([3, 4].contains(run.status), "\(run.errorText)")
    Self.expectFit(run)
    let answers = try run.lines.map { try Answer(probed: $0, beneath: bench.files) }
    let verdicts = Verdicts(files: files, answers: answers)
    #expect(verdicts.broken() == [])
    #expect(verdicts.contradicting(try Self.whole()) == [])
  }

  /// What Reel reports about the intact samples.
  private static func whole() throws -> [String: Answer] {
    let bench = try Bench()
    let run = try bench.reel("probe", "--jsonl", Bench.samples.appendingPathComponent("clips").path)
    let answers = try run.lines.map { try Answer(probed: $0, beneath: Bench.samples) }
    return Dictionary(uniqueKeysWithValues: answers.map { (String(decoding: $0.path, as: UTF8.self), $0) })
  }
}
