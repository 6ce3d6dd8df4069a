import Foundation
import Glibc
import ReelCore
import ReelHTTPFakes
import ReelTestSupport
import Testing

@testable import ReelSource

/// Tests of the real program's `reel watch`.
@Suite("watch", .shortTime, .notQuick)
struct WatchTests {
  @Test("whatever the writer does, each video becomes one post and goes where it should")
  func writers() async throws {
    let scene = try WatchScene(reader: .real)
    let clips = scene.bench.clips
    try WatchScene.video(1).write(to: clips.appendingPathComponent("was there.mp4"))
    try Data("no video".utf8).write(to: clips.appendingPathComponent("text.mp4"))
    let watch = try scene.start(["--after", "move:done", "--reject", "move:no", "--settle", "0.3"])
    try await watch.until { scene.files("no").contains("text.mp4.txt") }
    // Written slowly, in pieces.
    let slow = try scene.writing("slow.mp4")
    let (first, second) = try (WatchScene.video(2).prefix(9000), WatchScene.video(2).dropFirst(9000))
    try slow.write(contentsOf: first)
    // Under another name and then renamed; with holes; in place, and closed last.
    try WatchScene.video(3).write(to: clips.appendingPathComponent(".upload.mp4.x7"))
    try FileManager.default.moveItem(
      at: clips.appendingPathComponent(".upload.mp4.x7"), to: clips.appendingPathComponent("renamed.mp4"))
    let holes = try scene.writing("holes.mp4")
    try holes.write(contentsOf: WatchScene.video(4) + Data([0, 1, 0, 0]) + Data("free".utf8))
    try holes.truncate(atOffset: UInt64(WatchScene.video(4).count + 65536))
    try holes.close()
    let open = try scene.writing("open.mp4")
    try open.write(contentsOf: WatchScene.video(5))
    // One that vanishes, and one in a new folder.
    try WatchScene.video(6).write(to: clips.appendingPathComponent("gone.mp4.part"))
    try FileManager.default.removeItem(at: clips.appendingPathComponent("gone.mp4.part"))
    try FileManager.default.createDirectory(
      at: clips.appendingPathComponent("new/deep"), withIntermediateDirectories: true)
    try WatchScene.video(7).write(to: clips.appendingPathComponent("new/deep/nested.mp4"))
    try await watch.until {
      scene.files("done").isSuperset(of: ["was there.mp4", "renamed.mp4", "nested.mp4"])
    }
    #expect(scene.files("clips").isSuperset(of: ["slow.mp4", "open.mp4"]))
    try slow.write(contentsOf: second)
    try slow.close()
    try await watch.until { try scene.posts() == 5 && scene.files("clips") == ["open.mp4"] }
    try open.close()
    try await watch.until { try scene.posts() == 6 && scene.files("clips").isEmpty }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0, "\(outcome)")
    #expect(
      scene.files("done") == [
        "was there.mp4", "slow.mp4", "renamed.mp4", "holes.mp4", "open.mp4", "nested.mp4",
      ])
    #expect(scene.files("no") == ["text.mp4", "text.mp4.txt"])
    let reason = try String(
      contentsOf: scene.bench.folder.appendingPathComponent("no/text.mp4.txt"), encoding: .utf8)
    #expect(reason.contains("not a video") && reason.contains("[notMedia]"))
    expectNothing(try LibraryInspection(library: scene.bench.library).brokenAfterCompletion())
  }

  @Test("a file that its writer closes halfway waits for the rest")
  func halfway() async throws {
    let scene = try WatchScene(reader: .real)
    let path = scene.bench.folder.appendingPathComponent("n").path
    let listener = try NotifySocket(path)
    // Without the rest, it is refused after as long as a file has to settle.
    let watch = try scene.start(
      ["--after", "move:done", "--settle", "600"], environment: ["NOTIFY_SOCKET": path])
    // From now on, it learns when files are closed.
    try await watch.until { listener.said("READY=1") }
    let whole = try WatchScene.video(1)
    let half = try scene.writing("half.mp4")
    try half.write(contentsOf: whole.prefix(20_000))
    try half.close()
    try await watch.until { scene.notices().contains { $0.contains("looksCutOff") } }
    #expect(scene.files("clips") == ["half.mp4"])
    let rest = try #require(
      FileHandle(forWritingAtPath: scene.bench.clips.appendingPathComponent("half.mp4").path))
    try rest.seekToEnd()
    try rest.write(contentsOf: whole.dropFirst(20_000))
    try rest.close()
    try await watch.until { scene.files("done") == ["half.mp4"] }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    expectNothing(try LibraryInspection(library: scene.bench.library).brokenAfterCompletion())
  }

  @Test("says what it watches and where files go, names what it published, and counts that at its end")
  func words() async throws {
    let scene = try WatchScene(reader: .real)
    try scene.bench.addDistinct(2)
    for (options, isTold) in [
      (["-q"], false), (["--settle", "1.5"], true), (["--log-level", "info"], false),
    ] {
      let count = try scene.posts() + 1
      try WatchScene.video(count).write(to: scene.bench.clips.appendingPathComponent("more-\(count).mp4"))
      let watch = try scene.start(options + ["--after", "move:done"])
      try await watch.until { scene.files("clips").isEmpty }
      watch.send(SIGTERM)
      let outcome = try await watch.outcome()
      #expect(outcome.output.hasPrefix("watched for "), "\(outcome.output)")
      #expect(outcome.output.contains("published"), "\(outcome.output)")
      let greeting = [
        "watching clips: a file is ingested once no process is writing to it and it was closed, or has not changed for 1.5s\n",
        "videos go to file://", "; their files are then moved to done\n",
        "published: clips/more-\(count).mp4 as ",
      ]
      for line in greeting { #expect(outcome.errors.contains(line) == isTold, "\(outcome.errors)") }
      if options == ["-q"] { #expect(outcome.errors == "") }
      let isLogged = outcome.errors.contains(" event=watch.started path=clips destination=file://")
      #expect(isLogged == (options.first == "--log-level"), "\(outcome.errors)")
    }
  }

  @Test("a file that stays in the folder is ingested once, whatever happens to the process")
  func keeps() async throws {
    let scene = try WatchScene(reader: .real)
    try scene.bench.addDistinct(5)
    for round in 0..<2 {
      let watch = try scene.start([])
      try await watch.until { try scene.posts() == 5 + round }
      try WatchScene.video(100 + round).write(
        to: scene.bench.clips.appendingPathComponent("more-\(round).mp4"))
      try await watch.until { try scene.posts() == 6 + round }
      watch.send(round == 0 ? SIGKILL : SIGTERM)
      _ = try await watch.outcome()
    }
    #expect(scene.files("clips").count == 7)
    expectNothing(try LibraryInspection(library: scene.bench.library).broken())
  }

  @Test("at its end it names the files that were not complete yet", arguments: [true, false])
  func waiting(inJSON: Bool) async throws {
    let scene = try WatchScene()
    try scene.bench.addDistinct(1)
    let half = scene.bench.clips.appendingPathComponent("half.mp4")
    try WatchScene.video(7).prefix(20_000).write(to: half)
    let open = try #require(FileHandle(forWritingAtPath: half.path))
    let watch = try scene.start(inJSON ? ["--json"] : [])
    try await watch.until { try scene.posts() == 1 }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    try open.close()
    #expect(outcome.status == 0, "\(outcome)")
    if inJSON {
      #expect(try outcome.object()["waiting"] as? Int == 1, "\(outcome)")
    } else {
      #expect(outcome.output.contains(/waiting +1, not complete yet/), "\(outcome)")
    }
  }

  @Test("an unrelated variable that is not UTF-8 does not matter")
  func otherVariables() async throws {
    let scene = try WatchScene()
    try scene.bench.addDistinct(1)
    let shell = [
      "/bin/sh", "-c", #"OTHER=$(printf '\377'); export OTHER; exec "$0" "$@""#,
    ]
    let watch = try scene.start([], launcher: shell)
    try await watch.until { try scene.posts() == 1 }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
  }

  @Test("a folder for processed files has exactly the given name")
  func namedFolder() async throws {
    let scene = try WatchScene()
    try scene.bench.addDistinct(1)
    // Characters that stand for bytes within the program.
    let watch = try scene.start(["--after", "move:mv\u{10FF80}x"])
    try await watch.until { scene.files("mv\u{10FF80}x") == ["clip-00000.mp4"] }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
  }

  /// 10,000 files in the long form.
  @Test("files that arrive while it runs become posts, and leave nothing behind")
  func many() async throws {
    let (scene, count) = (try WatchScene(), TestForm.isLong ? 10_000 : 300)
    let watch = try scene.start(["--after", "delete"])
    try scene.bench.addDistinct(count)
    try await watch.until { try scene.files("clips").isEmpty && scene.posts() == count }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    expectNothing(try LibraryInspection(library: scene.bench.library).brokenAfterCompletion())
    #expect(!scene.notices().contains { $0.contains("notDisposed") })
  }

  // MARK: Crashes

  private enum Way: String, CaseIterable {
    case move, delete, reject, otherDisk
  }

  @Test(
    "killed at each step of a file's disposal, the file is one post, and never gone without one",
    .needsFailpoints, .needsOtherFileSystem, arguments: FileDisposal.Step.allCases)
  func killedAtStep(step: FileDisposal.Step) async throws {
    for way in Way.allCases {
      for count in TestForm.isLong ? [1, 2, 3, 4, 6] : [2] {
        try await kill(way, "\(step) \(way) \(count)") { scene, arguments in
          let watch = try scene.start(arguments, environment: ["REEL_DIE_AT": "\(step.rawValue):\(count)"])
          try await watch.untilEnded(or: scene.files("clips").isEmpty)
        }
      }
    }
  }

  /// 500 rounds in the long form, or `REEL_KILLS`.
  @Test("the same holds if it is killed at any moment", .needsOtherFileSystem)
  func killedAtAnyMoment() async throws {
    let seed = TestSeed.drawn()
    var draws = SplitMix64(seed: seed)
    let rounds =
      ProcessInfo.processInfo.environment["REEL_KILLS"].flatMap { Int($0) } ?? (TestForm.isLong ? 500 : 6)
    for round in 0..<rounds {
      let way = Way.allCases[round % Way.allCases.count]
      let wait = Int(draws.next() % 150_000)
      try await kill(way, "seed \(seed), round \(round)") { scene, arguments in
        let watch = try scene.start(arguments)
        while watch.process.isRunning, !scene.bench.hasCatalog {
          try await Task.sleep(for: .microseconds(500))
        }
        try await Task.sleep(for: .microseconds(wait))
        watch.send(SIGKILL)
        _ = try await watch.outcome()
      }
    }
  }

  /// Makes files with sidecars, runs `crash`, and then the same command again.
  private func kill(
    _ way: Way, _ comment: Comment, _ crash: (WatchScene, [String]) async throws -> Void
  ) async throws {
    let (scene, count) = (try WatchScene(), 6)
    try scene.bench.addDistinct(count)
    try scene.bench.write(#"{"caption": "one"}"#, to: "clip-00001.json")
    // Files that are not videos. None of these may be lost, either.
    for number in 0..<(way == .reject ? count : 1) {
      try scene.bench.write("no \(number)", to: "no \(number).mp4")
    }
    let before = scene.files("clips")
    let target =
      way == .otherDisk
      ? "\(SharedMemory.path)/reel-watch-\(UUID().uuidString)" : scene.bench.folder.path + "/done"
    defer { try? FileManager.default.removeItem(atPath: target) }
    let arguments =
      ["--after", way == .delete ? "delete" : "move:\(target)"] + ["--reject", "move:\(target)"]
    try await crash(scene, arguments)
    let posts = try scene.posts()
    let left = (scene.files("clips").union(Self.files(target))).filter {
      $0.contains("clip-") && $0.hasSuffix(".mp4")
    }
    // A video that was removed is a post.
    #expect(way != .delete || left.count + posts >= count, comment)
    #expect(way == .delete || Set(left.map(Self.plain)).count >= count, comment)
    let runs = scene.events("run.started").count
    let again = try scene.start(arguments)
    try await again.until { scene.files("clips").isEmpty && scene.events("run.started").count > runs }
    again.send(SIGTERM)
    #expect(try await again.outcome().status == 0, comment)
    let inspection = try LibraryInspection(library: scene.bench.library)
    expectNothing(try inspection.broken(), comment)
    #expect(inspection.published.count == count, comment)
    // No later run would find a removed video, so its event must already have been sent.
    let told = try scene.bench.told(in: ["events.jsonl"])
    #expect(told == Set(inspection.published.map(\.key)), comment)
    let names = Self.files(target)
    #expect(!names.contains { $0.hasPrefix(".") }, comment)
    let expected = before.filter { way != .delete || $0.hasPrefix("no ") }
    #expect(Set(names.filter { !$0.hasSuffix(".txt") }.map(Self.plain)) == expected, comment)
  }

  private static func files(_ path: String) -> Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
  }

  /// Returns the name without the marks of a move in progress, or of a collision.
  private static func plain(_ name: String) -> String {
    name.replacing(".reel-removing-", with: "").replacing(".reel-moving-", with: "").replacing(
      /-\d\.(mp4|json)$/, with: { "." + $0.1 })
  }

  // MARK: Signals and notifications

  @Test(
    "a service manager learns that it is ready and alive; SIGHUP makes it reload its settings")
  func service() async throws {
    let scene = try WatchScene(reader: .real)
    try scene.bench.addDistinct(1)
    let path = scene.bench.folder.appendingPathComponent("n").path
    let listener = try NotifySocket(path)
    try scene.bench.write("authorName: one\n", to: "../config.yaml")
    let watch = try scene.start(
      ["--config", "config.yaml", "--metrics", "watch.prom"],
      environment: ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"])
    try await watch.until { listener.said("READY=1") && listener.said("WATCHDOG=1") }
    try await watch.until { try listener.said("WATCHDOG=1") && scene.posts() == 1 }
    try scene.bench.write("authorName: two\n", to: "../config.yaml")
    // As logrotate does.
    let events = scene.bench.folder.appendingPathComponent("events.jsonl")
    try FileManager.default.moveItem(at: events, to: events.appendingPathExtension("1"))
    watch.send(SIGHUP)
    try await watch.until { listener.said("RELOADING=1") && listener.count("READY=1") == 2 }
    try WatchScene.video(1).write(to: scene.bench.clips.appendingPathComponent("later.mp4"))
    try await watch.until { try listener.said("WATCHDOG=1") && scene.posts() == 2 }
    let descriptors = "/proc/\(watch.process.processIdentifier)/fd/"
    let open = try FileManager.default.contentsOfDirectory(atPath: descriptors).compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: descriptors + $0)
    }
    #expect(open.filter { $0.contains("events.jsonl") }.count == 1, "the old file is let go of")
    let feed = try await scene.bench.reel("feed", "--json").output
    #expect(feed.contains("\"one\"") && feed.contains("\"two\""), "\(feed)")
    watch.send(SIGTERM)
    try await watch.until { listener.said("STOPPING=1") }
    #expect(try await watch.outcome().status == 0)
    let metrics = try String(
      contentsOf: scene.bench.folder.appendingPathComponent("watch.prom"), encoding: .utf8)
    #expect(metrics.contains("reel_watch_folder_present{run=\"watch\",folder=\"clips\"} 1"))
  }

  /// A sidecar that has not changed for thirty seconds is taken for complete.
  @Test("a video with an incomplete sidecar is ingested with it once it is complete", .ownThread)
  func sidecar() async throws {
    let scene = try WatchScene(reader: .real)
    let watch = try scene.start(["--settle", "0.2", "--reject", "move:no"])
    try await watch.until { scene.bench.hasCatalog }
    try scene.bench.write("{\"caption\": \"Harbour\"", to: "a.json")
    try WatchScene.video(1).write(to: scene.bench.clips.appendingPathComponent("a.mp4"))
    try await watch.until { !scene.events("file.postponed").isEmpty }
    #expect(scene.events("file.postponed")[0].contains("sidecarInvalid"))
    try scene.bench.write("{\"caption\": \"Harbour\"}", to: "a.json")
    try await watch.until { try scene.posts() == 1 }
    #expect(try await scene.bench.reel("feed", "--json").output.contains("\"Harbour\""))
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    #expect(scene.files("no").isEmpty && scene.events("file.failed").isEmpty)
  }

  @Test("a folder that disappears is reported, waited for, and watched again")
  func gone() async throws {
    let scene = try WatchScene(reader: .real)
    let watch = try scene.start([])
    try await watch.until { scene.bench.hasCatalog }
    let aside = scene.bench.folder.appendingPathComponent("aside")
    try FileManager.default.moveItem(at: scene.bench.clips, to: aside)
    try await watch.until { scene.notices().contains { $0.contains("folderGone") } }
    try WatchScene.video(1).write(to: aside.appendingPathComponent("a.mp4"))
    try FileManager.default.moveItem(at: aside, to: scene.bench.clips)
    try await watch.until { try scene.posts() == 1 }
    #expect(scene.notices().contains { $0.contains("folderBack") })
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
  }

  @Test("of a bucket it ingests what is there, and then what arrives")
  func bucket() async throws {
    let scene = try WatchScene(reader: .real)
    let object = { (number: Int) in
      ObjectServer.Object(.bytes(Array(try WatchScene.video(number))), tag: "\"\(number)\"")
    }
    let server = try await ObjectServer.start(["uploads/a.mp4": try object(1)])
    let watch = try ReelBinary.start(
      [
        "watch", "s3+http://127.0.0.1:\(server.port)/uploads/", "--every", "1s", "--library",
        scene.bench.library.path,
      ], in: scene.bench.folder, environment: AddressTests.environment)
    try await watch.until { try scene.posts() == 1 }
    server.set(try object(2), at: "uploads/b.mp4")
    try await watch.until { try scene.posts() == 2 }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    await server.stop()
  }

  @Test(
    "senseless arguments are refused before anything is created",
    arguments: [
      (["nowhere"], Int32(1), "there is no such folder"),
      (["clips", "--after", "shred"], 64, "--after must be keep"),
      (["clips", "--reject", "delete"], 64, "never deleted"), (["clips", "--every", "soon"], 64, "every"),
    ])
  func mistakes(_ arguments: [String], _ status: Int32, _ words: String) async throws {
    let bench = try Workbench()
    let outcome = try await ReelBinary.run(
      ["watch"] + arguments + ["--library", bench.library.path], in: bench.folder)
    #expect(outcome.status == status && outcome.errors.contains(words), "\(outcome)")
    #expect(!bench.hasCatalog)
  }
}

extension ReelBinary.Running {
  /// Kills the process once `isSo` is true, unless it ends first.
  fileprivate func untilEnded(or isSo: @autoclosure () throws -> Bool) async throws {
    while process.isRunning, try !isSo() { try await Task.sleep(for: .microseconds(Int(10_000))) }
    send(SIGKILL)
    _ = try await outcome()
  }
}

/// A socket like the one on which a service manager listens.
private final class NotifySocket {
  private let descriptor: Int32
  private var words: [String] = []

  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    try #require(descriptor >= 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
  }

  deinit { close(descriptor) }

  func count(_ word: String) -> Int {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while case let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT)), count > 0 {
      words += String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
    }
    return words.count { $0 == word }
  }

  func said(_ word: String) -> Bool { count(word) > 0 }
}
