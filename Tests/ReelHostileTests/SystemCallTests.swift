import Foundation
import ReelHostileFiles
import ReelTestSupport
import Testing

@Suite("what the kernel saw", .shortTime)
struct SystemCallTests {
  @Test(
    "a confined worker opens nothing, no process opens what a playlist names, and none connects",
    .enabled(if: SystemCallTrace.isPossible, "strace is missing, or may not trace here"))
  func trace() throws {
    let set = try Bench.hostileSet()
    let files = set.groups("playlists", "special") + set.groups("cut", "tables").prefix(40)
    let bench = try Bench(files)
    let trace = try SystemCallTrace.of(["probe", "--jsonl", bench.files.path], in: bench.folder)
    #expect([3, 4].contains(trace.run.status), "\(trace.run.errorText)")
    let answers = try trace.run.lines.map { try Answer(probed: $0, beneath: bench.files) }
    #expect(Verdicts(files: files, answers: answers).broken() == [])

    // The trace must have seen workers confine themselves, and files being opened.
    #expect(!trace.workers.isEmpty)
    for worker in trace.workers { #expect(trace.isConfined(worker), "worker \(worker) loaded no filter") }
    #expect(trace.opened(containing: "hls.mp4").count >= 1)

    #expect(trace.forbiddenInWorkers == [])
    #expect(trace.opened(containing: HostileSet.secret) == [])
    #expect(trace.connections == [])
  }
}
