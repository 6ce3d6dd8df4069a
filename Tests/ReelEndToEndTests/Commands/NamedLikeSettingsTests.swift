import Foundation
import Testing

/// Names of users' files that equal a setting are printed unchanged. Only settings in Reel's own messages become flags.
@Suite struct NamedLikeSettingsTests {
  @Test func filesAndCaptions() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let folder = bench.clips.appendingPathComponent("`to`")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("not a video".utf8).write(to: folder.appendingPathComponent("`jobs`.mp4"))
    let video = folder.appendingPathComponent("`library`.mp4")
    let first = try #require(
      FileManager.default.contentsOfDirectory(atPath: bench.clips.path).first { $0.hasSuffix(".mp4") })
    try FileManager.default.copyItem(at: bench.clips.appendingPathComponent(first), to: video)
    try Data(#"{"`worker`": 1, "caption": "`duplicates`"}"#.utf8).write(
      to: folder.appendingPathComponent("`library`.mp4.json"))

    let run = try await bench.reel("ingest", "clips", "--max-size", "100")
    #expect(run.status == 3 || run.status == 4, "\(run.errors)")
    let told = run.output + run.errors
    #expect(told.contains("`to`/`jobs`.mp4") && told.contains("`to`/`library`.mp4"))
    // The message about the size names the setting as a flag.
    #expect(told.contains("raise --max-size to accept it"))
    #expect(!told.contains("--to/") && !told.contains("--jobs.mp4") && !told.contains("--library.mp4"))
    let status = try await bench.reel("status")
    #expect(status.output.contains("raise --max-size to accept it") && status.output.contains("`to`/"))
  }

  @Test func libraries() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let library = bench.folder.appendingPathComponent("`to`")
    func reel(_ arguments: String...) async throws -> ReelBinary.Outcome {
      try await ReelBinary.run(arguments + ["--library", library.path], in: bench.folder)
    }
    #expect(try await reel("ingest", "clips").status == 0)
    let media = library.appendingPathComponent("media")
    let object = try #require(
      FileManager.default.contentsOfDirectory(atPath: media.path).first { $0.hasSuffix(".mp4") })
    try FileManager.default.removeItem(at: media.appendingPathComponent(object))
    for (command, flag) in [
      ("verify", "--read"), ("verify", "--json"), ("doctor", "--read"), ("doctor", "--json"),
    ] {
      let told = try await reel(command, flag)
      #expect(told.status == 3)
      #expect(told.output.contains("/`to`") && !told.output.contains("/--to"), "\(told.output)")
    }
  }
}
