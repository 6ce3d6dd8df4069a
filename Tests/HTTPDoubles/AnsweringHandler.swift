#if HTTP
  import NIOCore
  import NIOHTTP1
  import Synchronization

  /// What a server has seen, from whatever loop.
  final class RequestLog: Sendable {
    private let state = Mutex<(requests: [ReceivedRequest], bodyBytes: Int)>(([], 0))
    private let keepsBodies: Bool

    init(keepsBodies: Bool) { self.keepsBodies = keepsBodies }

    var requests: [ReceivedRequest] { state.withLock { $0.requests } }
    var bodyBytes: Int { state.withLock { $0.bodyBytes } }

    func add(_ request: ReceivedRequest) {
      let kept = keepsBodies ? request : request.cut(to: 0)
      state.withLock { $0.requests.append(kept) }
    }
    func count(_ bytes: Int) { state.withLock { $0.bodyBytes += bytes } }
  }

  /// Collects a request, asks the test, and does what it says. Used on its channel's loop only.
  final class AnsweringHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let log: RequestLog
    private let answer: @Sendable (ReceivedRequest) -> ServerAction
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(log: RequestLog, answer: @escaping @Sendable (ReceivedRequest) -> ServerAction) {
      self.log = log
      self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): (self.head, body) = (head, [])
      case .body(let piece):
        log.count(piece.readableBytes)
        body += Array(piece.readableBytesView)
      case .end:
        guard let head else { return }
        let request = ReceivedRequest(
          method: head.method.rawValue, target: head.uri, headers: head.headers.map { ($0.name, $0.value) },
          body: body)
        log.add(request)
        perform(answer(request), for: head, context)
      }
    }

    private func perform(_ action: ServerAction, for head: HTTPRequestHead, _ context: ChannelHandlerContext)
    {
      switch action {
      case .silence: break
      case .close: context.close(promise: nil)
      case .reply(let status, let headers, let body):
        send(status, headers, promised: body.count, head.method == .HEAD ? [] : body, context)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      case .cutReply(let promised, let sent):
        send(200, [], promised: promised, sent, context)
        context.flush()
        context.close(promise: nil)
      case .garbage:
        // Past the encoder.
        guard
          let encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
        else {
          return
        }
        encoder.writeAndFlush(NIOAny(ByteBuffer(string: "SSH-2.0-nothing to see here\r\n")), promise: nil)
      }
    }

    private func send(
      _ status: Int, _ headers: [(String, String)], promised: Int, _ body: [UInt8],
      _ context: ChannelHandlerContext
    ) {
      var fields = HTTPHeaders(headers)
      if !fields.contains(name: "content-length") { fields.add(name: "content-length", value: "\(promised)") }
      let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: fields)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      if !body.isEmpty {
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
      }
    }
  }
#endif
