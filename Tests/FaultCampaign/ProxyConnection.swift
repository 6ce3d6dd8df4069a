import Glibc
import ReelHTTPFakes

/// One connection of a client; each of its requests goes to the store over a connection of its own.
struct ProxyConnection: Sendable {
  let target: Int
  let elsewhere: Int
  let script: FaultScript

  /// Serves requests until either side ends the connection.
  func serve(_ client: Wire) {
    var reader = WireReader(client)
    do {
      while let head = reader.request() {
        guard let ending = try exchange(head, &reader, client) else { continue }
        if ending == .reset { client.willReset() }
        return
      }
    } catch {
      // An error on a connection is what the test wanted, or what it tests.
    }
  }

  /// Passes on one request and its reply. Returns how the connection ends then; nil when it continues.
  private func exchange(
    _ head: WireHead, _ reader: inout WireReader, _ client: Wire
  ) throws -> Ending? {
    let effect = script.effect(on: head)
    switch effect {
    case .refuse(let ending): return ending
    case .answerEarly(let canned):
      try client.write(canned.reply(to: head, elsewhere: elsewhere).bytes)
      return .close
    case .cutRequest(let portion, let ending):
      try send(head, reader.take(portion.of(head.bodyLength)))
      return ending
    case .stallRequest:
      try send(head, reader.take(head.bodyLength / 2)) { reader.drain() }
      return .close
    default: break
    }
    let body = reader.take(head.bodyLength)
    guard body.count == head.bodyLength else { return .close }
    if case .answer(let canned) = effect {
      try client.write(canned.reply(to: head, elsewhere: elsewhere).bytes)
      return nil
    }
    guard let reply = try ask(head, body, effect) else { return .close }
    return try answer(reply, to: head, effect, &reader, client)
  }

  // MARK: The store

  private func ask(
    _ head: WireHead, _ body: [UInt8], _ effect: FaultKind.Effect?
  ) throws -> WireReply? {
    var body = body
    switch effect {
    case .flip(let portion) where !body.isEmpty: body[min(portion.of(body.count), body.count - 1)] ^= 4
    case .repeatRequest: _ = try reply(to: head, [head.bytes + body])
    case .dripRequest:
      let message = head.bytes + body
      let step = max(1, message.count / 20)
      return try reply(
        to: head, stride(from: 0, to: message.count, by: step).map { Array(message[$0...].prefix(step)) })
    default: break
    }
    return try reply(to: head, [head.bytes + body])
  }

  private func reply(to head: WireHead, _ pieces: [[UInt8]]) throws -> WireReply? {
    let store = try Wire(to: target)
    try drip(pieces, store)
    var reader = WireReader(store)
    return reader.reply(to: head.method)
  }

  /// Sends this much of the body, and ends the connection after `meanwhile`.
  ///
  /// A request without a body is complete all the same: the store carries it out, and has done so when this returns.
  private func send(
    _ head: WireHead, _ body: [UInt8], _ meanwhile: () throws -> Void = {}
  ) throws {
    if body.count == head.bodyLength {
      _ = try reply(to: head, [head.bytes + body])
      return try meanwhile()
    }
    let store = try Wire(to: target)
    for piece in [head.bytes, body] { try store.write(piece) }
    try meanwhile()
    withExtendedLifetime(store) {}
  }

  // MARK: The client

  private func answer(
    _ original: WireReply, to head: WireHead, _ effect: FaultKind.Effect?, _ reader: inout WireReader,
    _ client: Wire
  ) throws -> Ending? {
    var reply = original
    switch effect {
    case .swallow(let ending): return ending
    case .cutReply(let part, let ending):
      try client.write(part.of(reply))
      return ending
    case .stallReply(let part):
      try client.write(part.of(reply))
      reader.drain()
      return .close
    case .dripReply:
      let step = max(1, reply.bytes.count / 20)
      let bytes = reply.bytes
      try drip(
        stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0...].prefix(step)) }, client)
      return nil
    case .replace(let canned): reply = canned.reply(to: head, elsewhere: elsewhere)
    case .edit(let change):
      change(&reply)
      reply.fields = reply.fields.map {
        ($0.0, $0.1.replacing("{elsewhere}", with: "http://127.0.0.1:\(elsewhere)"))
      }
    case .repeatReply: try client.write(reply.bytes)
    case .interim(let status): try client.write(Array("HTTP/1.1 \(status) Wait\r\n\r\n".utf8))
    // The length in a reply to HEAD is that of the object.
    case .misstateLength(let more) where head.method != "HEAD":
      reply["content-length"] = "\(max(0, reply.body.count + more))"
      try client.write(reply.bytes)
      return .close
    default: break
    }
    try client.write(reply.bytes)
    switch effect {
    case .closeAfterReply(let ending): return ending
    case .closeAtNextRequest(let ending):
      _ = reader.request()
      return ending
    default: return nil
    }
  }

  private func drip(_ pieces: [[UInt8]], _ to: Wire) throws {
    for piece in pieces {
      try to.write(piece)
      if pieces.count > 1 { usleep(2000) }
    }
  }
}
