import Foundation

/// The `ffmpeg` program, which some tests let make their files.
enum FFmpegTool {
  /// Nil where it is not installed.
  static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "")
    .split(separator: ":").map { $0 + "/ffmpeg" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// What the program writes into a file named `name`, given the arguments that stand before it.
  static func make(_ name: String, _ arguments: [String]) throws -> OpenFile? {
    guard let path else { return nil }
    let folder = NSTemporaryDirectory() + "/reel-probe-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = ["-v", "error", "-nostdin", "-y"] + arguments + [folder + "/" + name]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
    return OpenFile(folder + "/" + name)
  }

  /// Two seconds of a test picture, 64x48 at 25 frames a second.
  static let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=2"]
  /// Two seconds of a tone.
  static let tone = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=2"]
}
