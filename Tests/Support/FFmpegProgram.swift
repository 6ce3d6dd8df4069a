import Foundation

/// The `ffmpeg` program, which makes files for tests.
package enum FFmpegProgram {
  /// Nil where it is not installed.
  package static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "")
    .split(separator: ":").map { $0 + "/ffmpeg" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Whether it is installed, and has the encoders from other libraries that tests use.
  static let isComplete: Bool = {
    guard let printed = try? output(["-encoders"]) else { return false }
    let names = String(decoding: printed, as: UTF8.self).split { $0.isWhitespace }
    return Set([
      "libaom-av1", "libmp3lame", "libopus", "libsvtav1", "libtheora", "libvorbis", "libvpx", "libvpx-vp9",
      "libx264", "libx265",
    ]).isSubset(of: names)
  }()

  package struct Failure: Error {
    package let arguments: [String]
    /// Nil where ffmpeg is not installed.
    package let status: Int32?
    package var isCrash = false
  }

  /// Runs ffmpeg, and returns what it writes to standard output.
  /// - Throws: ``Failure`` where it is not installed, or ends with an error.
  @discardableResult
  package static func output(_ arguments: [String]) throws -> [UInt8] {
    guard let path else { throw Failure(arguments: arguments, status: nil) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = ["-v", "error", "-nostdin", "-y"] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(
        arguments: arguments, status: process.terminationStatus,
        isCrash: process.terminationReason == .uncaughtSignal)
    }
    return Array(bytes)
  }

  /// Has ffmpeg write a file named `name`, with these arguments before it, and returns what `body` makes of its path.
  package static func make<Value>(
    _ name: String, _ arguments: [String], _ body: (String) throws -> Value
  ) throws -> Value {
    let folder = try TemporaryFolder()
    try output(arguments + [folder.path(of: name)])
    return try body(folder.path(of: name))
  }
}
