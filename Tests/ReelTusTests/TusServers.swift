import Foundation
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelTestServers
import Testing
import ReelTestSupport

@testable import ReelRemoteStorage

/// A Python server on 127.0.0.1, which ends with this value.
final class PythonServer: Sendable {
  let port: Int
  private let process: Process
  private let input: Pipe

  /// Starts `script` of Tests/TusServers and waits for its "ready PORT".
  static func start(_ script: String, _ arguments: [String] = [], python: String) async throws
    -> PythonServer
  {
    let output = FileManager.default.temporaryDirectory.appending(path: "reel-tus-\(UUID().uuidString)")
    try Data().write(to: output)
    defer { try? FileManager.default.removeItem(at: output) }
    let process = Process()
    process.executableURL = URL(filePath: python)
    process.arguments = [Project.root.appending(path: "Tests/TusServers/\(script)").path] + arguments
    process.standardOutput = try FileHandle(forWritingTo: output)
    let input = try Spawning.start(process)
    while process.isRunning {
      let said = try String(contentsOf: output, encoding: .utf8)
      if said.hasSuffix("\n"),
        let port = said.split(whereSeparator: \.isWhitespace).last.flatMap({ Int($0) })
      {
        return PythonServer(port, process, input)
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw Unready(script: script)
  }

  private struct Unready: Error { let script: String }

  private init(_ port: Int, _ process: Process, _ input: Pipe) {
    (self.port, self.process, self.input) = (port, process, input)
  }

  deinit {
    // The server exits at the end of its input.
    try? input.fileHandleForWriting.close()
    process.terminate()
  }
}

enum Project {
  static var root: URL {
    Checkout.root
  }

  /// The interpreter with tuspyserver, as installed by `scripts/lib/tus-server install .build/servers/tus`, which
  /// scripts/test runs.
  static let tuspyserver: String? = {
    let environment = root.appending(path: ".build/servers/tus").path
    return FileManager.default.fileExists(atPath: environment + "/installed")
      ? environment + "/bin/python" : nil
  }()
}

/// The fake server and what it has seen.
struct FakeTus {
  let server: PythonServer
  let transport: CurlTransport

  static let everything = "creation,creation-with-upload,termination,checksum,expiration,concatenation"

  static func start(_ extensions: String = everything, _ arguments: [String] = []) async throws -> FakeTus {
    let server = try await PythonServer.start(
      "fake.py", ["--extensions", extensions] + arguments, python: try #require(PythonProgram.path))
    return FakeTus(server: server, transport: try CurlTransport.patient())
  }

  var endpoint: String { "tus+http://127.0.0.1:\(server.port)/files/" }

  func uploader(
    _ checkpoints: any UploadCheckpoints, token: Secret? = nil, publicBaseURL: String? = nil,
    partSize: Int = 1 << 20
  ) throws -> TusUploader {
    TusUploader(
      try #require(TusEndpoint(endpoint)), transport: transport, token: token, checkpoints: checkpoints,
      addresses: TusAddresses(publicBaseURL: publicBaseURL), partSize: partSize)
  }

  struct Fault: Encodable {
    var method = "PATCH"
    var nth = 1
    var `do`: String
    var after: Int?
    var status: Int?
  }

  struct Seen: Decodable {
    struct Upload: Decodable {
      let id: String
      let length: Int
      let offset: Int
      let metadata: [String: String]
      let concat: String
      let sha256: String
    }
    let received: Int
    let uploads: [Upload]

    var whole: [Upload] { uploads.filter { $0.length == $0.offset } }
  }

  func seen() async throws -> Seen { try await ask(.get, "/stats") }

  func break_(_ faults: [Fault]) async throws {
    let _: Seen = try await ask(.post, "/faults", Array(try JSONEncoder().encode(faults)))
  }

  func expire(all: Bool = false) async throws {
    let _: Seen = try await ask(.post, "/expire", Array("{\"all\":\(all)}".utf8))
  }

  private func ask<Value: Decodable>(
    _ method: HTTPRequest.Method, _ target: String, _ body: [UInt8] = []
  ) async throws -> Value {
    let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: server.port)
    let call = HTTPCall(method, origin, target, body: body.isEmpty ? .none : .bytes(body))
    return try JSONDecoder().decode(Value.self, from: Data(try await transport.send(call).body))
  }
}
