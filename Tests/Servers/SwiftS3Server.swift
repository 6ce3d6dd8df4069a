import Foundation
import Testing
import ReelTestSupport

/// OpenStack Swift with its S3 protocol, a real server that checks signatures, hashes and checksums, on a port of
/// 127.0.0.1 and in a folder of its own; it ends with the tests.
package final class SwiftS3Server: RealServer {
  /// Such as `http://127.0.0.1:20000`.
  package var endpoint: String { "http://127.0.0.1:\(port)" }
  /// The port on 127.0.0.1.
  package var port: Int { server.port }
  /// A key that may do everything.
  package static let key = (id: "test:tester", secret: "testing")
  /// A key that may do nothing.
  package static let guest = (id: "test:guest", secret: "guessing")

  private let server: ServerProcess

  /// `$REEL_SWIFT_VENV`, else where `scripts/test` installs it.
  static let environment =
    ProcessInfo.processInfo.environment["REEL_SWIFT_VENV"]
    ?? root.appending(path: ".build/servers/swift").path

  /// Whether it can be started here.
  package static var isInstalled: Bool { FileManager.default.fileExists(atPath: environment + "/installed") }

  /// The reason for skipping tests without it.
  package static let absence: Comment =
    "the S3 server is not installed (scripts/lib/swift-s3 install .build/servers/swift)"

  private static let root = Checkout.root

  package static func start() async throws -> SwiftS3Server {
    let folder = FileManager.default.temporaryDirectory.appending(path: "reel-swift-\(UUID().uuidString)")
    let program = root.appending(path: "scripts/lib/swift-s3")
    return SwiftS3Server(try await ServerProcess.start(program, ["run", environment, folder.path]))
  }

  private init(_ server: ServerProcess) {
    self.server = server
  }

  package func stop() async { await server.stop() }
}
