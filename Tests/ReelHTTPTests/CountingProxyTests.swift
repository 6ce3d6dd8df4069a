#if HTTP
  import NIOCore
  import NIOEmbedded
  import ReelHTTPDoubles
  import Testing

  @Suite("the proxy that holds back")
  struct CountingProxyTests {
    @Test("what comes after held back bytes is held back as well, however small")
    func holdsBack() throws {
      let (client, server) = (EmbeddedChannel(), EmbeddedChannel())
      try client.pipeline.syncOperations.addHandler(PassingHandler(to: server, Meter(limit: 100)))
      for count in [60, 50, 10] { try client.writeInbound(ByteBuffer(repeating: 0, count: count)) }
      #expect(try server.readOutbound(as: ByteBuffer.self)?.readableBytes == 60)
      #expect(try server.readOutbound(as: ByteBuffer.self) == nil)
    }
  }
#endif
