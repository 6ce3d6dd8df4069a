import Foundation
import ReelTestSupport
import Testing

/// `reel watch` over a long time: what it reports at its end, and what it costs.
@Suite("watch, over time", .shortTime, .notQuick)
struct WatchLifeTests {
  @Test("its report counts everything since it started, and it does not count as interrupted")
  func ends() async throws {
    let scene = try WatchScene(reader: .real)
    try scene.bench.write("no video", to: "no.mp4")
    let watch = try scene.start(["--settle", "0.2"])
    for number in 1...2 {
      try WatchScene.video(number).write(to: scene.bench.clips.appendingPathComponent("\(number).mp4"))
      try await watch.until { try scene.posts() == number }
      watch.send(SIGHUP)
      try await watch.until { scene.notices().count { $0.contains("reloaded") } == number }
    }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0, "\(outcome)")
    let report = outcome.output
    #expect(report.hasPrefix("watched for ") && report.contains("published 2 videos to "), "\(report)")
    for words in ["interrupted", "same command", "not started"] { #expect(!report.contains(words)) }
  }

  @Test("a watch to which nothing came says so")
  func nothing() async throws {
    let scene = try WatchScene()
    let watch = try scene.start(["--json"])
    try await watch.until { !scene.events("run.started").isEmpty }
    watch.send(SIGINT)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0, "\(outcome)")
    let summary = try #require(try outcome.object()["summary"] as? [String: Any])
    #expect(summary["published"] as? Int == 0)
    #expect(
      !outcome.errors.contains("interrupted") && !outcome.errors.contains(/[0-9] files/), "\(outcome.errors)")
  }

  @Test("files are mended before they are published, if that is requested")
  func mends() async throws {
    let scene = try WatchScene(reader: .real)
    let watch = try scene.start(["--mend", "faststart", "--after", "move:done"])
    try scene.bench.add("clips/phone-portrait.mov")
    try await watch.until { scene.files("done") == ["phone-portrait.mov"] }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    let feed = try await scene.bench.reel("feed", "--json").output
    #expect(feed.contains(#""mended":["#) && feed.contains("faststart"), "\(feed)")
  }

  /// The number of its descriptors, and its private memory in KiB.
  private struct Costs {
    let descriptors: Int
    let memory: Int

    init(of process: Int32) throws {
      descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
      let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
      memory = try #require(Int(line.split(separator: " ", omittingEmptySubsequences: true)[1]))
    }
  }

  /// 20,000 files in the long form.
  @Test(
    "however many files have come and gone, it uses as much as after the first",
    arguments: ["delete", "keep"])
  func flat(after: String) async throws {
    let (scene, waves, each) = (try WatchScene(), 10, TestForm.isLong ? 2_000 : 100)
    let watch = try scene.start(["--after", after])
    try await watch.until { scene.bench.hasCatalog }
    var costs: [Costs] = []
    for wave in 0..<waves {
      try scene.bench.addDistinct(each, from: wave * each)
      try await watch.until {
        try scene.bench.objects().count == (wave + 1) * each
          && (after == "keep" || scene.files("clips").isEmpty)
      }
      if after == "keep" {
        // Another process removes them.
        for name in scene.files("clips") {
          try FileManager.default.removeItem(at: scene.bench.clips.appendingPathComponent(name))
        }
      }
      costs.append(try Costs(of: watch.process.processIdentifier))
    }
    // The first waves fill caches, connections, and the heap's reserves.
    let (warm, last) = (costs[2], costs[waves - 1])
    // An object exists before its file is closed.
    let isFlat = try await eventually {
      try Costs(of: watch.process.processIdentifier).descriptors <= warm.descriptors + 4
    }
    #expect(isFlat, "\(costs)")
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    #expect(last.memory <= warm.memory + warm.memory / 5 + 4096, "\(costs)")
  }
}
