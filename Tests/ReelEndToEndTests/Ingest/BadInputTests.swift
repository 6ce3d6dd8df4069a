import Foundation
import Glibc
import ReelTestSupport
import Testing

@Suite("Bad input", .shortTime)
struct BadInputTests {
  private func codes(_ bench: Workbench, _ arguments: String...) async throws -> (
    ReelBinary.Outcome, [String: String]
  ) {
    let run = try await ReelBinary.run(
      ["ingest"] + arguments + ["--library", bench.library.path, "--events", "events.jsonl"], in: bench.folder
    )
    let ends = try EventLog(bench.folder.appendingPathComponent("events.jsonl")).ends()
    return (run, ends.mapValues { $0.code ?? $0.type })
  }

  @Test("each kind has its own code, and the rest of the batch is published")
  func eachItsOwn() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    try bench.write("just text", to: "text.mp4")
    try bench.write("", to: "empty.mp4")
    try FileManager.default.createDirectory(
      at: bench.clips.appendingPathComponent("folder.mp4"), withIntermediateDirectories: true)
    #expect(mkfifo(bench.clips.appendingPathComponent("pipe.mp4").path, 0o600) == 0)
    symlink("/dev/zero", bench.clips.appendingPathComponent("device.mp4").path)
    symlink("loop.mp4", bench.clips.appendingPathComponent("loop.mp4").path)
    try bench.add("clips/matroska.mkv", as: "-i.mkv")
    try bench.add("clips/old.avi", as: String(repeating: "n", count: 251) + ".avi")
    let (run, ends) = try await codes(bench, "clips", "clips/nothing-here.mp4", "/dev/null")
    #expect(run.status == 1, "\(run.errors)")
    #expect(ends["text.mp4"] == "notMedia")
    #expect(ends["empty.mp4"] == "empty")
    #expect(ends["pipe.mp4"] == "notRegular")
    #expect(ends["device.mp4"] == "isLink")
    #expect(ends["loop.mp4"] == "isLink")
    #expect(ends["nothing-here.mp4"] == "notFound")
    #expect(ends["null"] == "notRegular")
    #expect(ends["-i.mkv"] == "post.published")
    #expect(ends[String(repeating: "n", count: 251) + ".avi"] == "post.published")
    #expect(try LibraryInspection(library: bench.library).published.count == 4)
  }

  @Test("a movie whose samples are in other files is not published")
  func elsewhere() async throws {
    let bench = try Workbench()
    for name in ["phone-portrait.mov", "faststart.mp4"] {
      var bytes = try Data(contentsOf: Workbench.sample("clips/\(name)"))
      // Each data reference has a flag that says "this file" (ISO/IEC 14496-12, 8.7.2).
      let (own, other) = (Data("url ".utf8) + Data([0, 0, 0, 1]), Data("urn ".utf8) + Data([0, 0, 0, 0]))
      while let place = bytes.range(of: own) { bytes.replaceSubrange(place, with: other) }
      try bytes.write(to: bench.clips.appendingPathComponent(name))
    }
    try bench.add("broken/reference-movie.mov")
    let (run, ends) = try await codes(bench, "clips")
    #expect(run.status == 4, "\(run.errors)")
    #expect(ends.count == 3 && ends.values.allSatisfy { $0 == "externalMedia" }, "\(ends)")
    #expect(try bench.objects().isEmpty)
  }

  @Test("names that are not UTF-8 keep their bytes, also on the command line")
  func bytes() async throws {
    let bench = try Workbench()
    let name: [CChar] =
      Array(bench.clips.path.utf8CString.dropLast()) + [
        0x2F, CChar(bitPattern: 0xFF), 0x2E, 0x6D, 0x70, 0x34, 0,
      ]
    let descriptor = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
    #expect(descriptor >= 0)
    let bytes = try Data(contentsOf: Workbench.sample("clips/faststart.mp4"))
    _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
    let (run, ends) = try await codes(bench, "clips")
    #expect(run.status == 0, "\(run.errors)")
    #expect(ends.values.first == "post.published")
    let shell = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "exec \"$REEL\" probe --jsonl \"$CLIPS/$(printf '\\377').mp4\" >\"$CLIPS/out\""],
      in: bench.folder, environment: ["REEL": ReelBinary.url.path, "CLIPS": bench.clips.path])
    #expect(shell.status == 0)
    let line = try String(contentsOf: bench.clips.appendingPathComponent("out"), encoding: .utf8)
    #expect(line.contains("pathBytes") && line.contains("\"ok\":true"))
  }

  @Test("an empty folder is not an error, and is reported")
  func emptyFolder() async throws {
    let bench = try Workbench()
    let run = try await bench.reel("ingest", "clips")
    #expect(run.status == 0)
    #expect(run.output.lowercased().contains("nothing"), "\(run.output)")
  }

  @Test("a library path that can't be a library is a clear error before anything is read, with exit code 1")
  func badLibrary() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try Data().write(to: bench.library)
    let run = try await bench.reel("ingest", "clips")
    #expect(run.status == 1)
    #expect(run.errors.contains(bench.library.path), "\(run.errors)")
  }

  @Test("a library that others may write to is refused")
  func openLibrary() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try FileManager.default.createDirectory(at: bench.library, withIntermediateDirectories: true)
    #expect(chmod(bench.library.path, 0o777) == 0)
    let run = try await bench.reel("ingest", "clips")
    #expect(run.status == 1)
    #expect(try bench.clips.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true)
  }

  @Test("a corrupt or newer catalog is named, and nothing is touched")
  func badCatalog() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let catalog = bench.library.appendingPathComponent("catalog.sqlite")
    let good = try Data(contentsOf: catalog)
    try Data("this is not a database, and it was never one at all".utf8).write(to: catalog)
    let corrupt = try await bench.reel("ingest", "clips")
    #expect(corrupt.status == 1)
    #expect(corrupt.errors.contains("catalog.sqlite"), "\(corrupt.errors)")
    try good.write(to: catalog)
    #expect(try await bench.reel("feed").status == 0)
  }

  @Test(
    "usage errors exit with 64",
    arguments: [
      ["ingest"], ["publish"], ["nonsense"], ["feed", "--size", "0"], ["show"],
      ["feed", "--from", "1", "--search", "x"], ["feed", "--since", "soon"],
      ["feed", "--since", "2026-02-30"], ["feed", "--since", "2026-01-01T10:60:00Z"],
      ["feed", "--since", "2026-01-01T24:00:00Z"], ["feed", "--since", "2026-02-30T10:00:00Z"],
      ["help", "nonsense"],
      ["help", "uploader", "nonsense"], ["help", "feed", "-h", "more"],
    ])
  func usage(arguments: [String]) async throws {
    let bench = try Workbench()
    #expect(try await ReelBinary.run(arguments, in: bench.folder).status == 64)
  }

  @Test(
    "help exits with 0",
    arguments: [["help"], ["help", "feed"], ["help", "uploader", "check"], ["help", "--help"]])
  func help(arguments: [String]) async throws {
    let bench = try Workbench()
    let run = try await ReelBinary.run(arguments, in: bench.folder)
    #expect(run.status == 0 && run.output.contains("USAGE"), "\(run.output) \(run.errors)")
  }

  @Test("commands that only read create nothing")
  func readersCreateNothing() async throws {
    let bench = try Workbench()
    for command in [["feed"], ["feed", "--json"], ["status"], ["cache"], ["cache", "clear"]] {
      let run = try await ReelBinary.run(command + ["--library", bench.library.path], in: bench.folder)
      #expect(run.status == 1, "\(command): \(run.errors)")
      #expect(!FileManager.default.fileExists(atPath: bench.library.path), "\(command)")
    }
  }
}
