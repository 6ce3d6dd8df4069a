import NIOCore
import NIOHTTPTypes

/// Closes connections that nobody needs: one on which no request comes, or comes too slowly; one whose request has been
/// answered but continues; one that this side has ended; one whose client does not read the answers; and one that is to
/// switch to another protocol.
/// When the server is being stopped, closes all of them some time later.
///
/// The body of a request is watched by its reader (``BodyReader``).
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// The most bytes that are read from a connection at once.
  private static let mostAtOnce = 256 << 10
  /// The same at the start of a large body: more than most heads have.
  private static let firstAtOnce = 128 << 10
  /// For the head of a request to arrive: from the connection's first moment, later from the head's first byte.
  private let headPatience: TimeAmount
  /// For another request to begin. Longer than a proxy keeps a connection, so that it is the proxy that closes it: a
  /// request that it sends just as the server does is lost.
  private let nextPatience: TimeAmount
  /// For the rest of a request that has been answered: its sender may read the answer only then. And for the client to
  /// close a connection that this side has ended.
  private let restPatience: TimeAmount
  /// For a client to read the answers that wait.
  private let readerPatience: TimeAmount
  /// For all connections that are open when the server is to stop.
  private let endPatience: TimeAmount
  private var timer: Scheduled<Void>?
  private var readerTimer: Scheduled<Void>?
  private var endTimer: Scheduled<Void>?
  private var isRequestOpen = false
  /// Whether this request is the connection's last one.
  private var isLast = false
  /// Whether this side has sent all that it will.
  private var hasEnded = false
  private var unanswered = 0
  /// Whether a request has been answered and nothing of another one has come since.
  private var isKept = false
  /// Whether the bytes that arrived last completed a part of a request.
  private var hasReadPart = false

  init(
    headPatience: TimeAmount, nextPatience: TimeAmount, restPatience: TimeAmount, readerPatience: TimeAmount,
    endPatience: TimeAmount
  ) {
    (self.headPatience, self.nextPatience, self.restPatience) = (headPatience, nextPatience, restPatience)
    (self.readerPatience, self.endPatience) = (readerPatience, endPatience)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    // Each piece of a body passes from thread to thread. Its buffer grows only while that much arrives at once, and one
    // is held at a time.
    try? context.channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    expect(2_048, context)
    watch(context)
  }

  private func expect(_ count: Int, _ context: ChannelHandlerContext) {
    try? context.channel.syncOptions?.setOption(
      .recvAllocator,
      value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: count, maximum: Self.mostAtOnce))
  }

  func handlerRemoved(context: ChannelHandlerContext) { cancel() }

  func channelInactive(context: ChannelHandlerContext) {
    cancel()
    context.fireChannelInactive()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    readerTimer?.cancel()
    readerTimer = context.channel.isWritable ? nil : close(context, in: readerPatience)
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent, endTimer == nil { endTimer = close(context, in: endPatience) }
    if case ChannelEvent.outputClosed? = event as? ChannelEvent {
      hasEnded = true
      watch(context)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    hasReadPart = true
    switch unwrapInboundIn(data) {
    case .head(var head):
      (isRequestOpen, unanswered) = (true, unanswered + 1)
      watch(context)
      if (head.headerFields[.contentLength].flatMap { Int($0) }) ?? 0 >= Self.firstAtOnce {
        expect(Self.firstAtOnce, context)
      }
      // The decoder takes what follows such a request for another protocol, and would buffer all of it.
      isLast = isLast || head.method == .connect || head.headerFields[.upgrade] != nil
      // Hummingbird closes the connection only for exactly this value.
      if isLast || head.headerFields.closesConnection {
        head.headerFields[.connection] = "close"
        return context.fireChannelRead(wrapInboundOut(.head(head)))
      }
    case .body: break
    case .end:
      isRequestOpen = false
      watch(context)
    }
    context.fireChannelRead(data)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if isKept, !hasReadPart {
      isKept = false
      watch(context)
    }
    hasReadPart = false
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    if isRequestOpen || !isLast { context.read() }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    context.write(data, promise: promise)
    guard case .end = unwrapOutboundIn(data) else { return }
    (unanswered, isKept) = (max(0, unanswered - 1), true)
    watch(context)
  }

  private func watch(_ context: ChannelHandlerContext) {
    timer?.cancel()
    timer = nil
    guard unanswered == 0 else { return }
    let patience = isKept ? nextPatience : headPatience
    timer = close(context, in: isRequestOpen || hasEnded ? restPatience : patience)
  }

  private func close(_ context: ChannelHandlerContext, in time: TimeAmount) -> Scheduled<Void> {
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    return context.eventLoop.scheduleTask(in: time) { bound.value.close(promise: nil) }
  }

  private func cancel() {
    for timer in [timer, readerTimer, endTimer] { timer?.cancel() }
  }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}
