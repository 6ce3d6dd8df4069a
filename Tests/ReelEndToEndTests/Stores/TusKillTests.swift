import Foundation
import ReelTestServers
import ReelTestSupport
import Testing

/// `kill -9` in the middle of an upload to a tus server, and then the same command again.
@Suite(.needsPython)
struct TusKillTests {
  /// The number of bytes in a part, as stated in docs/tus.md.
  private static let part = 8 << 20

  /// A server that is silent for a minute is given up.
  @Test(.ownThread) func aCrashCostsOnePart() async throws {
    let bench = try Workbench()
    try bench.addLarge(40 << 20)
    let size = try Data(contentsOf: bench.clips.appendingPathComponent("large.mp4")).count
    let server = try await Server.start()
    // The duration of a request can't be predicted, so the server itself stops in the middle and waits for the kill.
    try await server.hang(part: 4)
    let arguments = [
      "ingest", "clips", "--to", "tus+http://127.0.0.1:\(server.port)/files", "--json", "--library",
      bench.library.path,
    ]
    let first = try ReelBinary.start(arguments, in: bench.folder)
    while first.process.isRunning, try await server.seen().hanging == 0 {
      try await rest(milliseconds: 20)
    }
    first.send(SIGKILL)
    #expect(try await first.outcome().wasKilled)

    let second = try await ReelBinary.run(arguments, in: bench.folder)
    #expect(second.status == 0, "\(second.errors)")
    let summary = try #require(try second.object()["summary"] as? [String: Any])
    #expect(summary["published"] as? Int == 1)
    let seen = try await server.seen()
    #expect(seen.uploads.count == 1 && seen.uploads.first?.offset == size)
    #expect(seen.received <= size + Self.part, "\(seen.received) bytes went out for \(size)")

    let verified = try await bench.reel("verify", "--read", "--json")
    #expect(verified.status == 0, "\(verified.errors)")
    #expect(try verified.object()["digestsCompared"] as? Int == 1)
    // Only the address that viewers are given reveals the upload's id.
    let id = try #require(seen.uploads.first?.id)
    #expect(!second.errors.contains(id) && !verified.output.contains(id) && !verified.errors.contains(id))
  }

  /// Runs Tests/TusServers/fake.py, which ends when this object is released.
  private final class Server {
    struct Seen: Decodable {
      struct Upload: Decodable {
        let id: String
        let offset: Int
      }
      let received: Int
      let hanging: Int
      let uploads: [Upload]
    }
    let port: Int
    private let process: Process
    private let input: Pipe
    private let folder: Workbench

    static func start() async throws -> Server {
      let folder = try Workbench()
      let output = folder.folder.appendingPathComponent("said")
      try Data().write(to: output)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: PythonProgram.path ?? "")
      process.arguments = [ReelBinary.project.appendingPathComponent("Tests/TusServers/fake.py").path]
      process.standardOutput = try FileHandle(forWritingTo: output)
      let input = try Spawning.start(process)
      while true {
        let said = try String(contentsOf: output, encoding: .utf8)
        if said.hasSuffix("\n"),
          let port = said.split(whereSeparator: \.isWhitespace).last.flatMap({ Int($0) })
        {
          return Server(port, process, input, folder)
        }
        try #require(process.isRunning)
        try await Task.sleep(for: .milliseconds(10))
      }
    }

    private init(_ port: Int, _ process: Process, _ input: Pipe, _ folder: Workbench) {
      (self.port, self.process, self.input, self.folder) = (port, process, input, folder)
    }

    deinit {
      try? input.fileHandleForWriting.close()
      process.terminate()
    }

    /// Returns what the server has received so far.
    func seen() async throws -> Seen {
      try JSONDecoder().decode(Seen.self, from: Data(try await ask("stats").utf8))
    }

    /// Makes the server receive the next `part`th part without answering, until the client is gone.
    func hang(part: Int) async throws {
      _ = try await ask("faults", #"[{"method": "PATCH", "nth": \#(part), "do": "hang"}]"#)
    }

    /// Sends the request with another program, as this one may lack HTTP.
    private func ask(_ path: String, _ body: String? = nil) async throws -> String {
      let script = """
        import sys, urllib.request
        body = sys.argv[2].encode() if len(sys.argv) > 2 else None
        print(urllib.request.urlopen(sys.argv[1], body).read().decode())
        """
      let asked = try await ReelBinary.runProgram(
        PythonProgram.path ?? "",
        ["-c", script, "http://127.0.0.1:\(port)/\(path)"] + (body.map { [$0] } ?? []),
        in: folder.folder)
      try #require(asked.status == 0, "\(asked.errors)")
      return asked.output
    }
  }
}
