#if HTTP
  import Foundation
  import Testing

  /// The first python3 that is there.
  private enum Python {
    static let path: String? = ["/usr/bin/python3", "/usr/local/bin/python3"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// `kill -9` in the middle of an upload to a tus server, and the same command again.
  @Suite(.enabled(if: Python.path != nil, "SKIPPED: there is no python3"))
  struct TusKillTests {
    /// Bytes of a part, as docs/tus.md says.
    private static let part = 4 << 20

    @Test func aCrashCostsOnePart() async throws {
      let bench = try Workbench()
      let size = try makeLarge(bench, bytes: 40 << 20)
      let server = try await Server.start()
      let arguments = ["ingest", "clips", "--to", "tus+http://127.0.0.1:\(server.port)/files", "--json"]
      let first = try ReelBinary.start(
        arguments + ["--limit-rate", "20MB/s", "--library", bench.library.path], in: bench.folder)
      while try await server.seen().received < 15 << 20 { try await Task.sleep(for: .milliseconds(20)) }
      first.send(SIGKILL)
      #expect(try await first.outcome().wasKilled)

      let second = try await ReelBinary.run(arguments + ["--library", bench.library.path], in: bench.folder)
      #expect(second.status == 0, "\(second.errors)")
      let summary = try #require(try second.object()["summary"] as? [String: Any])
      #expect(summary["published"] as? Int == 1)
      let seen = try await server.seen()
      #expect(seen.uploads.count == 1 && seen.uploads.first?.offset == size)
      #expect(seen.received <= size + Self.part, "\(seen.received) bytes went out for \(size)")

      let verified = try await bench.reel("verify", "--read", "--json")
      #expect(verified.status == 0, "\(verified.errors)")
      #expect(try verified.object()["digestsCompared"] as? Int == 1)
      // Nothing that could be read by others names the upload but the address that viewers are given.
      let id = try #require(seen.uploads.first?.id)
      #expect(!second.errors.contains(id) && !verified.output.contains(id) && !verified.errors.contains(id))
    }

    /// A video with a tail that every reader skips. Gives its size.
    private func makeLarge(_ bench: Workbench, bytes: Int) throws -> Int {
      var data = try Data(contentsOf: Workbench.sample("clips/faststart.mp4"))
      withUnsafeBytes(of: UInt32(bytes).bigEndian) { data.append(contentsOf: $0) }
      data += Data("free".utf8)
      data += Data((0..<bytes - 8).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 11) })
      try data.write(to: bench.clips.appendingPathComponent("large.mp4"))
      return data.count
    }

    /// Tests/TusServers/double.py; it ends with this value.
    private final class Server {
      struct Seen: Decodable {
        struct Upload: Decodable {
          let id: String
          let offset: Int
        }
        let received: Int
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
        let input = Pipe()
        process.executableURL = URL(fileURLWithPath: Python.path ?? "")
        process.arguments = [ReelBinary.project.appendingPathComponent("Tests/TusServers/double.py").path]
        process.standardInput = input
        process.standardOutput = try FileHandle(forWritingTo: output)
        try process.run()
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

      /// What went over the wire so far; asked by another program, as this one may have no HTTP.
      func seen() async throws -> Seen {
        let script = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
        let asked = try await ReelBinary.runProgram(
          Python.path ?? "", ["-c", script, "http://127.0.0.1:\(port)/stats"], in: folder.folder)
        return try JSONDecoder().decode(Seen.self, from: Data(asked.output.utf8))
      }
    }
  }
#endif
