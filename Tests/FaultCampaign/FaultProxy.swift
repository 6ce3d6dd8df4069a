#if HTTP
  import NIOCore
  import NIOPosix
  import Synchronization

  /// Stands between a client and a store on 127.0.0.1, passes HTTP/1.1 on unchanged, signatures and all, numbers the
  /// requests, and does to them what the plan says.
  package final class FaultProxy: Sendable {
    /// Where the client is to connect.
    package let port: Int
    private let script: FaultScript
    private let serving: Task<Void, Never>

    /// The shape of each request since the plan was made: its method and the names in its query.
    package var requests: [String] { script.state.withLock { $0.shapes } }
    /// Requests that the fault has struck.
    package var struck: Int { script.state.withLock { $0.struck } }

    /// Does `fault` from now on, nothing when it is nil, and numbers from 1 again.
    /// - Parameter spares: requests by their shape that it leaves alone.
    package func plan(_ fault: Fault?, sparing spares: @escaping @Sendable (String) -> Bool = { _ in false })
    {
      script.state.withLock { $0 = FaultScript.State(fault: fault, spares: spares) }
    }

    /// - Parameters:
    ///   - target: the store's port.
    ///   - elsewhere: the port of another server, to which redirects lead.
    package static func start(to target: Int, elsewhere: Int) async throws -> FaultProxy {
      let listening = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 256)
        .bind(host: "127.0.0.1", port: 0) { channel in
          channel.eventLoop.makeCompletedFuture {
            try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
          }
        }
      let script = FaultScript()
      let connection = ProxyConnection(target: target, elsewhere: elsewhere, script: script)
      let serving = Task<Void, Never> {
        // The end of the listening ends with an error: it was asked for.
        _ = try? await listening.executeThenClose { clients in
          await withDiscardingTaskGroup { group in
            do {
              for try await client in clients {
                script.connections.withLock { $0 += 1 }
                group.addTask {
                  await connection.serve(client)
                  script.connections.withLock { $0 -= 1 }
                }
              }
            } catch {}
            group.cancelAll()
          }
        }
      }
      return FaultProxy(port: listening.channel.localAddress?.port ?? 0, script, serving)
    }

    private init(port: Int, _ script: FaultScript, _ serving: Task<Void, Never>) {
      (self.port, self.script, self.serving) = (port, script, serving)
    }

    /// Waits until every connection has ended, and what was asked on it: for after a client that is gone.
    package func settle() async throws {
      while script.connections.withLock({ $0 }) > 0 { try await Task.sleep(for: .milliseconds(2)) }
    }

    /// Ends it and every connection through it.
    package func stop() async {
      serving.cancel()
      await serving.value
    }
  }

  /// The plan, and how far it has come.
  final class FaultScript: Sendable {
    struct State: Sendable {
      var fault: Fault?
      var spares: @Sendable (String) -> Bool = { _ in false }
      var shapes: [String] = []
      var struck = 0
    }
    let state = Mutex(State())
    /// Clients' connections that are open.
    let connections = Mutex(0)

    /// What is done to the request that comes next.
    func effect(on head: WireHead) -> FaultKind.Effect? {
      state.withLock { state in
        state.shapes.append(head.shape)
        guard let fault = state.fault, state.shapes.count >= fault.request, !state.spares(head.shape) else {
          return nil
        }
        let strikes =
          switch fault.reach {
          case .once: state.shapes.count == fault.request
          case .always: true
          case .alike: head.shape == state.shapes[fault.request - 1]
          }
        if strikes { state.struck += 1 }
        return strikes ? fault.kind.effect : nil
      }
    }
  }
#endif
