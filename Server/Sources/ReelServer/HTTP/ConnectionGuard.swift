import NIOCore
import NIOHTTPTypes

/// Closes connections that nobody needs: one on which no request comes, or comes too slowly, and one whose request has been
/// answered and goes on all the same.
///
/// A request's body is watched by who reads it (``BodyReader``).
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// For a request's head to be there.
  private let headPatience: TimeAmount
  /// For the rest of a request that has its answer: who sends it may read the answer only then.
  private let restPatience: TimeAmount
  private var timer: Scheduled<Void>?
  private var isRequestOpen = false
  private var unanswered = 0

  init(headPatience: TimeAmount, restPatience: TimeAmount) {
    (self.headPatience, self.restPatience) = (headPatience, restPatience)
  }

  func handlerAdded(context: ChannelHandlerContext) { watch(context) }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      (isRequestOpen, unanswered) = (true, unanswered + 1)
      watch(context)
    case .body: break
    case .end:
      isRequestOpen = false
      watch(context)
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    context.write(data, promise: promise)
    guard case .end = unwrapOutboundIn(data) else { return }
    unanswered = max(0, unanswered - 1)
    watch(context)
  }

  private func watch(_ context: ChannelHandlerContext) {
    timer?.cancel()
    timer = nil
    guard unanswered == 0 else { return }
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: isRequestOpen ? restPatience : headPatience) {
      bound.value.close(promise: nil)
    }
  }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}
