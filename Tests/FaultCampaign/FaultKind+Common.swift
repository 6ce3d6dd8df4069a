extension FaultKind {
  /// The faults that can strike any protocol over HTTP.
  package static let common: [FaultKind] = broken + slow + refused + lies + elsewhere

  /// Connections and messages that end too early.
  package static let broken: [FaultKind] = [
    FaultKind("close before", .refuse(.close)),
    FaultKind("reset before", .refuse(.reset)),
    FaultKind("cut the body at 0", .cutRequest(.nothing, .close)),
    FaultKind("cut the body at its half", .cutRequest(.half, .close)),
    FaultKind("cut the body before its last byte", .cutRequest(.allButOne, .close)),
    FaultKind("reset in the body", .cutRequest(.half, .reset)),
    FaultKind("swallow the reply", .swallow(.close)),
    FaultKind("swallow the reply, reset", .swallow(.reset)),
    FaultKind("cut the reply in its head", .cutReply(.halfHead, .close)),
    FaultKind("cut the reply in its body", .cutReply(.halfBody, .close)),
    FaultKind("cut the reply before its last byte", .cutReply(.allButOne, .close)),
    FaultKind("reset in the reply", .cutReply(.halfBody, .reset)),
    FaultKind("close after the reply", .closeAfterReply(.close)),
    FaultKind("reset after the reply", .closeAfterReply(.reset)),
    FaultKind("close while idle", .closeAtNextRequest(.close)),
    FaultKind("reset while idle", .closeAtNextRequest(.reset)),
  ]

  /// Delays.
  package static let slow: [FaultKind] = [
    FaultKind("stall the request", .stallRequest),
    FaultKind("stall before the reply", .stallReply(.nothing)),
    FaultKind("stall in the reply's head", .stallReply(.halfHead)),
    FaultKind("stall in the reply's body", .stallReply(.halfBody)),
    FaultKind("drip the request", .dripRequest),
    FaultKind("drip the reply", .dripReply),
  ]

  /// Replies of a store, or of a proxy before it, that is busy, down, or takes the request for something else.
  package static let refused: [FaultKind] = [
    FaultKind("500", .answer(CannedReply(500))),
    FaultKind("502", .answer(CannedReply(502, [("content-type", "text/html")], body: "<html>Bad Gateway"))),
    FaultKind("503", .answer(CannedReply(503))),
    FaultKind("503, Retry-After", .answer(CannedReply(503, [("retry-after", "7")]))),
    FaultKind(
      "503, Retry-After of an hour", .answer(CannedReply(503, [("retry-after", "3600")])), passes: false),
    FaultKind(
      "503, Retry-After as a date",
      .answer(
        CannedReply(
          503,
          [
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"),
          ]))),
    FaultKind("503 without the body read", .answerEarly(CannedReply(503, [("connection", "close")]))),
    FaultKind("504", .answer(CannedReply(504))),
    FaultKind("429", .answer(CannedReply(429))),
    FaultKind("429, Retry-After", .answer(CannedReply(429, [("retry-after", "2")]))),
    FaultKind("500 after it was done", .replace(CannedReply(500))),
    FaultKind("502 after it was done", .replace(CannedReply(502))),
    FaultKind("503 after it was done", .replace(CannedReply(503, [("retry-after", "1")]))),
    FaultKind("400", .answer(CannedReply(400)), passes: false),
    FaultKind("401", .answer(CannedReply(401)), passes: false),
    FaultKind("403", .answer(CannedReply(403)), passes: false),
    FaultKind("404", .answer(CannedReply(404)), passes: false),
    FaultKind("409", .answer(CannedReply(409)), passes: false),
    FaultKind("412", .answer(CannedReply(412)), passes: false),
    FaultKind("412 after it was done", .replace(CannedReply(412)), passes: false),
    FaultKind("507", .answer(CannedReply(507)), passes: false),
  ]

  /// Messages that are not what they say.
  package static let lies: [FaultKind] = [
    FaultKind("200 and nothing", .answer(CannedReply(200)), passes: false),
    FaultKind("200 and nothing, after it was done", .replace(CannedReply(200)), passes: false),
    FaultKind("204 and nothing", .answer(CannedReply(204)), passes: false),
    FaultKind("200 and a page to log in", .answer(loginPage), passes: false),
    FaultKind("200 and a page to log in, after it was done", .replace(loginPage), passes: false),
    FaultKind("200 and no UTF-8", .replace(CannedReply(200, body: "\u{0}\u{1}<\u{FFFD}")), passes: false),
    FaultKind("the reply is said to be longer", .misstateLength(5)),
    FaultKind("the reply is said to be shorter", .misstateLength(-1), passes: false),
    FaultKind("the reply twice", .repeatReply, passes: false),
    FaultKind("the request twice", .repeatRequest, passes: false),
    FaultKind("100 Continue before the reply", .interim(100)),
    FaultKind("103 Early Hints before the reply", .interim(103)),
    FaultKind("the body's first bit flipped", .flip(.nothing), passes: false),
    FaultKind("a bit flipped in the body's middle", .flip(.half), passes: false),
    FaultKind("the body's last bit flipped", .flip(.allButOne), passes: false),
  ]

  private static let loginPage = CannedReply(
    200, [("content-type", "text/html")], body: "<!DOCTYPE html><html><title>Please log in</title></html>")

  /// Redirects to another server, which must not learn of anything.
  package static let elsewhere: [FaultKind] = [301, 302, 307, 308].map { status in
    FaultKind(
      "\(status) elsewhere", .answer(CannedReply(status, [("location", "{elsewhere}{target}")])),
      passes: false)
  }
}
