import Testing

/// A real server, which ends with the tests.
package protocol RealServer: Sendable {
  /// Starts one, and returns when it answers.
  static func start() async throws -> Self
  /// Ends it, and waits until it is gone.
  func stop() async
}

/// Runs a suite beside one server, which its tests share; each uses a bucket of its own.
package struct Beside<Server: RealServer>: SuiteTrait, TestScoping {
  package let isRecursive = false

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    let server = try await Server.start()
    let result: Result<Void, any Error>
    do {
      result = .success(try await Running.$server.withValue(server) { try await body() })
    } catch {
      result = .failure(error)
    }
    await server.stop()
    try result.get()
  }

  /// The suite's server.
  package static func server() throws -> Server { try #require(Running.server as? Server) }
}

private enum Running {
  @TaskLocal static var server: (any RealServer)?
}

package typealias BesideMoto = Beside<MotoServer>
package typealias BesideSwiftS3 = Beside<SwiftS3Server>

extension Trait where Self == BesideMoto {
  /// One moto for the suite.
  package static var besideMoto: BesideMoto { BesideMoto() }
}

extension Trait where Self == BesideSwiftS3 {
  /// One server for the suite.
  package static var besideSwiftS3: BesideSwiftS3 { BesideSwiftS3() }
}
