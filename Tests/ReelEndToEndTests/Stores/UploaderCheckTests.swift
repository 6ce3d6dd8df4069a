import Foundation
import Testing

/// `reel uploader check`, and publishing through the user's own programs.
@Suite struct UploaderCheckTests {
  private static let adapters = ["folder.py", "folder.sh"]

  private func adapter(_ name: String) -> String {
    ReelBinary.project.appendingPathComponent("Samples/adapters/\(name)").path
  }

  private func summary(_ run: ReelBinary.Outcome) throws -> [String: Any] {
    try #require(try run.object()["summary"] as? [String: Any])
  }

  @Test func aFolderKeepsEveryPromise() async throws {
    let bench = try Workbench()
    let checked = try await bench.reel("uploader", "check", "./store", "--json", "--large-size", "3000001")
    #expect(checked.status == 0, "\(checked.errors)")
    let document = try checked.object()
    let promises = try #require(document["promises"] as? [[String: Any]])
    #expect(promises.count >= 25 && document["kept"] as? Int == promises.count)
    #expect(promises.allSatisfy { $0["result"] as? String == "pass" && $0["promise"] is String })
    let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path + "/store")
    #expect(names.filter { !$0.hasPrefix(".") } == [])
  }

  @Test func aBrokenAdapterIsTold() async throws {
    let bench = try Workbench()
    let folder = bench.folder.appendingPathComponent("store")
    // The adapter claims to have removed an object, but has not.
    let honest = try String(contentsOfFile: adapter("folder.sh"), encoding: .utf8)
    let script = honest.replacingOccurrences(of: "rm -f \"$target\"", with: ":")
    #expect(script != honest)
    let program = bench.folder.appendingPathComponent("lazy.sh")
    try Script.write(script, to: program)
    let checked = try await bench.reel(
      "uploader", "check", "command:./lazy.sh", "--only", "remove.", "--large-size", "100000",
      environment: ["REEL_ADAPTER_FOLDER": folder.path])
    #expect(checked.status == 3, "\(checked.output) \(checked.errors)")
    let lines = checked.output.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("FAIL remove.gone:") })
    #expect(lines.contains { $0.hasPrefix("pass remove.nothing:") })
    #expect(checked.output.contains("fails 3 of 5 checks"))
  }

  @Test("an adapter that says it removes nothing keeps every promise that it makes")
  func lasting() async throws {
    let bench = try Workbench()
    let honest = try String(contentsOfFile: adapter("folder.sh"), encoding: .utf8)
    let script = honest.replacingOccurrences(
      of: "\"durable\":true", with: "\"durable\":true,\"removes\":false"
    ).replacingOccurrences(of: "remove) remove ;;", with: "")
    let program = bench.folder.appendingPathComponent("lasting.sh")
    try Script.write(script, to: program)
    let folder = bench.folder.appendingPathComponent("store")
    let checked = try await bench.reel(
      "uploader", "check", "command:./lasting.sh", "--only", "remove.", "--only", "upload.small",
      environment: ["REEL_ADAPTER_FOLDER": folder.path])
    #expect(checked.status == 0, "\(checked.output) \(checked.errors)")
    #expect(checked.errors.contains("stay there"), "\(checked.errors)")
  }

  @Test func whatCannotBeChecked() async throws {
    let bench = try Workbench()
    let missing = try await bench.reel("uploader", "check", "command:./none")
    #expect(missing.status == 1 && missing.errors.contains("no such file"))
    #expect(try await bench.reel("uploader", "check", "gopher://x").status == 64)
    let none = try await bench.reel("uploader", "check", "./store", "--only", "nonsense")
    #expect(none.status == 64 && none.errors.contains("upload.neverOverwrites"))
  }

  @Test(arguments: adapters) func videosArePublishedThroughAProgram(_ name: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(5)
    let folder = bench.folder.appendingPathComponent("store")
    let environment = ["REEL_ADAPTER_FOLDER": folder.path, "OTHER_SECRET": "s3cr3t"]
    let to = "command:" + adapter(name) + "#north"
    let run = try await bench.reel(
      "ingest", "clips", "--to", to, "--json", "--uploads", "2", "--limit-rate", "100MB/s", "--events",
      "events.jsonl",
      environment: environment)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try summary(run)["published"] as? Int == 5)
    let stored = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/north")
      .filter { !$0.hasPrefix(".") }
    #expect(stored.count == 5)
    let again = try await bench.reel("ingest", "clips", "--to", to, "--json", environment: environment)
    #expect(try summary(again)["duplicates"] as? Int == 5)

    // An adapter's variables may be secrets, so it gets them only if it is named.
    #expect(try await bench.reel("verify", "--read", "--to", to, environment: environment).status == 0)
    try FileManager.default.removeItem(atPath: folder.path + "/north/" + (stored.first ?? ""))
    #expect(try await bench.reel("verify", "--to", to, environment: environment).status == 3)
    let feed = try await bench.reel("feed", "--json").output
    #expect(feed.contains("file://" + folder.path + "/north/"))
  }

  @Test func aRateAndAPublicAddressAreKept() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let bad = try await bench.reel("ingest", "clips", "--limit-rate", "10Mb/s")
    #expect(bad.status == 64 && bad.errors.contains("10MB/s"))
    #expect(!FileManager.default.fileExists(atPath: bench.library.path))
    let size = try FileManager.default.attributesOfItem(atPath: bench.clips.path + "/clip-00000.mp4")[.size]
    let bytes = try #require(size as? Int)
    let start = ContinuousClock.now
    let run = try await bench.reel(
      "ingest", "clips", "--limit-rate", "\(bytes)", "--public-base-url", "https://media.example/v/")
    #expect(run.status == 0, "\(run.errors)")
    // Two files at one second each, however busy the machine is. A little may be sent at once.
    #expect(ContinuousClock.now - start >= .seconds(1.8))
    #expect(try await bench.reel("feed", "--json").output.contains("https://media.example/v/"))
  }
}
