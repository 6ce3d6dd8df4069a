import Foundation
import Glibc
import ReelTestSupport
import Testing

/// Sites in a real browser, if one is installed: `apt-get install chromium`. Accessibility is checked as well if
/// `REEL_AXE` names the axe.min.js of axe-core.
@Suite("A page in a browser", .shortTime)
struct PageTests {
  static let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  private static let hostile = [
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\u{2028}\"'`\\\u{2029}",
    "\u{202E}gnp.exe\u{202C}", "{{title}} ${alert(3)}", String(repeating: "long ", count: 1000),
  ]

  @Test(
    "plays, scrolls, types and jumps, sends no requests elsewhere, and executes no text",
    .enabled(if: chromium != nil && !TestForm.isSanitized, "chromium is not installed"),
    arguments: ["file", "web"])
  func browser(way: String) async throws {
    let bench = try Workbench()
    for name in ["faststart.mp4", "vp9.webm", "hdr10.mov", "silent.mp4", "old.avi", "cover.mp4"] {
      try bench.add("clips/" + name)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: bench.clips.path).sorted()
    for (name, text) in zip(names, Self.hostile) {
      let words = ["caption": text, "music": text, "authorName": text]
      try JSONSerialization.data(withJSONObject: words).write(
        to: bench.clips.appendingPathComponent(name).deletingPathExtension().appendingPathExtension("json"))
    }
    try bench.addDistinct(30)
    #expect(try await bench.reel("ingest", "clips", "--trust-sidecars", "--posters").status == 0)
    let gone = try #require(try bench.objects().filter { $0.hasSuffix(".jpg") }.min())
    try FileManager.default.removeItem(at: bench.media.appendingPathComponent(gone))
    let page = try await bench.reel(
      "page", "-o", "site", "--size", "7", "--media", "copy", "--title", "</title><script>alert(4)</script>\""
    )
    #expect(page.status == 0, "\(page.errors)")
    // One poster was removed. The others are beside the page, where the browser shows them.
    let media = try FileManager.default.contentsOfDirectory(
      atPath: bench.folder.appendingPathComponent("site/media").path)
    #expect(media.count { $0.hasSuffix(".jpg") } == 35)
    let look = try await ReelBinary.runProgram(
      "/usr/bin/python3", [ReelBinary.project.path + "/Tests/Browser/page.py", "site", "--way", way],
      in: bench.folder,
      environment: ProcessInfo.processInfo.environment.filter { $0.key == "REEL_AXE" || $0.key == "TMPDIR" })
    #expect(look.status == 0, "\(look.output) \(look.errors)")
  }

  @Test(
    "shows no removed posts, the edited words, and no gaps",
    .enabled(if: chromium != nil && !TestForm.isSanitized, "chromium is not installed"))
  func changed() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(7)
    for number in 0..<7 {
      try JSONSerialization.data(withJSONObject: ["caption": "video \(number)"]).write(
        to: bench.clips.appendingPathComponent("clip-0000\(number).json"))
    }
    // One after the other, so that their numbers are known.
    for number in 0..<7 {
      #expect(try await bench.reel("publish", "clips/clip-0000\(number).mp4", "--trust-sidecars").status == 0)
    }
    #expect(try await bench.reel("page", "-o", "site", "--size", "2", "--media", "copy").status == 0)
    func shown(_ addresses: String...) async throws -> Shown { try await Self.shown(in: bench, addresses) }
    let before = try await shown("#p3")
    #expect(before.player == (0..<7).reversed().map { "video \($0)" })
    #expect(before.addresses["#p3"] == Shown.Address(caption: "video 2", number: 3, says: ""))

    // A whole page in the middle, a part of one, and the newest post.
    let gone = [2, 3, 4, 6]
    let objects = try await bench.feed().compactMap { post in
      gone.contains { post["caption"] as? String == "video \($0)" } ? post["video"] as? String : nil
    }
    #expect(objects.count == 4)
    for number in gone { #expect(try await bench.reel("remove", "clips/clip-0000\(number).mp4").status == 0) }
    #expect(try await bench.reel("edit", "clips/clip-00001.mp4", "--caption", "edited").status == 0)
    #expect(try await bench.reel("page", "-o", "site").status == 0)
    let after = try await shown("#p3", "#p2", "#p6")
    let left = ["video 5", "edited", "video 0"]
    #expect(after.player == left && after.grid == left)
    #expect(after.addresses["#p2"] == Shown.Address(caption: "edited", number: 2, says: ""))
    #expect(after.addresses["#p6"] == Shown.Address(caption: "video 5", number: 6, says: ""))
    let dead = try #require(after.addresses["#p3"])
    #expect(dead.caption == "video 5" && dead.says.contains("No video has that number."))
    #expect(!after.requests.contains { objects.contains($0) })
    #expect(after.messages.isEmpty)

    #expect(try await bench.reel("restore", "clips/clip-00003.mp4", "--from", "clips").status == 0)
    #expect(try await bench.reel("page", "-o", "site").status == 0)
    #expect(try await shown().player == ["video 5", "video 3", "edited", "video 0"])
  }

