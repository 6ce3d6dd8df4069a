#if HTTP
  import NIOCore
  import NIOPosix

  /// A server that closes each connection once the first bytes have come.
  final class HangingUpServer: Sendable {
    private let channel: any Channel

    var port: Int { channel.localAddress?.port ?? 0 }

    static func start() async throws -> HangingUpServer {
      HangingUpServer(
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandler(HangUp())
            }
          }
          .bind(host: "127.0.0.1", port: 0).get())
    }

    private init(_ channel: any Channel) { self.channel = channel }

    func stop() async { try? await channel.close() }

    private final class HangUp: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer

      func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
    }
  }
#endif
