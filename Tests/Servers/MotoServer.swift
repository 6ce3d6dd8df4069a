import Foundation
import Testing
import ReelTestSupport

/// moto (PyPI), an S3 store whose replies are its own, on a port of 127.0.0.1. It keeps everything in memory, ends with
/// the tests, and accepts every key and every signature.
package final class MotoServer: Sendable {
  /// Such as `http://127.0.0.1:20000`.
  package var endpoint: String { "http://127.0.0.1:\(port)" }
  /// The port on 127.0.0.1.
  package var port: Int { server.port }
  /// Any key would do.
  package static let key = (id: "AKIAMOTO", secret: "moto-secret")

  private let server: ServerProcess

  private static let root = Checkout.root

  /// Where `scripts/test` installs it.
  private static let python = root.appending(path: ".build/servers/moto/bin/python")

  /// Whether it can be started here.
  package static var isInstalled: Bool {
    FileManager.default.fileExists(atPath: root.appending(path: ".build/servers/moto/installed").path)
  }

  /// The reason for skipping tests without it.
  package static let absence: Comment =
    "SKIPPED: moto is not installed (scripts/lib/moto-server install .build/servers/moto)"

  /// Starts one, and returns when it answers.
  package static func start() async throws -> MotoServer {
    let script = root.appending(path: "Tests/S3Servers/moto_server.py").path
    return MotoServer(try await ServerProcess.start(python, [script]))
  }

  private init(_ server: ServerProcess) {
    self.server = server
  }

  /// Ends it, and waits until it is gone.
  package func stop() async { await server.stop() }
}

/// Runs a suite beside one moto, which its tests share; each uses a bucket of its own.
package struct BesideMoto: SuiteTrait, TestScoping {
  @TaskLocal private static var running: MotoServer?

  package let isRecursive = false

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    let server = try await MotoServer.start()
    let result: Result<Void, any Error>
    do {
      result = .success(try await Self.$running.withValue(server) { try await body() })
    } catch {
      result = .failure(error)
    }
    await server.stop()
    try result.get()
  }

  /// The suite's server.
  package static func server() throws -> MotoServer { try #require(running) }
}

extension Trait where Self == BesideMoto {
  /// One moto for the suite.
  package static var besideMoto: BesideMoto { BesideMoto() }
}
