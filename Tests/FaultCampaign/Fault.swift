import ReelHTTPFakes

/// What goes wrong between a client and a store, at which request, and how often.
package struct Fault: Sendable, CustomStringConvertible {
  /// Which requests it strikes.
  package enum Reach: String, Sendable, CaseIterable {
    /// The nth one only.
    case once
    /// The nth one and every one after it.
    case always
    /// From the nth one on, every one of the same shape.
    case alike
  }
  package let kind: FaultKind
  /// Counted from 1, over all connections.
  package let request: Int
  package let reach: Reach

  package init(_ kind: FaultKind, at request: Int, _ reach: Reach) {
    (self.kind, self.request, self.reach) = (kind, request, reach)
  }

  /// Such as `swallow reply, request 2, once`.
  package var description: String { "\(kind.name), request \(request), \(reach.rawValue)" }
}

/// A kind of fault: what the proxy does to one request.
package struct FaultKind: Sendable {
  /// Unique within a campaign.
  package let name: String
  package let effect: Effect
  /// Whether a client has to recover from it without being run again, if it strikes one request.
  let passes: Bool
  /// Limits `passes` to requests whose shape has one of these words, such as a method; nil for all requests.
  let words: Set<String>?
  /// Whether it may lead the client to the other server; never with a credential.
  package let mayLead: Bool

  package init(
    _ name: String, _ effect: Effect, passes: Bool = true, on words: Set<String>? = nil,
    mayLead: Bool = false
  ) {
    (self.name, self.effect, self.passes, self.words, self.mayLead) = (
      name, effect, passes, words, mayLead
    )
  }

  /// Whether a client has to recover from it, if it strikes one request of that shape.
  func passes(on shape: String) -> Bool {
    passes && (words.map { !$0.isDisjoint(with: shape.split(separator: " ").map(String.init)) } ?? true)
  }

  /// Whether the client hears nothing until its timeout.
  var isStall: Bool {
    switch effect {
    case .stallRequest, .stallReply, .misstateLength: true
    default: false
    }
  }

  /// Whether only a checksum beside the bytes can reveal it.
  package var isSilentDamage: Bool { if case .flip = effect { true } else { false } }

  package enum Effect: Sendable {
    // Before the store has heard of the request.

    /// The connection ends after the head; nothing is passed on.
    case refuse(Ending)
    /// The proxy answers in the store's place, after reading the body or (`answerEarly`) without; nothing is passed on.
    case answer(CannedReply)
    case answerEarly(CannedReply)

    // On the way to the store.

    /// The head and this much of the body reach the store; then both connections end.
    case cutRequest(Portion, Ending)
    /// The head and half of the body reach the store; then nothing more happens.
    case stallRequest
    /// The request arrives in small pieces.
    case dripRequest
    /// One bit is flipped in the byte of the body at this place.
    case flip(Portion)
    /// The store gets the request twice, one after the other; the client gets the second reply.
    case repeatRequest

    // On the way back: the store has carried out the request.

    /// Nothing of the reply arrives.
    case swallow(Ending)
    case cutReply(ReplyPart, Ending)
    /// This much of it arrives; then nothing more happens.
    case stallReply(ReplyPart)
    case dripReply
    /// Another reply arrives instead.
    case replace(CannedReply)
    /// It arrives, changed.
    case edit(@Sendable (inout WireReply) -> Void)
    case repeatReply
    /// An interim reply (1xx) comes before it.
    case interim(Int)
    /// It states a length that is longer by this many bytes than its own, or shorter; then the connection ends.
    case misstateLength(Int)
    /// It arrives, and the connection ends without notice.
    case closeAfterReply(Ending)
    /// It arrives, and the connection is kept open, but ends when the next request comes on it, as if the store's
    /// timeout ran out at that very moment.
    case closeAtNextRequest(Ending)
  }
}

/// How a connection ends: an orderly FIN, or RST.
package enum Ending: Sendable {
  case close, reset
}

/// How much of something.
package enum Portion: Sendable {
  case nothing, half, allButOne

  func of(_ count: Int) -> Int {
    switch self {
    case .nothing: 0
    case .half: count / 2
    case .allButOne: max(0, count - 1)
    }
  }
}

/// The point up to which a reply arrives.
package enum ReplyPart: Sendable {
  case nothing, halfHead, halfBody, allButOne

  func of(_ reply: WireReply) -> [UInt8] {
    let all = reply.bytes
    let head = all.count - reply.body.count
    return switch self {
    case .nothing: []
    case .halfHead: Array(all.prefix(head / 2))
    case .halfBody: Array(all.prefix(reply.body.isEmpty ? head - 1 : head + reply.body.count / 2))
    case .allButOne: Array(all.dropLast())
    }
  }
}

/// A reply that the proxy makes up.
package struct CannedReply: Sendable {
  let status: Int
  let fields: [(String, String)]
  let body: String

  /// In the value of a field, `{elsewhere}` stands for another server's origin, and `{target}` for the requested
  /// target.
  package init(_ status: Int, _ fields: [(String, String)] = [], body: String = "") {
    (self.status, self.fields, self.body) = (status, fields, body)
  }

  /// An S3 error.
  package static func s3(_ status: Int, _ code: String, _ fields: [(String, String)] = []) -> CannedReply {
    CannedReply(
      status, [("content-type", "application/xml")] + fields,
      body: "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>a test</Message></Error>")
  }

  /// A reply to HEAD has no body, and a proxy that makes up a reply knows no length to state.
  func reply(to head: WireHead, elsewhere: Int) -> WireReply {
    let fields = fields.map { name, value in
      let origin = value.replacing("{elsewhere}", with: "http://127.0.0.1:\(elsewhere)")
      return (name, origin.replacing("{target}", with: head.target))
    }
    let isHead = head.method == "HEAD"
    return WireReply(
      status: status, fields: fields + (isHead ? [] : [("content-length", "\(body.utf8.count)")]),
      body: isHead ? [] : Array(body.utf8))
  }
}
