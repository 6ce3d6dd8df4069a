import Foundation
import ReelTestSupport
import Testing

/// Sites in a real browser, where there is one: `apt-get install chromium`. Accessibility is checked, too, where
/// `REEL_AXE` names the axe.min.js of axe-core.
@Suite("A page in a browser", .shortTime)
struct PageTests {
  private static let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  private static let hostile = [
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\u{2028}\"'`\\\u{2029}",
    "\u{202E}gnp.exe\u{202C}", "{{title}} ${alert(3)}", String(repeating: "long ", count: 1000),
  ]

  @Test(
    "plays, scrolls, types and jumps, asks nobody else for anything, and runs no text",
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
    #expect(try await bench.reel("ingest", "clips", "--trust-sidecars").status == 0)
    let page = try await bench.reel(
      "page", "site", "--size", "7", "--media", "copy", "--title", "</title><script>alert(4)</script>\"")
    #expect(page.status == 0, "\(page.errors)")
    let look = try await ReelBinary.runProgram(
      "/usr/bin/python3", [ReelBinary.project.path + "/Tests/Browser/page.py", "site", "--way", way],
      in: bench.folder,
      environment: ProcessInfo.processInfo.environment.filter { $0.key == "REEL_AXE" || $0.key == "TMPDIR" })
    #expect(look.status == 0, "\(look.output) \(look.errors)")
  }

  @Test("is written again only where something is new, and tells so")
  func again() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(5)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let first = try await bench.reel("page", "site", "--json")
    #expect(try first.object()["posts"] as? Int == 5)
    #expect(try first.object()["isLocal"] as? Bool == true)
    let again = try await bench.reel("page", "site")
    #expect(again.output.hasPrefix("nothing new: "), "\(again.output)")
    let inside = try await bench.reel("page", "library/site")
    #expect(inside.status == 64 && inside.errors.contains("inside the library"), "\(inside.errors)")
    let other = try await ReelBinary.run(["page", "site", "--library", "nothing"], in: bench.folder)
    #expect(other.status == 1 && other.errors.contains("--library"), "\(other.errors)")
  }

  @Test("of a run, and of what was validated, is one file that says why")
  func reports() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    try bench.add("broken/archive.mp4")
    let run = try await bench.reel("ingest", "clips", "--report", "html=run.html")
    #expect(run.status == 3)
    let page = try String(contentsOf: bench.folder.appendingPathComponent("run.html"), encoding: .utf8)
    #expect(page.contains("href=\"clips/archive.mp4\"") && page.contains("ZIP archive"))
    #expect(page.contains("href=\"clips/faststart.mp4\"") && page.contains(">published<"))
    let validated = try await ReelBinary.run(["validate", "clips", "--report", "html"], in: bench.folder)
    #expect(validated.status == 4 && validated.output.hasPrefix("<!doctype html>"))
    #expect(validated.output.contains("container.disguised"))
    #expect(try await bench.reel("ingest", "clips", "--report", "json=x").status == 64)
  }
}
