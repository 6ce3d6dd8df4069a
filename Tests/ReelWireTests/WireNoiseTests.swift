import ReelCore
import ReelWire
import Testing

/// Arbitrary bytes decode to a value or throw a ``WireError``, and a decoded value can be encoded again.
@Suite struct WireNoiseTests {
  @Test(arguments: 0..<200)
  func flippedBits(seed: UInt64) throws {
    var chance = Chance(seed: seed)
    let file = PictureWireTests.file
    let frames =
      try [
        ReadReply.facts(chance.media(), .full).encoded(),
        RangedRequest(file: file, receipt: try #require(Receipt(bytes: Array(0..<16)))).encoded(),
        RangeRequest(position: 9, count: 10, expected: 11).encoded(),
      ] + PictureWireTests.requests.map { try $0.encoded() }
      + PictureWireTests.replies.map { try $0.encoded() }
    for _ in 0..<25 {
      var damaged = chance.pick([frames[0], chance.pick(frames)])
      for _ in 0...chance.number(0...3) {
        damaged[chance.number(0...damaged.count - 1)] ^= 1 << UInt8(chance.number(0...7))
      }
      try decodeEverything(damaged)
    }
  }

  @Test(arguments: 0..<20)
  func everyTruncation(seed: UInt64) throws {
    var chance = Chance(seed: seed)
    let frame = try ReadReply.facts(chance.media(), .full).encoded()
    for length in 0..<frame.count {
      #expect(throws: WireError.self) { try ReadReply(decoding: Array(frame.prefix(length))) }
    }
    #expect(throws: WireError.length) { try ReadReply(decoding: frame + [0]) }
  }

  /// The length is right, so that the fields themselves are read.
  @Test(arguments: 0..<200)
  func randomPayloads(seed: UInt64) throws {
    var chance = Chance(seed: seed)
    for kind in 0...13 as ClosedRange<UInt8> {
      let payload = (0..<chance.number(0...600)).map { _ in
        UInt8(truncatingIfNeeded: chance.pick([0, 0, 1, 1, chance.number(0...255)]))
      }
      let length = withUnsafeBytes(of: UInt32(payload.count).littleEndian) { Array($0) }
      try decodeEverything(Array("REEL".utf8) + [Self.version, kind] + length + payload)
      try decodeEverything(payload)
    }
  }

  /// The version byte, which follows the first four bytes of every current frame.
  private static let version = (try? ForkRequest(.reading, processorSeconds: 10).encoded())?[4] ?? 0

  @Test func otherVersionsAreNamed() throws {
    var frame = try ForkRequest(.reading, processorSeconds: 10).encoded()
    frame[4] = Self.version &+ 1
    #expect(throws: WireError.version(Self.version &+ 1)) { try ForkRequest(decoding: frame) }
    frame[0] = 0
    #expect(throws: WireError.notAFrame) { try ForkRequest(decoding: frame) }
    #expect(throws: WireError.kind(5)) {
      try ReadReply(decoding: try ForkRequest(.reading, processorSeconds: 10).encoded())
    }
    let long = [UInt8](repeating: 0x52, count: WireFrame.largest + 1)
    #expect(throws: WireError.length) { try ReadReply(decoding: long) }
  }

  /// Decodes the bytes as every kind of frame.
  private func decodeEverything(_ bytes: [UInt8]) throws {
    if let reply = try? ReadReply(decoding: bytes) {
      #expect(try ReadReply(decoding: reply.encoded()) == reply)
    }
    if let request = try? PictureRequest(decoding: bytes) {
      #expect(try PictureRequest(decoding: request.encoded()) == request)
    }
    if let reply = try? PictureReply(decoding: bytes) {
      #expect(try PictureReply(decoding: reply.encoded()) == reply)
    }
    _ = try? PictureBytes.decoded(bytes)
    if let hello = try? WorkerHello(decoding: bytes) { _ = try hello.encoded() }
    if let start = try? WorkerStart(decoding: bytes) { _ = try start.encoded() }
    if let request = try? ReadRequest(decoding: bytes) { _ = try request.encoded() }
    if let notice = try? ForkReply(decoding: bytes) { _ = try notice.encoded() }
    if let ranged = try? RangedRequest(decoding: bytes) { #expect(try ranged.encoded() == bytes) }
    if let range = try? RangeRequest(decoding: bytes) { #expect(try range.encoded() == bytes) }
    if let reply = try? RangeReply(decoding: bytes) {
      #expect(try RangeReply(decoding: reply.encoded()) == reply)
    }
    _ = try? ForkRequest(decoding: bytes)
  }
}
