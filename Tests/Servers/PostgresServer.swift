import Foundation
import Testing
import ReelTestSupport

/// PostgreSQL as packaged by Debian, on a port of 127.0.0.1 and in a folder of its own; it ends with the tests. All
/// tests of a process share one, which takes a second to start; each uses a database of its own.
package final class PostgresServer: Sendable {
  /// The port on 127.0.0.1.
  package var port: Int { server.port }

  private let server: ServerProcess

  private static let root = Checkout.root
  private static let script = root.appending(path: "scripts/lib/postgres-server")

  /// Whether it can be started here.
  package static let isInstalled: Bool = {
    let process = Process()
    process.executableURL = script
    process.arguments = ["programs"]
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    guard (try? Spawning.alone({ try process.run() })) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  /// The reason for skipping tests without it.
  package static let absence: Comment = "PostgreSQL's server is not installed (Debian: postgresql)"

  /// Whether PgBouncer can be started here.
  package static let hasBouncer = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].contains {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// The reason for skipping tests without it.
  package static let bouncerAbsence: Comment = "PgBouncer is not installed (Debian: pgbouncer)"

  /// The server that tests share. It ends with the process.
  package static func shared() async throws -> PostgresServer { try await running.value }

  private static let running = Task { try await PostgresServer.start() }

  /// Starts a server of the test's own, for example one to be killed.
  package static func start() async throws -> PostgresServer {
    PostgresServer(try await ServerProcess.start(script, ["run"]))
  }

  private init(_ server: ServerProcess) { self.server = server }

  /// Ends it as a crash would.
  package func kill() async throws { try await control("kill") }

  /// Starts it again after ``kill()``, on the same port.
  package func startAgain() async throws { try await control("start") }

  /// Stops all of its processes, which then answer nothing until ``wake()``.
  package func stall() async throws { try await control("stall") }

  package func wake() async throws { try await control("wake") }

  /// Starts a standby, which replicates this server and can be read.
  package func startStandby() async throws -> PostgresServer {
    PostgresServer(try await ServerProcess.start(Self.script, ["standby", String(port)]))
  }

  /// Promotes a standby to a server of its own.
  package func promote() async throws { try await control("promote") }

  /// Ends it, and waits until it is gone.
  package func stop() async { await server.stop() }

  private func control(_ command: String) async throws {
    let process = Process()
    process.executableURL = Self.script
    process.arguments = [command, try #require(server.words.first)]
    try Spawning.alone { try process.run() }
    while process.isRunning { try await Task.sleep(for: .milliseconds(5)) }
    guard process.terminationStatus == 0 else {
      throw ServerError(description: "\(Self.script.path) \(command) failed")
    }
  }

  /// Starts PgBouncer in its transaction mode before this server, with fewer connections than tests want.
  package func startBouncer() async throws -> PostgresBouncer {
    PostgresBouncer(try await ServerProcess.start(Self.script, ["bouncer", String(port)]))
  }
}

/// PgBouncer before a server.
package final class PostgresBouncer: Sendable {
  /// The port on 127.0.0.1.
  package var port: Int { server.port }

  private let server: ServerProcess

  fileprivate init(_ server: ServerProcess) { self.server = server }

  /// Ends it, and waits until it is gone.
  package func stop() async { await server.stop() }
}