  @Test(
    "opens at a playable video, and labels one without a caption by day and length, or by its file",
    .enabled(if: chromium != nil && !TestForm.isSanitized, "chromium is not installed"))
  func opening() async throws {
    let bench = try Workbench()
    for name in ["faststart.mp4", "windows.wmv", "old.avi"] {
      try bench.add("clips/" + name)
      #expect(try await bench.reel("publish", "clips/" + name).status == 0)
    }
    #expect(try await bench.reel("edit", "clips/old.avi", "--caption", "said").status == 0)
    #expect(try await bench.reel("page", "-o", "site").status == 0)
    let plain = try await Self.shown(in: bench)
    #expect(plain.opening == 3 && plain.player.first == "said" && plain.grid == plain.player)
    let pattern = #/\w{3} \d+, \d{4} · \d:\d\d/#
    #expect(plain.player.dropFirst().allSatisfy { $0.wholeMatch(of: pattern) != nil }, "\(plain.player)")
    let feed = bench.folder.appendingPathComponent("site/feed/1.json")
    #expect(try !String(contentsOf: feed, encoding: .utf8).contains("windows"))

    let names = ["said", "windows.wmv", "faststart.mp4"]
    #expect(try await bench.reel("page", "-o", "site", "--names").status == 0)
    #expect(try await bench.reel("page", "-o", "site").output.hasPrefix("nothing new: "))
    let named = try await Self.shown(in: bench)
    #expect(named.player == names && named.grid == names)
    #expect(try await bench.reel("page", "-o", "site", "--no-names").status == 0)
    #expect(try !String(contentsOf: feed, encoding: .utf8).contains("windows"))
  }

  private static func shown(in bench: Workbench, _ addresses: [String] = []) async throws -> Shown {
    let look = try await ReelBinary.runProgram(
      "/usr/bin/python3", [ReelBinary.project.path + "/Tests/Browser/shown.py", "site"] + addresses,
      in: bench.folder, environment: ProcessInfo.processInfo.environment.filter { $0.key == "TMPDIR" })
    return try JSONDecoder().decode(Shown.self, from: Data(look.output.utf8))
  }

  private struct Shown: Decodable {
    struct Address: Decodable, Equatable {
      let caption: String?
      /// The content of the field at the top: the number in the address and in the feed.
      let number: Int
      let says: String
    }
    let opening: Int?
    let player: [String]
    let grid: [String]
    let addresses: [String: Address]
    let requests: [String]
    let messages: [String]
  }

