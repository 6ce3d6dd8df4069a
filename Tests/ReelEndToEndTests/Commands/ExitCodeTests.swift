import Foundation
import ReelTestSupport
import Testing

@Suite("Exit codes", .shortTime)
struct ExitCodeTests {
  @Test(
    "4 for an unusable file, wherever that is noticed",
    arguments: ["no-moov.mp4", "cut-off.mp4", "letter.mp4", "audio-only.mp4"],
    [["ingest"], ["publish"], ["validate"]])
  func unusable(sample: String, command: [String]) async throws {
    let bench = try Workbench()
    try bench.add("broken/" + sample)
    let library = command == ["validate"] ? [] : ["--library", "library"]
    let run = try await ReelBinary.run(command + ["clips/" + sample] + library, in: bench.folder)
    #expect(run.status == 4, "\(run)")
  }

  @Test(
    "4 from commands that only read, too",
    arguments: [
      ["probe"], ["mend", "--faststart", "-o", "x.mp4"], ["poster", "-o", "x.jpg"], ["sheet", "-o", "x.jpg"],
    ])
  func unreadable(command: [String]) async throws {
    let bench = try Workbench()
    try bench.add("broken/letter.mp4")
    let run = try await ReelBinary.run(command + ["clips/letter.mp4"], in: bench.folder)
    #expect(run.status == 4, "\(run)")
  }

  @Test(
    "1 for a missing file; the others are processed",
    arguments: [
      ["ingest"], ["probe"], ["validate"], ["mend", "--faststart", "-o", "out/"],
      ["poster", "-o", "out/"], ["sheet", "-o", "x.jpg"],
    ])
  func missingFile(command: [String]) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    try bench.add("broken/letter.mp4")
    let library = command == ["ingest"] ? ["--library", "library"] : []
    let run = try await ReelBinary.run(
      command + ["clips/faststart.mp4", "nothing.mp4", "clips/letter.mp4"] + library, in: bench.folder)
    #expect(run.status == 1, "\(run)")
    #expect((run.output + run.errors).contains("nothing.mp4"), "\(run)")
  }

  @Test(
    "1 for a single missing file",
    arguments: ["publish", "show", "remove", "restore", "watch", "lock -o x.lock"])
  func onlyMissingFile(command: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    var words = command.split(separator: " ").map(String.init) + ["nothing.mp4"]
    if words[0] != "lock" { words += ["--library", "library"] }
    let run = try await ReelBinary.run(words, in: bench.folder)
    #expect(run.status == 1, "\(run)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.path + "/x.lock"))
  }

  @Test(
    "1 for a missing post",
    arguments: [["remove"], ["restore"], ["edit", "--caption", "x"], ["move", "--to", "o"]])
  func missingPost(command: [String]) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let run = try await ReelBinary.run(
      command + ["01a1fdd6-be1e-750d-b5e1-0c01f1176e0f", "--library", "library"], in: bench.folder)
    #expect(run.status == 1 && (run.output + run.errors).contains("there is no post"), "\(run)")
  }

  @Test(
    "3 for a dangling link in a folder, since only the folder was named",
    arguments: ["ingest --library library", "probe", "poster -o p/", "mend --faststart -o m/"])
  func goneInAFolder(command: String) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    try FileManager.default.createSymbolicLink(
      atPath: bench.clips.appendingPathComponent("x.mp4").path, withDestinationPath: "nowhere.mp4")
    let run = try await ReelBinary.run(
      command.split(separator: " ").map(String.init) + ["clips", "--follow-links"], in: bench.folder)
    #expect(run.status == 3, "\(run)")
  }

  @Test(
    "1 for an output that exists already, or whose name does not suit",
    arguments: ["x.mov", "there.mp4", "clips/faststart.mp4"])
  func taken(place: String) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    try Data("mine".utf8).write(to: bench.folder.appendingPathComponent("there.mp4"))
    let run = try await ReelBinary.run(
      ["mend", "clips/faststart.mp4", "--strip-private", "-o", place], in: bench.folder)
    #expect(run.status == 1, "\(run)")
  }

  @Test(
    "1 for a missing library, and nothing is created",
    arguments: [
      "feed", "feed --json", "status", "status --json", "page -o site", "show clips/a.mp4", "export -o -",
      "cache", "cache clear", "remove 01a1fdd6-be1e-750d-b5e1-0c01f1176e0f", "prune", "doctor", "verify",
      "backup -o copy", "poster --missing",
    ])
  func missingLibrary(command: String) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    let run = try await ReelBinary.run(
      command.split(separator: " ").map(String.init) + ["--library", "nowhere"], in: bench.folder)
    #expect(run.status == 1 && run.output.isEmpty != command.hasSuffix("--json"), "\(run)")
    #expect(run.errors.hasPrefix("reel: there is no library at nowhere"), "\(run)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["clips"])
  }
}
