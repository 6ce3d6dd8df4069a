import Synchronization

/// Servers that scenarios borrow one after the other and give back.
final class ServerPool: Sendable {
  private let free = Mutex<[PythonServer]>([])
  private let start: @Sendable () async throws -> PythonServer

  init(_ start: @escaping @Sendable () async throws -> PythonServer) { self.start = start }

  func take() async throws -> PythonServer {
    if let server = free.withLock({ $0.popLast() }) { return server }
    return try await start()
  }

  func giveBack(_ server: PythonServer) { free.withLock { $0.append(server) } }
}
