#if HTTP
  import NIOCore
  import NIOPosix

  /// One connection of a client; each of its requests goes to the store over a connection of its own.
  struct ProxyConnection: Sendable {
    typealias Wire = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    typealias Writer = NIOAsyncChannelOutboundWriter<ByteBuffer>

    let target: Int
    let elsewhere: Int
    let script: FaultScript

    /// Until either side ends it.
    func serve(_ client: Wire) async {
      // What a connection breaks of is what the test wanted, or what it tests.
      try? await client.executeThenClose { inbound, outbound in
        var reader = WireReader(inbound)
        while let head = try await reader.request() {
          guard let ending = try await exchange(head, &reader, outbound) else { continue }
          if ending == .reset { try await reset(client.channel) }
          return
        }
      }
    }

    /// With nothing left to linger for, closing sends RST.
    private func reset(_ channel: any Channel) async throws {
      try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    }

    /// One request and its reply; how the connection ends then, nil when it goes on.
    private func exchange(
      _ head: WireHead, _ reader: inout WireReader, _ client: Writer
    ) async throws -> Ending? {
      let effect = script.effect(on: head)
      switch effect {
      case .refuse(let ending): return ending
      case .answerEarly(let canned):
        try await write(canned.reply(to: head, elsewhere: elsewhere).bytes, client)
        return .close
      case .cutRequest(let portion, let ending):
        try await send(head, try await reader.take(portion.of(head.bodyLength)))
        return ending
      case .stallRequest:
        try await send(head, try await reader.take(head.bodyLength / 2)) { try await reader.drain() }
        return .close
      default: break
      }
      let body = try await reader.take(head.bodyLength)
      guard body.count == head.bodyLength else { return .close }
      if case .answer(let canned) = effect {
        try await write(canned.reply(to: head, elsewhere: elsewhere).bytes, client)
        return nil
      }
      guard let reply = try await ask(head, body, effect) else { return .close }
      return try await answer(reply, to: head, effect, &reader, client)
    }

    // MARK: The store

    private func ask(
      _ head: WireHead, _ body: [UInt8], _ effect: FaultKind.Effect?
    ) async throws -> WireReply? {
      var body = body
      switch effect {
      case .flip(let portion) where !body.isEmpty: body[min(portion.of(body.count), body.count - 1)] ^= 4
      case .repeatRequest: _ = try await reply(to: head, [head.bytes + body])
      case .dripRequest:
        let message = head.bytes + body
        let step = max(1, message.count / 20)
        return try await reply(
          to: head, stride(from: 0, to: message.count, by: step).map { Array(message[$0...].prefix(step)) })
      default: break
      }
      return try await reply(to: head, [head.bytes + body])
    }

    private func reply(to head: WireHead, _ pieces: [[UInt8]]) async throws -> WireReply? {
      try await connect().executeThenClose { inbound, outbound in
        try await drip(pieces, outbound)
        var reader = WireReader(inbound)
        return try await reader.reply(to: head.method)
      }
    }

    /// Sends that much of the body, and ends the connection after `meanwhile`.
    ///
    /// A request without a body is whole all the same: the store does what it asks, and has done it when this returns.
    private func send(
      _ head: WireHead, _ body: [UInt8], _ meanwhile: () async throws -> Void = {}
    ) async throws {
      if body.count == head.bodyLength {
        _ = try await reply(to: head, [head.bytes + body])
        return try await meanwhile()
      }
      let store = try await connect()
      try await store.executeThenClose { _, outbound in
        for piece in [head.bytes, body] { try await write(piece, outbound) }
        try await meanwhile()
      }
    }

    private func connect() async throws -> Wire {
      try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(host: "127.0.0.1", port: target) { channel in
          channel.eventLoop.makeCompletedFuture { try Wire(wrappingChannelSynchronously: channel) }
        }
    }

    // MARK: The client

    private func answer(
      _ original: WireReply, to head: WireHead, _ effect: FaultKind.Effect?, _ reader: inout WireReader,
      _ client: Writer
    ) async throws -> Ending? {
      var reply = original
      switch effect {
      case .swallow(let ending): return ending
      case .cutReply(let part, let ending):
        try await write(part.of(reply), client)
        return ending
      case .stallReply(let part):
        try await write(part.of(reply), client)
        try await reader.drain()
        return .close
      case .dripReply:
        let step = max(1, reply.bytes.count / 20)
        let bytes = reply.bytes
        try await drip(
          stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0...].prefix(step)) }, client)
        return nil
      case .replace(let canned): reply = canned.reply(to: head, elsewhere: elsewhere)
      case .edit(let change):
        change(&reply)
        reply.fields = reply.fields.map {
          ($0.0, $0.1.replacing("{elsewhere}", with: "http://127.0.0.1:\(elsewhere)"))
        }
      case .repeatReply: try await write(reply.bytes, client)
      case .interim(let status): try await write(Array("HTTP/1.1 \(status) Wait\r\n\r\n".utf8), client)
      // What a HEAD's reply says of a length is about the object.
      case .misstateLength(let more) where head.method != "HEAD":
        reply["content-length"] = "\(max(0, reply.body.count + more))"
        try await write(reply.bytes, client)
        return .close
      default: break
      }
      try await write(reply.bytes, client)
      switch effect {
      case .closeAfterReply(let ending): return ending
      case .closeAtNextRequest(let ending):
        _ = try await reader.request()
        return ending
      default: return nil
      }
    }

    private func drip(_ pieces: [[UInt8]], _ to: Writer) async throws {
      for piece in pieces {
        try await write(piece, to)
        if pieces.count > 1 { try await Task.sleep(for: .milliseconds(2)) }
      }
    }

    private func write(_ bytes: [UInt8], _ to: Writer) async throws {
      if !bytes.isEmpty { try await to.write(ByteBuffer(bytes: bytes)) }
    }
  }
#endif
