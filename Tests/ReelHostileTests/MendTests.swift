import Foundation
import ReelHostileFiles
import ReelTestSupport
import Testing

/// Any file is intact, mended or refused; what is written is complete.
@Suite("hostile files, mended", .serialized, .shortTime)
struct MendTests {
  @Test(
    "each file ends with a code or with a readable file",
    arguments: [
      ["--unfragment", "--faststart", "--strip-private"], ["--salvage", "--drop-data"],
      ["--rotate", "90", "--sar", "4:3"], ["--duration", "--salvage"],
    ])
  func everyAnswer(_ flags: [String]) throws {
    // Files that use up a worker's whole time do so here, too.
    let set = try Bench.hostileSet().files.filter { TestForm.isLong || !$0.answers.contains("timeout") }
    let bench = try Bench(Bench.some(set, oneIn: 12))
    _ = try MendRun(flags, of: bench.files.path, in: bench)
  }

  /// Samples with damage anywhere: what is written is complete and needs no further mending.
  @Test(
    "what is written from a damaged file is well formed", .needsFFmpeg,
    arguments: [
      ("webm", ["--duration"]), ("webm", ["--salvage"]),
      ("webm", ["--duration", "--salvage", "--faststart"]),
      ("mp4", ["--faststart", "--unfragment"]), ("mp4", ["--salvage", "--faststart"]),
      ("mp4", ["--strip-private", "--drop-data"]),
    ])
  func damaged(_ kind: String, _ flags: [String]) throws {
    let seed = TestSeed.drawn()
    var random = SplitMix64(seed: seed)
    let clips = try Self.clips(kind)
    var (bench, run): (Bench, MendRun)
    var draws = 0
    repeat {
      bench = try Bench()
      for number in 0..<(TestForm.isLong ? 1000 : 40) {
        let clip = clips[number % clips.count]
        let bytes = RandomDamage.damaged([UInt8](try Data(contentsOf: clip)), using: &random)
        try Data(bytes).write(to: bench.files.appendingPathComponent("\(number)-\(clip.lastPathComponent)"))
      }
      run = try MendRun(flags, of: "files", in: bench)
      print("damaged \(kind) \(flags): \(run.mended.count) mended, \(run.codes); REEL_SEED=\(seed)")
      draws += 1
      // Of a few files it may happen that none is mended.
    } while run.mended.isEmpty && draws < 10
    try #require(!run.mended.isEmpty, "REEL_SEED=\(seed)")
    let again = try MendRun(flags, of: "mended", in: bench, to: "again")
    #expect(
      again.mended.isEmpty && again.codes.keys.allSatisfy { $0 == "well" },
      "\(again.codes); REEL_SEED=\(seed)")
    for pair in run.mended {
      let new = try Self.complaints(pair.file, in: bench).subtracting(Self.complaints(pair.source, in: bench))
      #expect(new.isEmpty, "\(pair.source); REEL_SEED=\(seed)")
    }
  }

  private static func clips(_ kind: String) throws -> [URL] {
    let folder = Bench.samples.appendingPathComponent("clips")
    let kinds = kind == "webm" ? ["webm", "mkv"] : ["mp4", "mov", "m4v"]
    let clips = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { kinds.contains($0.pathExtension) }
    return clips.sorted { $0.path < $1.path }
  }

  /// The messages of FFmpeg's demuxer about a file, without positions and addresses.
  private static func complaints(_ path: String, in bench: Bench) throws -> Set<String> {
    let ffmpeg = try #require(FFmpegProgram.path)
    let errors = bench.folder.appendingPathComponent("complaints")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "exec \"$0\" -v repeat+error -nostdin -i \"$1\" -map 0 -c copy -f null - 2>\"$2\"", ffmpeg, path,
      errors.path,
    ]
    process.currentDirectoryURL = bench.folder
    try process.run()
    process.waitUntilExit()
    let said = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
    return Set(
      said.split(separator: "\n").map { line in
        // Decimal and hexadecimal numbers are specific to this file.
        String(line.contains("]") ? line.drop { $0 != "]" } : line[...]).replacing(path, with: "")
          .replacing(/0x[0-9a-f]+|[0-9]+/, with: "")
      })
  }
}
