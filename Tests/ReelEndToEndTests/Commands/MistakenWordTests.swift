import Foundation
import ReelTestSupport
import Testing

@testable import ReelTool

/// What people type, or paste, in the place of a file's name.
@Suite("words that are no names of files", .shortTime)
struct MistakenWordTests {
  @Test(
    "what is more likely an option, an address or a path that no shell expanded is told, and nothing is published",
    arguments: [
      ("—dry-run", "did you mean --dry-run?"), ("–-dry-run", "did you mean --dry-run?"),
      ("‐v", "did you mean -v?"), ("−-author=ada", "did you mean --author=ada?"),
      ("-", "not standard input"), ("~/clips", "no shell expanded its ~"),
      ("$HOME/clips", "no shell expanded its $"), ("${CLIPS}", "no shell expanded its $"),
      ("file:///srv/a%20b.mp4", "write its path: '/srv/a b.mp4'"),
      ("ftp://me:secret@host/a.mp4", "there is no file ftp://…"), ("s3:/bucket/a.mp4", "s3://bucket/name"),
      ("HTTPS:me:secret@host/a.mp4", "https://host/name"),
    ])
  func words(word: String, told: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let run = try await bench.reel("ingest", "clips", word)
    #expect(run.status == 64 && run.errors.contains(told) && !run.errors.contains("secret"), "\(run.errors)")
    for command in [
      ["probe"], ["mend", "--faststart", "-o", "out/"], ["poster", "-o", "out/"], ["enqueue"],
    ] {
      let other = try await ReelBinary.run(command + ["clips", word], in: bench.folder)
      #expect(other.status == 64 && other.errors.contains(told), "\(command): \(other.errors)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["clips"])
    // A file of such a name is a file.
    guard !word.contains("/") else { return }
    try bench.add("clips/faststart.mp4", as: word)
    try FileManager.default.moveItem(
      at: bench.clips.appendingPathComponent(word), to: bench.folder.appendingPathComponent(word))
    let other = try await bench.reel("ingest", "clips", word == "-" ? "./-" : word)
    #expect(other.status == 0, "\(other.errors)")
  }

  @Test("in a list of files, such a word concerns one file")
  func listed() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let list = bench.folder.appendingPathComponent("list")
    let clip = try #require(try FileManager.default.contentsOfDirectory(atPath: bench.clips.path).first)
    try Data("clips/\(clip)\0—gone.mp4\0".utf8).write(to: list)
    let run = try await bench.reel("ingest", "--files0-from", "list", "--exclude", "clips/private")
    #expect(run.status == 1 && run.output.contains("published 1 video"), "\(run.output) \(run.errors)")
  }

  @Test("a file whose name begins with - is named when it is taken for an option")
  func dashes() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "-a.mp4")
    for words in [["-a.mp4"], ["-a.mp4", "other.mp4"]] {
      let run = try await ReelBinary.run(["probe"] + words, in: bench.clips)
      #expect(run.status == 64 && run.errors.contains("write the file's name as ./-a.mp4"), "\(run.errors)")
    }
    #expect(try await ReelBinary.run(["probe", "./-a.mp4"], in: bench.clips).status == 0)
  }

  @Test(
    "a pattern that repeats the path of the folder is refused, as what it should leave out would be published",
    arguments: [
      ("clips/private", "/private"), ("./clips/private/*.mp4", "'/private/*.mp4'"), ("clips/raw/", "/raw/"),
    ])
  func patterns(pattern: String, right: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    for flag in ["--exclude", "--include"] {
      for begun in ["", bench.folder.path + "/"] where begun.isEmpty || !pattern.hasPrefix(".") {
        let run = try await bench.reel("ingest", "clips", flag, begun + pattern)
        #expect(run.status == 64 && run.errors.contains("write \(flag) \(right)"), "\(run.errors)")
      }
    }
    #expect(
      try await ReelBinary.run(["validate", "clips", "--exclude", pattern], in: bench.folder).status == 64)
    #expect(!FileManager.default.fileExists(atPath: bench.library.path))
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent("other"), withIntermediateDirectories: true)
    let several = try await bench.reel("ingest", "clips", "other", "--exclude", pattern)
    #expect(
      several.status == 64 && several.errors.contains("use --exclude \(right) in a run for clips alone"),
      "\(several.errors)")
    try FileManager.default.createDirectory(
      at: bench.clips.appendingPathComponent("clips"), withIntermediateDirectories: true)
    #expect(try await bench.reel("ingest", "clips", "--exclude", pattern).status == 0)
  }

  @Test("a library, or a site's folder, is no address")
  func library() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let page = try await bench.reel("page", "-o", "s3://bucket/site")
    #expect(page.status == 64 && page.errors.contains("--to puts the site at an address"), "\(page.errors)")
    for address in ["file:///srv/reel", "s3://bucket/reel", "https://host/reel"] {
      let run = try await ReelBinary.run(["ingest", "clips", "--library", address], in: bench.folder)
      #expect(run.status == 64 && run.errors.contains("a folder of this machine"), "\(run.errors)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["clips"])
  }

  @Test(
    "a long row of files costs the parser no time that grows with its square, and is read as it was given",
    arguments: [
      "probe", "ingest", "validate", "mend", "poster", "sheet", "lock", "enqueue", "watch", "remove", "edit",
      "move", "restore",
    ])
  func manyFiles(command: String) {
    let files = (0..<5000).map { "\($0) .mp4" }
    let prepared = RawArguments.prepared([command, "--library", "l"] + files + ["--json"])
    #expect(prepared.count < 10 && prepared.last == "--json")
    #expect(RawArguments.paths(Array(prepared[3..<(prepared.count - 1)])).map(\.text) == files)
  }
}
