import Foundation
import ReelTestSupport
import Testing

/// Mended files in a real browser, if one is installed: `apt-get install chromium`.
@Suite("Mended files in a browser", .shortTime)
struct MendedInBrowserTests {
  @Test(
    "open as before, and a browser's recording becomes seekable",
    .enabled(if: PageTests.chromium != nil && !TestForm.isSanitized, "chromium is not installed"))
  func open() async throws {
    let bench = try Workbench()
    for name in ["moov-at-end.mp4", "fragmented.mp4", "recorded-in-a-browser.webm", "phone-located.mov"] {
      try bench.add("clips/" + name)
    }
    let look = try await ReelBinary.runProgram(
      "/usr/bin/python3",
      [
        ReelBinary.project.path + "/Tests/Browser/mended.py", ReelBinary.url.path, "clips", "--faststart",
        "--unfragment", "--duration",
      ], in: bench.folder, environment: ProcessInfo.processInfo.environment.filter { $0.key == "TMPDIR" })
    #expect(look.status == 0, "\(look.output) \(look.errors)")
    #expect(look.output.contains("better clips/recorded-in-a-browser.webm"), "\(look.output)")
    #expect(look.output.contains("4 mended;"), "\(look.output)")
  }
}
