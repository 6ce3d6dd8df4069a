import Foundation
import ReelTerminal
import ReelTestSupport
import Testing

@testable import ReelTool

@Suite("Files that a command writes", .shortTime)
struct OutputPlaceTests {
  @Test(
    "replace an earlier one of their kind, and nothing else",
    arguments: [
      ["ingest", "clips", "--metrics"], ["ingest", "clips", "--events"],
      ["ingest", "clips", "--report", "html="],
      ["validate", "clips", "--report", "html="], ["validate", "clips", "--report", "json="],
      ["validate", "clips", "--report", "jsonl="], ["validate", "clips", "--report", "sarif="],
      ["validate", "clips", "--report", "junit="], ["validate", "clips", "--report", "github="],
      ["validate", "clips", "--report", "people="], ["validate", "clips", "--report", "markdown="],
      ["export", "--format", "csv", "-o"], ["export", "--format", "jsonl", "-o"],
    ])
  func replacing(_ command: [String]) async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    func run(_ name: String) async throws -> ReelBinary.Outcome {
      let last = try #require(command.last)
      let arguments = last.hasSuffix("=") ? command.dropLast() + [last + name] : command + [name]
      let place = command[0] == "validate" ? [] : ["--library", bench.library.path]
      return try await ReelBinary.run(Array(arguments) + place, in: bench.folder)
    }
    let video = bench.clips.appendingPathComponent("clip-00000.mp4")
    let lock = bench.clips.appendingPathComponent("reel.lock")
    #expect(try await ReelBinary.run(["lock", "clips"], in: bench.folder).status == 0)
    try FileManager.default.createSymbolicLink(
      at: bench.folder.appendingPathComponent("link.html"), withDestinationURL: video)
    // With the byte order mark that an editor on Windows writes.
    let marked = bench.folder.appendingPathComponent("marked.lock")
    try (Data([0xEF, 0xBB, 0xBF]) + Data(contentsOf: lock)).write(to: marked)
    let before = [try Data(contentsOf: video), try Data(contentsOf: lock)]
    for name in [video.path, lock.path, marked.path, "link.html"] {
      let refused = try await run(name)
      #expect(refused.status == 64 && refused.errors.contains("something other than"), "\(refused)")
    }
    #expect(try [Data(contentsOf: video), Data(contentsOf: lock)] == before)
    // Twice, the first time over an empty file.
    try Data().write(to: bench.folder.appendingPathComponent("out"))
    for _ in 0..<2 {
      let run = try await run("out")
      #expect(run.status == 0, "\(run)")
    }
    // A dangling link is followed, like one to a file.
    try FileManager.default.createSymbolicLink(
      atPath: bench.folder.path + "/new", withDestinationPath: "target")
    for _ in 0..<2 {
      #expect(try await run("new").status == 0)
      let target = try FileManager.default.attributesOfItem(atPath: bench.folder.path + "/target")
      #expect(target[.type] as? FileAttributeType == .typeRegular)
      #expect(
        try FileManager.default.destinationOfSymbolicLink(atPath: bench.folder.path + "/new") == "target")
    }
    let tilde = try await run("~/out")
    #expect(tilde.status == 64 && tilde.errors.contains("~"), "\(tilde)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.path + "/~"))
  }

  @Test(
    "a report does not replace somebody else's text, page or document",
    arguments: ["people", "github", "markdown", "junit", "html"])
  func others(kind: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let more = String(repeating: "more of it\n", count: 1000)
    let texts = [
      "README.md": "# Reel\n\nIt judges by the policy.\n" + more, "notes.md": "### Notes\n",
      "pom.xml": "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project/>\n",
      "index.html": "<!doctype html>\n<html lang=\"en\">\n<head>\n<title>x</title>\n", "t.txt": "hello",
    ]
    for (name, text) in texts {
      let file = bench.folder.appendingPathComponent(name)
      try Data(text.utf8).write(to: file)
      let run = try await ReelBinary.run(
        ["validate", "clips", "--report", "\(kind)=\(name)"], in: bench.folder)
      #expect(run.status == 64 && run.errors.contains("something other than"), "\(name): \(run)")
      #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }
    // A report on failing files replaces one on passing files, and the other way round.
    let broken = Workbench.sample("broken").path
    for (path, status) in [("clips", 0), (broken, 4), ("clips", 0)] as [(String, Int32)] {
      let run = try await ReelBinary.run(["validate", path, "--report", "\(kind)=out"], in: bench.folder)
      #expect(run.status == status, "\(run)")
    }
  }

  @Test("two reports can't go to one file")
  func twice() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let run = try await ReelBinary.run(
      ["validate", "clips", "--report", "json=a", "--report", "html=./a"], in: bench.folder)
    #expect(run.status == 64 && run.errors.contains("can't go to one file"), "\(run)")
    let nowhere = ["validate", "clips", "--report", "json=/dev/null", "--report", "html=/dev/null"]
    #expect(try await ReelBinary.run(nowhere, in: bench.folder).status == 0)
  }

  @Test("a report is written even if no file can be created beside it")
  func alone() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    // The longest name possible: any addition would make it invalid.
    let name = String(repeating: "r", count: 250)
    for _ in 0..<2 {
      #expect(
        try await ReelBinary.run(["validate", "clips", "--report", "json=\(name)"], in: bench.folder).status
          == 0)
      let text = try String(contentsOf: bench.folder.appendingPathComponent(name), encoding: .utf8)
      #expect(text.hasPrefix("{") && text.hasSuffix("}\n"))
    }
  }

  @Test("a library path that begins with a tilde is refused, wherever it is given")
  func tilde() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try Data("library: ~/reel\n".utf8).write(to: bench.folder.appendingPathComponent("c.yaml"))
    let runs = [
      try await ReelBinary.run(["ingest", "clips", "--config", "c.yaml"], in: bench.folder),
      try await ReelBinary.run(
        ["ingest", "clips"], in: bench.folder, environment: ["REEL_LIBRARY": "~/reel"]),
      try await ReelBinary.run(["ingest", "clips", "--library=~/reel"], in: bench.folder),
      try await bench.reel("watch", "clips", "--after", "move:~"),
    ]
    #expect(runs.map(\.status) == [1, 1, 64, 64] && runs.allSatisfy { $0.errors.contains("~") }, "\(runs)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.path + "/~"))
  }

  @Test("mended files can't go into the folder that they come from")
  func mendingInPlace() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let run = try await ReelBinary.run(["mend", "clips", "--faststart", "-o", "clips/"], in: bench.folder)
    #expect(run.status == 64 && run.errors.contains("the folder that they come from"), "\(run)")
    let plain = try await ReelBinary.run(["mend", "clips", "--faststart", "-o", "clips"], in: bench.folder)
    #expect(plain.status == 64 && plain.errors.contains("the folder that they come from"), "\(plain)")
  }

  @Test("the folder for mended files may be given without a slash")
  func mendingWithoutSlash() async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    // Without their last letter, these names are those of the source folder and of a file.
    for name in ["clips2", "note1"] {
      try FileManager.default.createDirectory(
        at: bench.folder.appendingPathComponent(name), withIntermediateDirectories: false)
    }
    try bench.write("a note", to: "../note")
    for folder in ["clips2", "note1", "clips3//"] {
      let run = try await ReelBinary.run(["mend", "clips", "--faststart", "-o", folder], in: bench.folder)
      #expect(run.status == 0, "\(run)")
      let path = bench.folder.appendingPathComponent(folder).appendingPathComponent("a.mp4").path
      #expect(FileManager.default.fileExists(atPath: path), "\(run)")
    }
  }

  @Test("a file without a name is not in the list of failures")
  func emptyName() async throws {
    let bench = try Workbench()
    #expect(try await bench.reel("publish", "").status != 0)
    #expect(try await bench.reel("status").output.contains("no file"))
  }

  @Test("a document that ends early gives the code of the error")
  func endings() {
    func told(_ error: any Error) -> String { "\(AnswerProblem.couldNotGoOn(error))" }
    #expect(told(CommandExit(code: .interrupted)).contains("cancelled"))
    #expect(told(CancellationError()).contains("cancelled"))
    #expect(told(CommandExit(code: .someFailed)).contains("someFailed"))
    #expect(!told(CommandExit(code: .someFailed)).contains("CommandExit"))
    #expect(told(CommandFailure(.usage, "no")).contains("usage"))
  }
}
