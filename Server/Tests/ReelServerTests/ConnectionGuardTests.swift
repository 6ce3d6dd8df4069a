import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import ReelServer

/// The handlers run on one thread, as an event loop requires.
@MainActor @Suite struct ConnectionGuardTests {
  private let channel = EmbeddedChannel()
  private static let head = HTTPRequest(method: .put, scheme: "http", authority: "localhost", path: "/videos")

  private func connect() throws {
    try channel.pipeline.syncOperations.addHandler(
      ConnectionGuard(
        headPatience: .seconds(60), nextPatience: .minutes(11), restPatience: .seconds(10),
        readerPatience: .seconds(30), endPatience: .seconds(240)))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
  }

  /// A request, and its answer.
  private func exchange() throws {
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    try channel.writeInbound(HTTPRequestPart.end(nil))
    try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
    try channel.writeOutbound(HTTPResponsePart.end(nil))
  }

  private func pass(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

  @Test func closesWhereNoRequestComes() throws {
    try connect()
    pass(59)
    #expect(channel.isActive)
    pass(1)
    #expect(!channel.isActive)
  }

  @Test func waitsForABodyAndForItsAnswer() throws {
    try connect()
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    pass(1_000)
    try channel.writeInbound(HTTPRequestPart.end(nil))
    pass(1_000)
    #expect(channel.isActive)
    try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
    try channel.writeOutbound(HTTPResponsePart.end(nil))
    // As long as a proxy keeps it.
    pass(659)
    #expect(channel.isActive)
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    pass(1_000)
    #expect(channel.isActive)
    try channel.writeInbound(HTTPRequestPart.end(nil))
    try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
    try channel.writeOutbound(HTTPResponsePart.end(nil))
    pass(660)
    #expect(!channel.isActive)
  }

  @Test func waitsNoLongerForTheRestOfAnotherHead() throws {
    try connect()
    try exchange()
    pass(600)
    // Bytes of which the decoder makes nothing yet. More of them gain no time.
    channel.pipeline.fireChannelReadComplete()
    pass(59)
    channel.pipeline.fireChannelReadComplete()
    #expect(channel.isActive)
    pass(1)
    #expect(!channel.isActive)
  }

  @Test func closesWhereNobodyReads() throws {
    try connect()
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    for isWritable in [false, true, false] {
      channel.isWritable = isWritable
      channel.pipeline.fireChannelWritabilityChanged()
      pass(29)
      #expect(channel.isActive)
    }
    pass(1)
    #expect(!channel.isActive)
  }

  /// The decoder would buffer everything that follows.
  @Test(arguments: [HTTPRequest.Method.get, .connect])
  func readsNoMoreOfAnotherProtocol(method: HTTPRequest.Method) throws {
    let reads = ReadCounter()
    try channel.pipeline.syncOperations.addHandler(reads)
    try connect()
    let before = reads.count
    channel.read()
    #expect(reads.count == before + 1)
    var head = Self.head
    head.method = method
    if method != .connect { head.headerFields[.upgrade] = "h2c" }
    try channel.writeInbound(HTTPRequestPart.head(head))
    guard case .head(let seen) = try channel.readInbound(as: HTTPRequestPart.self) else {
      Issue.record("no head")
      return
    }
    #expect(seen.headerFields[.connection] == "close")
    // The request's body may continue.
    channel.read()
    #expect(reads.count == before + 2)
    try channel.writeInbound(HTTPRequestPart.end(nil))
    channel.read()
    #expect(reads.count == before + 2)
    _ = try? channel.finish()
  }

  /// Hummingbird closes the connection only for this value.
  @Test(
    arguments: [
      ("Close, TE", "close"), ("close", "close"), ("keep-alive", "keep-alive"), ("closed", "closed"),
    ])
  func knowsWhoWantsToClose(said: String, heard: String) throws {
    try connect()
    var head = Self.head
    head.headerFields[.connection] = said
    try channel.writeInbound(HTTPRequestPart.head(head))
    guard case .head(let seen) = try channel.readInbound(as: HTTPRequestPart.self) else {
      Issue.record("no head")
      return
    }
    #expect(seen.headerFields[.connection] == heard)
    _ = try? channel.finish()
  }

  @Test func closesInTheEnd() throws {
    try connect()
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    for _ in 0..<2 {
      channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      pass(119)
      #expect(channel.isActive)
    }
    pass(2)
    #expect(!channel.isActive)
  }

  @Test func waitsNotLongForAClientToCloseWhatHasEnded() throws {
    try connect()
    try exchange()
    pass(300)
    channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.outputClosed)
    pass(9)
    #expect(channel.isActive)
    pass(1)
    #expect(!channel.isActive)
  }

