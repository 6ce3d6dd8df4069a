import ReelCore
import ReelWire
import Testing

/// Requests for pictures and their replies.
@Suite struct PictureWireTests {
  static let file = ReadRequest(size: 5, container: .webm, byteBudget: 7, milliseconds: 9000)
  static let requests: [PictureRequest] = [
    .poster(file, PosterOptions()), .poster(file, PosterOptions(size: 4096, prefersCover: true)),
    .frames(file, count: 1, side: 16), .frames(file, count: 400, side: 4096),
    .jpeg(width: 1, height: 16_384),
  ]
  static let replies: [PictureReply] = [
    .poster(facts(), byteCount: 1), .poster(facts(time: nil), byteCount: PictureReply.mostBytes),
    .frames([]), .frames([.init(width: 3, height: 4, time: 1.5), .init(width: 4, height: 3, time: nil)]),
    .jpeg(byteCount: 77), .failure(PosterError(.undecodable, "it is damaged")),
    .failure(PosterError(.corrupt, "it is cut off")),
  ]

  private static func facts(
    width: Int = 512, height: Int = 288, hash: String = "L2Eyb[_3fQ_3~qoffQoffQfQfQfQ", time: Double? = 0
  ) -> PictureReply.PosterFacts {
    .init(width: width, height: height, blurHash: hash, isCover: time == nil, time: time)
  }

  @Test(arguments: requests)
  func requestsComeBack(_ request: PictureRequest) throws {
    #expect(try PictureRequest(decoding: request.encoded()) == request)
    #expect(throws: WireError.self) { try ReadRequest(decoding: request.encoded()) }
  }

  @Test(arguments: replies)
  func repliesComeBack(_ reply: PictureReply) throws {
    #expect(try PictureReply(decoding: reply.encoded()) == reply)
    #expect(throws: WireError.self) { try ReadReply(decoding: reply.encoded()) }
  }

  @Test(arguments: replies)
  func everyTruncationIsRefused(_ reply: PictureReply) throws {
    let frame = try reply.encoded()
    for length in 0..<frame.count {
      #expect(throws: WireError.self) { try PictureReply(decoding: Array(frame.prefix(length))) }
    }
    #expect(throws: WireError.length) { try PictureReply(decoding: frame + [0]) }
  }

  static let lies: [PictureReply] = [
    .poster(facts(width: 0), byteCount: 1), .poster(facts(height: -1), byteCount: 1),
    .poster(facts(width: 16_385), byteCount: 1), .poster(facts(), byteCount: 0),
    .poster(facts(time: -1), byteCount: 9), .poster(facts(time: .nan), byteCount: 9),
    .poster(facts(time: 1e12), byteCount: 9), .jpeg(byteCount: -5),
    .frames([.init(width: 0, height: 5, time: 0)]),
    .failure(PosterError(.workerMissing, "there is none")), .failure(PosterError(.cancelled, "so be it")),
    .failure(PosterError(.crashed, "not yet")),
  ]

  @Test(arguments: lies)
  func whatNoPictureIsIsRefused(_ lie: PictureReply) throws {
    let frame = try lie.encoded()
    #expect(throws: WireError.self) { try PictureReply(decoding: frame) }
  }

  @Test func moreThanAnAnswerHoldsIsNotSaid() {
    let large = PictureReply.FrameFacts(width: 16_384, height: 16_384, time: 0)
    #expect(throws: WireError.length) { try PictureReply.frames([large]).encoded() }
    let many = [PictureReply.FrameFacts](repeating: .init(width: 1, height: 1, time: 0), count: 401)
    #expect(throws: WireError.length) { try PictureReply.frames(many).encoded() }
  }

  @Test func piecesComeBack() throws {
    for count in [1, 100, PictureBytes.largest] {
      let bytes = [UInt8](repeating: 7, count: count)
      #expect(try Array(PictureBytes.decoded(PictureBytes.encoded(bytes[...]))) == bytes)
    }
    #expect(throws: WireError.length) { try PictureBytes.decoded(PictureBytes.encoded([])) }
  }
}
