import Foundation
import Glibc
import ReelTestSupport
import Testing

/// A file that is too large is refused by its size alone.
@Suite("The largest file", .shortTime)
struct SizeLimitTests {
  /// The size of the largest sparse file that the tests' file system allows; nil if it does not allow 100 GB.
  private static let hugeSize: off_t? = {
    var name = Array((NSTemporaryDirectory() + "/reel-huge-XXXXXX").utf8CString)
    let descriptor = mkstemp(&name)
    unlink(name)
    defer { close(descriptor) }
    return [8 << 40, 1 << 40, 100_000_000_000].first { ftruncate(descriptor, $0) == 0 }
  }()

  @Test(
    "terabytes of holes are refused before a byte is read, even behind a video's head",
    .enabled(if: hugeSize != nil, "needs a file system that takes a file of 100 GB with holes"))
  func holes() async throws {
    let size = try #require(Self.hugeSize)
    let bench = try Workbench()
    try bench.write("", to: "zeros.mp4")
    try bench.add("clips/faststart.mp4", as: "head.mp4")
    for name in ["zeros.mp4", "head.mp4"] {
      #expect(truncate(bench.clips.appendingPathComponent(name).path, size) == 0)
    }
    try bench.addDistinct(1)
    for policy in [[], ["--max-size", "none", "--policy", "policy.yaml"]] {
      try Data("policy: 1\nrules: {bytes.max: 1GB}\n".utf8)
        .write(to: bench.folder.appendingPathComponent("policy.yaml"))
      let arguments = policy + ["--duplicates", "allow"]
      let run = try await ReelBinary.start(
        ["ingest", "clips", "--library", bench.library.path, "--json", "--events", "events.jsonl"]
          + arguments,
        in: bench.folder,
        // Reading even the smallest of these files would take more processor time than this.
        launcher: ["/bin/sh", "-c", "ulimit -t 60; exec \"$0\" \"$@\""]
      ).outcome()
      #expect(run.status == 4, "\(run.errors)")
      let lines = try String(contentsOf: bench.folder.appendingPathComponent("events.jsonl"), encoding: .utf8)
        .split(separator: "\n").filter { $0.contains("file.refused") }
      #expect(lines.count == 2)
      #expect(
        lines.allSatisfy { $0.contains("\"rule\":\"bytes.max\"") && $0.contains("it is sparse") },
        "\(lines)")
    }
    #expect(try bench.objects().count == 2)
  }

  @Test("a flag, the environment, the configuration and a policy each set the limit; \"none\" lifts it")
  func settings() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    try Data("maxSize: 20KB\n".utf8).write(to: bench.folder.appendingPathComponent("reel.yaml"))
    try Data("policy: 1\nrules: {bytes.max: 20kB}\n".utf8)
      .write(to: bench.folder.appendingPathComponent("policy.yaml"))
    let refused: [([String], [String: String])] = [
      (["--max-size", "20kB"], [:]), (["--max-size", "24756"], [:]), ([], ["REEL_MAX_SIZE": "10KiB"]),
      (["--config", "reel.yaml"], [:]), (["--policy", "policy.yaml"], [:]),
      (["--policy", "policy.yaml", "--max-size", "1GB"], [:]),
    ]
    for (arguments, environment) in refused {
      let run = try await ReelBinary.run(
        ["publish", "clips/faststart.mp4", "--library", bench.library.path] + arguments, in: bench.folder,
        environment: environment)
      #expect(run.status == 4 && !run.errors.contains("holes"), "\(arguments): \(run.errors)")
      let isSaid = run.errors.contains("more than the") || run.errors.contains("is too large")
      #expect(isSaid, "\(arguments): \(run.errors)")
    }
    #expect(try bench.objects().isEmpty)
    for (arguments, status) in [(["--max-size", "none"], Int32(0)), (["--max-size", "24757"], 0)] {
      let run = try await ReelBinary.run(
        ["publish", "clips/faststart.mp4", "--library", bench.library.path, "--config", "reel.yaml"]
          + arguments,
        in: bench.folder, environment: ["REEL_MAX_SIZE": "1"])
      #expect(run.status == status, "\(run.errors)")
    }
  }

  @Test(
    "an invalid size is reported before anything is created", arguments: ["0", "-1", "20 parsecs", "1Gb", ""])
  func noSize(text: String) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    let flag = try await bench.reel("ingest", "clips", "--max-size=\(text)")
    #expect(flag.status == 64 && flag.errors.contains("--max-size"), "\(flag.errors)")
    let variable = try await bench.reel("ingest", "clips", environment: ["REEL_MAX_SIZE": text])
    // An empty variable counts as unset.
    #expect(variable.status == (text.isEmpty ? 0 : 1), "\(variable.errors)")
    #expect(text.isEmpty || variable.errors.contains("20GB"))
  }
}