  @Test func closesWhatGoesOnAfterItsAnswer() throws {
    try connect()
    try channel.writeInbound(HTTPRequestPart.head(Self.head))
    try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .contentTooLarge)))
    try channel.writeOutbound(HTTPResponsePart.end(nil))
    pass(9)
    try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "more")))
    #expect(channel.isActive)
    pass(1)
    #expect(!channel.isActive)
  }
}

@MainActor @Suite struct AddressGuardTests {
  private static let metrics = ServerMetrics()

  private static func counts(_ most: Int) -> ConnectionCounts {
    ConnectionCounts(most: most, metrics: metrics, logger: Logger(label: "test"))
  }

  private static func channel(_ counts: ConnectionCounts, _ address: String) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel()
    channel.localAddress = try SocketAddress(ipAddress: "192.0.2.1", port: 80)
    channel.remoteAddress = try SocketAddress(ipAddress: address, port: 1_024)
    try channel.connect(to: try SocketAddress(ipAddress: address, port: 1_024)).wait()
    try channel.pipeline.syncOperations.addHandler(AddressGuard(counts))
    channel.embeddedEventLoop.run()
    return channel
  }

  @Test func anAddressHasItsPartAndNoMore() throws {
    let counts = Self.counts(2)
    let first = try Self.channel(counts, "198.51.100.7")
    let second = try Self.channel(counts, "198.51.100.7")
    #expect(first.isActive && second.isActive)
    #expect(try !Self.channel(counts, "198.51.100.7").isActive)
    #expect(try Self.channel(counts, "198.51.100.8").isActive)
    // A connection that closes makes room.
    _ = try first.finish(acceptAlreadyClosed: true)
    #expect(try Self.channel(counts, "198.51.100.7").isActive)
    #expect(try !Self.channel(counts, "198.51.100.7").isActive)
  }

  @Test func aNetworkOfIPv6IsOneAddress() throws {
    let counts = Self.counts(1)
    #expect(try Self.channel(counts, "2001:db8:0:1::1").isActive)
    #expect(try !Self.channel(counts, "2001:db8:0:1:ffff::2").isActive)
    #expect(try Self.channel(counts, "2001:db8:0:2::1").isActive)
    #expect(try Self.channel(counts, "::ffff:198.51.100.7").isActive)
    #expect(try Self.channel(counts, "::ffff:198.51.100.8").isActive)
  }

  @Test(arguments: ["127.0.0.1", "::1", "::ffff:127.0.0.1", "192.0.2.1"])
  func aProxyOnThisMachineStandsForEverybody(address: String) throws {
    let counts = Self.counts(1)
    for _ in 0..<3 { #expect(try Self.channel(counts, address).isActive) }
    let unlimited = Self.counts(0)
    for _ in 0..<3 { #expect(try Self.channel(unlimited, "198.51.100.7").isActive) }
  }
}

private final class ReadCounter: ChannelOutboundHandler {
  typealias OutboundIn = Never
  private(set) var count = 0

  func read(context: ChannelHandlerContext) {
    count += 1
    context.read()
  }
}

@available(*, unavailable)
extension ReadCounter: Sendable {}
