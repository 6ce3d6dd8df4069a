import Foundation
import ReelFakeGoogle
import ReelTestSupport
import Testing

/// Uploads hold one part each in memory, whatever the size of the file. (`scripts/bench upload` measures S3 and tus,
/// over real servers.)
@Suite("Memory of uploads", .shortTime)
struct UploadMemoryTests {
  private static let size: UInt64 = 1 << 30
  private static let goal = 150_000_000

  // Only in the long form: a gigabyte in transit leaves little for the fakes of other tests in this process.
  @Test(
    "four concurrent uploads of large files to Firebase stay under 150 MB",
    .enabled(if: TestForm.isLong, "a part of the long form (REEL_LONG=1)"))
  func firebase() async throws {
    let (bench, fake) = (try Workbench(), try await FakeGoogle.start(keepsBytes: false))
    try bench.addDistinct(4)
    for clip in try FileManager.default.contentsOfDirectory(
      at: bench.clips, includingPropertiesForKeys: nil)
    {
      try Self.lengthen(clip)
    }
    let run = try ReelBinary.start(
      [
        "ingest", "clips", "--to", "firebase://\(FakeGoogle.bucket)/videos", "--jobs", "4", "--uploads",
        "4",
        "--library", bench.library.path,
      ],
      in: bench.folder,
      environment: [
        "STORAGE_EMULATOR_HOST": "127.0.0.1:\(fake.port)",
        "FIRESTORE_EMULATOR_HOST": "http://127.0.0.1:\(fake.port)",
        "GOOGLE_CLOUD_PROJECT": FakeGoogle.project,
      ])
    var (peak, all) = (0, 0)
    while run.process.isRunning {
      let status = try? String(
        contentsOfFile: "/proc/\(run.process.processIdentifier)/status", encoding: .utf8)
      peak = max(peak, Self.bytes("RssAnon", status) ?? 0)
      all = max(all, Self.bytes("VmHWM", status) ?? 0)
      try await Task.sleep(for: .milliseconds(10))
    }
    let outcome = try await run.outcome()
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(fake.objectNames.count == 4)
    print(
      "4 uploads of \(Self.size >> 20) MiB at once to Firebase: \(peak >> 10) KiB of its own, \(all >> 10) KiB with "
        + "the program's pages")
    #expect(peak > 0 && peak < Self.goal)
  }

  /// Appends a `free` box to the video (ISO/IEC 14496-12, 8.1.2), with a hole in the file for its bytes.
  private static func lengthen(_ clip: URL) throws {
    let file = try FileHandle(forWritingTo: clip)
    defer { try? file.close() }
    let end = try file.seekToEnd()
    let size = UInt32(size).bigEndian
    try file.write(contentsOf: withUnsafeBytes(of: size) { Data($0) } + Data("free".utf8))
    try file.truncate(atOffset: end + UInt64(Self.size))
  }

  /// Returns the value of a line of proc_pid_status(5) in bytes. `RssAnon` is the present memory without the pages of
  /// files (some fifty megabytes in a debug build), and `VmHWM` the peak including them.
  private static func bytes(_ name: String, _ status: String?) -> Int? {
    let line = status?.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
  }
}
