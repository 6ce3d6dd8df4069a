import Foundation

/// The `ffmpeg` program, which some tests let make their files.
enum FFmpegTool {
  /// Nil where it is not installed.
  static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "")
    .split(separator: ":").map { $0 + "/ffmpeg" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// The encoders that the tests ask for and this build of the program lacks: what they would make is left out.
  static let missingEncoders: [String] = {
    let wanted = [
      "aac", "ac3", "dnxhd", "dvvideo", "ffv1", "flv", "h263", "jpeg2000", "libaom-av1", "libopus",
      "libsvtav1",
      "libtheora", "libvorbis", "libvpx", "libvpx-vp9", "libx264", "libx265", "mjpeg", "mp2", "mpeg1video",
      "mpeg2video", "mpeg4", "msmpeg4", "pcm_s16le", "png", "prores_ks", "wmav2", "wmv1", "wmv2",
    ]
    let listed = Set(output(["-v", "error", "-encoders"]).split { $0.isWhitespace })
    return wanted.filter { !listed.contains(Substring($0)) }
  }()

  /// What the program prints; empty where it is not installed.
  private static func output(_ arguments: [String]) -> String {
    guard let path else { return "" }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    guard (try? process.run()) != nil else { return "" }
    let bytes = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
    process.waitUntilExit()
    return String(decoding: bytes, as: UTF8.self)
  }

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
