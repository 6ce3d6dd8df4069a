import Foundation
import Testing
import ReelTestSupport

/// moto (PyPI), an S3 store whose replies are its own, on a port of 127.0.0.1. It keeps everything in memory, ends with
/// the tests, and accepts every key and every signature.
package final class MotoServer: RealServer {
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
    "moto is not installed (scripts/lib/moto-server install .build/servers/moto)"

  package static func start() async throws -> MotoServer {
    let script = root.appending(path: "Tests/S3Servers/moto_server.py").path
    return MotoServer(try await ServerProcess.start(python, [script]))
  }

  private init(_ server: ServerProcess) {
    self.server = server
  }

  package func stop() async { await server.stop() }
}
