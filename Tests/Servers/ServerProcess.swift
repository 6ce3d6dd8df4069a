import Foundation

/// A server that prints `ready PORT`, and maybe more words, when it answers. It ends when its standard input does: with
/// this value, or with the process of the tests, however that ends.
final class ServerProcess: Sendable {
  /// The port on 127.0.0.1.
  let port: Int
  /// The words after the port.
  let words: [String]

  private let process: Process
  private let input: Pipe

  /// Starts `program`, and returns when it answers.
  static func start(_ program: URL, _ arguments: [String]) async throws -> ServerProcess {
    let process = Process()
    process.executableURL = program
    let output = FileManager.default.temporaryDirectory.appending(path: "reel-server-\(UUID().uuidString)")
    try Data().write(to: output)
    defer { try? FileManager.default.removeItem(at: output) }
    process.arguments = arguments
    process.standardOutput = try FileHandle(forWritingTo: output)
    let input = try Spawning.start(process)
    while process.isRunning {
      let said = String(decoding: try Data(contentsOf: output), as: UTF8.self)
      let words = said.split { $0 == " " || $0 == "\n" }.map(String.init)
      if words.first == "ready", said.hasSuffix("\n"), words.count > 1, let port = Int(words[1]) {
        return ServerProcess(port: port, Array(words.dropFirst(2)), process, input)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw ServerError(description: "\(([program.path] + arguments).joined(separator: " ")) did not start")
  }

  private init(port: Int, _ words: [String], _ process: Process, _ input: Pipe) {
    (self.port, self.words, self.process, self.input) = (port, words, process, input)
  }

  deinit { try? input.fileHandleForWriting.close() }

  /// Ends it, and waits until it is gone.
  func stop() async {
    try? input.fileHandleForWriting.close()
    while process.isRunning { try? await Task.sleep(for: .milliseconds(20)) }
  }
}

/// A server that does not start.
struct ServerError: Error, CustomStringConvertible {
  let description: String
}
