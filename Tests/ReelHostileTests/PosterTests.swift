import Foundation
import ReelHostileFiles
import ReelTestSupport
import Testing

/// Most of FFmpeg's vulnerabilities are in its decoders: whatever a file does there, the result is a poster or a code.
@Suite("hostile files, with posters", .serialized, .shortTime)
struct PosterTests {
  /// Codes that no file may cause: they are faults of Reel or of the installation.
  private static let never: Set = [
    "sandboxViolation", "implausible", "workerMissing", "workerBroken", "isolationUnavailable", "noReader",
    "tooManyOpenFiles", "cancelled", "?",
  ]

  @Test("each file gets a poster or a code, and what is not a video reaches no decoder")
  func everyAnswer() throws {
    let set = try Bench.hostileSet().files.filter { !$0.answers.contains("timeout") }
    let files = Bench.some(set, oneIn: 4)
    let bench = try Bench(files)
    let answers = try answers(bench)
    let byPath = Dictionary(grouping: answers, by: \.path)
    for file in files where !file.answers.isEmpty {
      let codes = byPath[file.path]?.map(\.code) ?? []
      #expect(codes.count == 1, "\(Verdicts.text(file.path)) has \(codes.count) ends")
      if ["playlist", "notMedia", "lfsPointer", "isLink", "notRegular"].contains(where: file.answers.contains)
      {
        #expect(file.answers.isSuperset(of: codes), "\(Verdicts.text(file.path)): \(codes)")
      }
    }
    // The test must have decoded something.
    #expect(answers.count { $0.code == "ok" } > 50)
  }

  @Test("damaged pictures end nothing but their own poster")
  func damagedPictures() throws {
    let bench = try Bench()
    let clips = try FileManager.default.contentsOfDirectory(
      at: Bench.samples.appendingPathComponent("clips"), includingPropertiesForKeys: nil
    ).filter { $0.pathExtension != "json" }.sorted { $0.path < $1.path }
    let seed = TestSeed.drawn()
    var random = SplitMix64(seed: seed)
    for (number, clip) in clips.enumerated() {
      for round in 0..<(TestForm.isLong ? 40 : 2) {
        var bytes = Array(try Data(contentsOf: clip))
        for _ in 0..<bytes.count / 200 {
          // After the headers, which have their own tests.
          let place = Int.random(in: min(bytes.count - 1, 3000)..<bytes.count, using: &random)
          bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
        let name = "\(number)-\(round).\(clip.pathExtension)"
        try Data(bytes).write(to: bench.files.appendingPathComponent(name))
      }
    }
    let answers = try answers(bench)
    #expect(answers.count >= clips.count, "seed \(seed)")
    #expect(answers.count { $0.code == "ok" } > answers.count / 3)
  }

  private func answers(_ bench: Bench) throws -> [Answer] {
    let run = try bench.reel("poster", "--jsonl", bench.files.path, "-o", "posters/")
    #expect([0, 3, 4].contains(run.status), "\(run.errorText)")
    ProbeTests.expectFit(run)
    let answers = try run.lines.map { try Answer(probed: $0, beneath: bench.files) }
    for answer in answers {
      #expect(!Self.never.contains(answer.code), "\(Verdicts.text(answer.path)): \(answer.code)")
    }
    let posters = try FileManager.default.contentsOfDirectory(
      atPath: bench.folder.appendingPathComponent("posters").path)
    #expect(posters.count == answers.count { $0.code == "ok" })
    return answers
  }
}