  @Test(
    "is written, and follows no link, if the kernel has no openat2", .needsSystemShim)
  func olderKernel() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(3)
    let shim = try await SystemShim.environment(root: bench.folder, ["REEL_SHIM_OPENAT2": "none"])
    #expect(try await bench.reel("ingest", "clips", environment: shim).status == 0)
    let page = try await bench.reel("page", "-o", "site", "--media", "copy", environment: shim)
    #expect(page.status == 0, "\(page)")
    let again = try await bench.reel("page", "-o", "site", "--media", "copy", "--json", environment: shim)
    #expect(try again.object()["posts"] as? Int == 3)
    let index = bench.folder.appendingPathComponent("site/feed/index.json")
    let elsewhere = bench.folder.appendingPathComponent("index.json")
    try FileManager.default.moveItem(at: index, to: elsewhere)
    try FileManager.default.createSymbolicLink(at: index, withDestinationURL: elsewhere)
    #expect(try await bench.reel("page", "-o", "site", "--media", "copy", environment: shim).status == 0)
    var status = stat()
    #expect(lstat(index.path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
  }

  @Test("counts what it shows: a post that was removed before is not new")
  func counted() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(3)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    #expect(try await bench.reel("remove", "clips/clip-00000.mp4").status == 0)
    let first = try await bench.reel("page", "-o", "site")
    #expect(first.output.contains("shows 2 posts, 2 of them new"), "\(first)")
    try bench.addDistinct(1, from: 5)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    #expect(try await bench.reel("remove", "clips/clip-00001.mp4").status == 0)
    let next = try await bench.reel("page", "-o", "site")
    #expect(next.output.contains("shows 2 posts, 1 of them new, 1 taken out"), "\(next)")
  }

  @Test("is written again only if something is new, and says so")
  func again() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(5)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let first = try await bench.reel("page", "-o", "site", "--json")
    #expect(try first.object()["posts"] as? Int == 5)
    #expect(try first.object()["isLocal"] as? Bool == true)
    let again = try await bench.reel("page", "-o", "site")
    #expect(again.output.hasPrefix("nothing new: "), "\(again.output)")
    let inside = try await bench.reel("page", "-o", "library/site")
    #expect(inside.status == 64 && inside.errors.contains("inside the library"), "\(inside.errors)")
    let other = try await ReelBinary.run(["page", "-o", "site", "--library", "nothing"], in: bench.folder)
    #expect(other.status == 1 && other.errors.contains("--library"), "\(other.errors)")
  }

  @Test("shows posters that were made later, wherever in the feed their posts are")
  func laterPosters() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    #expect(try await bench.reel("ingest", "clips", "--posters").status == 0)
    try bench.addDistinct(6)
    #expect(try await bench.reel("ingest", "clips", "--jobs", "1").status == 0)
    #expect(try await bench.reel("page", "-o", "site", "--size", "2", "--media", "copy").status == 0)
    func shown() throws -> [Int] {
      try (1...3).map { page in
        let file = bench.folder.appendingPathComponent("site/feed/\(page).json")
        return try String(contentsOf: file, encoding: .utf8).ranges(of: "\"posterURL\":\"media/").count
      }
    }
    #expect(try shown() == [2, 0, 0])
    #expect(try await bench.reel("poster", "--missing").status == 0)
    #expect(try await bench.reel("page", "-o", "site").status == 0)
    #expect(try shown() == [2, 2, 2])
    #expect(try await bench.reel("page", "-o", "site").output.hasPrefix("nothing new: "))
  }

  @Test("a report, on a run or a validation, is one file that gives the reasons")
  func reports() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    try bench.add("broken/archive.mp4")
    try bench.add("broken/cut-off.mp4")
    let run = try await bench.reel("ingest", "clips", "--report", "html=run.html")
    #expect(run.status == 4)
    let page = try String(contentsOf: bench.folder.appendingPathComponent("run.html"), encoding: .utf8)
    #expect(page.contains("href=\"clips/archive.mp4\"") && page.contains("ZIP archive"))
    #expect(page.contains("href=\"clips/faststart.mp4\"") && page.contains(">published<"))
    #expect(try Self.pictures(page) == ["clips/cut-off.mp4", "clips/faststart.mp4"])
    #expect(try await bench.reel("ingest", "clips", "--report", "html=again.html").status == 4)
    let again = try String(contentsOf: bench.folder.appendingPathComponent("again.html"), encoding: .utf8)
    #expect(again.contains(">duplicate<"))
    #expect(try Self.pictures(again) == ["clips/cut-off.mp4", "clips/faststart.mp4"])
    let validated = try await ReelBinary.run(["validate", "clips", "--report", "html"], in: bench.folder)
    #expect(validated.status == 4 && validated.output.hasPrefix("<!doctype html>"))
    #expect(validated.output.contains("container.disguised"))
    #expect(try Self.pictures(validated.output) == ["clips/cut-off.mp4", "clips/faststart.mp4"])
    #expect(try await bench.reel("ingest", "clips", "--report", "json=x").status == 64)
  }

  // MARK: Pictures in reports

  /// Returns the files that have a picture in a report, each of which must be a complete JPEG.
  private static func pictures(_ page: String) throws -> [String] {
    let pattern =
      /<img alt="A picture from ([^"]*)" loading="lazy" width="(\d+)" height="(\d+)" src="data:image\/jpeg;base64,([^"]*)">/
    return try page.matches(of: pattern).map { match in
      let jpeg = try #require(Data(base64Encoded: String(match.output.4)))
      #expect(jpeg.starts(with: [0xFF, 0xD8]) && jpeg.suffix(2) == Data([0xFF, 0xD9]))
      let sides = [match.output.2, match.output.3].compactMap { Int($0) }
      #expect(sides.count == 2 && sides.allSatisfy { (1...240).contains($0) })
      return String(match.output.1)
    }.sorted()
  }

  /// Makes files with orders for the sabotaged worker, which returns a gray JPEG as the picture.
  private static func told(_ orders: [String]) throws -> Workbench {
    let bench = try Workbench()
    for (number, order) in orders.enumerated() {
      let brand = Data([0, 0, 0, 24]) + Data("ftypisom".utf8) + Data([0, 0, 0, UInt8(number)])
      let movie = Data("isomiso2".utf8) + Data([0, 0, 0, 8]) + Data("moov".utf8)
      try (brand + movie + Data(order.utf8)).write(
        to: bench.clips.appendingPathComponent(String(format: "%02d.mp4", number)))
    }
    return bench
  }

  private static let worker = [
    "REEL_WORKER": ReelBinary.folder.appendingPathComponent("reel-sabotaged-worker").path
  ]

  private static func report(_ bench: Workbench) throws -> String {
    try String(contentsOf: bench.folder.appendingPathComponent("run.html"), encoding: .utf8)
  }

  @Test("A file without a picture has none in the report, and that is not an error")
  func withoutPicture() async throws {
    let bench = try Self.told(["video", "video exit", "video garbage", "video"])
    let run = try await bench.reel("ingest", "clips", "--report", "html=run.html", environment: Self.worker)
    #expect(run.status == 0 && run.errors.withoutProgress == "", "\(run.errors)")
    let page = try Self.report(bench)
    #expect(page.ranges(of: "good\">published<").count == 4)
    #expect(try Self.pictures(page) == ["clips/00.mp4", "clips/03.mp4"])
  }

  @Test(
    "When too many files have used up their deadlines, a report gets no more pictures", arguments: [15, 16])
  func late(count: Int) async throws {
    let bench = try Self.told(Array(repeating: "fail timeout", count: count) + ["video"])
    let run = try await bench.reel("ingest", "clips", "--report", "html=run.html", environment: Self.worker)
    #expect(run.status == 3, "\(run.errors)")
    #expect(try Self.pictures(try Self.report(bench)) == (count < 16 ? ["clips/15.mp4"] : []))
  }

  /// A reader that takes ten seconds of processor time is ended.
  @Test(
    "A signal ends the making of pictures, and the report is written without the rest", .ownThread,
    .enabled(if: !TestForm.isSanitized, "a worker takes as much processor time to start"))
  func interrupted() async throws {
    let bench = try Self.told(["video", "video", "video hang", "video"])
    let running = try ReelBinary.start(
      ["ingest", "clips", "--jobs", "1", "--report", "html=run.html", "--library", bench.library.path],
      in: bench.folder, environment: Self.worker)
    // By now the hanging worker has been running for a while.
    try await running.until { try Self.processorTicks(beneath: running.process.processIdentifier) >= 50 }
    running.send(SIGINT)
    let outcome = try await running.outcome()
    #expect(outcome.status == 0 && !outcome.wasKilled && outcome.output.contains("published 4 videos"))
    let page = try Self.report(bench)
    #expect(page.ranges(of: "good\">published<").count == 4)
    // One picture may still be on its way while the next file is read.
    #expect([["clips/00.mp4"], ["clips/00.mp4", "clips/01.mp4"]].contains(try Self.pictures(page)))
  }

  /// Returns the largest processor time that a descendant of `process` has used.
  private static func processorTicks(beneath process: Int32) throws -> Int {
    var parents: [Int32: Int32] = [:]
    var ticks: [Int32: Int] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
      // A process that has ended meanwhile has no such file.
      guard let number = Int32(name),
        let stat = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
        let facts = stat.split(separator: ")").last?.split(separator: " "), facts.count > 12
      else { continue }
      parents[number] = Int32(facts[1])
      ticks[number] = (Int(facts[11]) ?? 0) + (Int(facts[12]) ?? 0)
    }
    func isBeneath(_ number: Int32) -> Bool {
      guard let parent = parents[number] else { return false }
      return parent == process || isBeneath(parent)
    }
    return ticks.filter { isBeneath($0.key) }.values.max() ?? 0
  }
}
