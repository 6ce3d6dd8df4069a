#if HTTP
  import NIOCore
  import NIOPosix
  import Synchronization

  /// Stands between a client and a server on 127.0.0.1, counts what the client sends, and stops passing it on when a
  /// test wants that.
  package final class CountingProxy: Sendable {
    private let channel: any Channel
    private let meter: Meter

    /// Where the client is to connect.
    package var port: Int { channel.localAddress?.port ?? 0 }
    /// Bytes from the client, heads and all, on every connection so far.
    package var sent: Int { meter.state.withLock { $0.sent } }

    /// Passes on no more than `limit` bytes in all; nil for no limit. A connection of which something was held back
    /// passes on nothing more, also without a limit: a server never sees bytes that come after bytes it did not get.
    package func stall(after limit: Int?) { meter.state.withLock { $0.limit = limit } }

    /// - Parameter target: the server's port.
    package static func start(to target: Int) async throws -> CountingProxy {
      let meter = Meter()
      let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { client in
          ClientBootstrap(group: client.eventLoop).connect(host: "127.0.0.1", port: target).flatMap {
            server in
            client.eventLoop.makeCompletedFuture {
              try client.pipeline.syncOperations.addHandler(PassingHandler(to: server, meter))
              try server.pipeline.syncOperations.addHandler(PassingHandler(to: client, nil))
            }
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      return CountingProxy(channel, meter)
    }

    private init(_ channel: any Channel, _ meter: Meter) { (self.channel, self.meter) = (channel, meter) }

    package func stop() async { try? await channel.close() }
  }

  package final class Meter: Sendable {
    fileprivate struct State: Sendable {
      var sent = 0
      var limit: Int?
    }
    fileprivate let state = Mutex(State())

    package init(limit: Int? = nil) { state.withLock { $0.limit = limit } }

    /// Whether these bytes may go on.
    fileprivate func count(_ bytes: Int) -> Bool {
      state.withLock { state in
        if let limit = state.limit, state.sent + bytes > limit { return false }
        state.sent += bytes
        return true
      }
    }
  }

  /// Passes on what it reads, and reads on when that was written. Both channels share a loop.
  package final class PassingHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let meter: Meter?
    private var holdsBack = false

    package init(to other: any Channel, _ meter: Meter?) { (self.other, self.meter) = (other, meter) }

    /// The client's channel reads only when it is told to, and can be told only now.
    package func channelActive(context: ChannelHandlerContext) {
      context.read()
      context.fireChannelActive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = unwrapInboundIn(data)
      // One read hands over several times: a small rest would pass where what came before it did not.
      guard !holdsBack, meter?.count(bytes.readableBytes) ?? true else {
        holdsBack = true
        return
      }
      let reading = context.channel
      other.writeAndFlush(bytes).whenSuccess { reading.read() }
    }

    package func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
#endif
