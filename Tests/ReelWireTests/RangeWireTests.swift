import ReelCore
import ReelWire
import Testing

/// The frames with which a worker reads a file without having its descriptor.
@Suite struct RangeWireTests {
  private let file = ReadRequest(size: 1 << 31, container: .mp4, byteBudget: 1 << 29, milliseconds: 9000)

  @Test func whatIsWrittenIsRead() throws {
    let receipt = try #require(Receipt(bytes: Array(0..<16)))
    let request = RangedRequest(file: file, receipt: receipt)
    #expect(try RangedRequest(decoding: request.encoded()) == request)
    for (position, count, expected) in [
      (0, 1, 0), (1 << 40, 65_536, 1 << 30), (Int64.max, 3, 7), (5, 65_536, 1 << 50),
    ] as [(Int64, Int, Int)] {
      let range = RangeRequest(position: position, count: count, expected: expected)
      #expect(range.expected >= range.count && range.expected <= RangeRequest.mostExpected)
      #expect(try RangeRequest(decoding: range.encoded()) == range)
    }
    for bytes in [[], [7], [UInt8](repeating: 3, count: RangeRequest.largest)] {
      #expect(try RangeReply(decoding: RangeReply.bytes(bytes[...]).encoded()) == .bytes(bytes[...]))
    }
    #expect(try RangeReply(decoding: RangeReply.failure.encoded()) == .failure)
  }

  @Test func whatIsOutOfBoundsIsBroughtWithin() {
    let range = RangeRequest(position: -5, count: 0)
    #expect(range.position == 0 && range.count == 1 && range.expected == 1)
    #expect(RangeRequest(position: 0, count: 1 << 20).count == RangeRequest.largest)
  }

  @Test func moreThanAFrameTakesIsNotWritten() {
    let bytes = [UInt8](repeating: 0, count: RangeRequest.largest + 1)
    #expect(throws: WireError.length) { try RangeReply.bytes(bytes[...]).encoded() }
  }

  /// The numbers follow the envelope's ten bytes: offset, count, and the expected number of bytes.
  @Test(arguments: [
    (10, Int64(-1), "position"), (18, 0, "count"), (18, -3, "count"), (18, 65_537, "count"),
    (26, 0, "expected"), (26, (1 << 40) + 1, "expected"), (26, .max, "expected"),
  ])
  func whatNoHonestWorkerAsksIsRefused(_ offset: Int, _ number: Int64, _ field: String) throws {
    var frame = try RangeRequest(position: 9, count: 10, expected: 11).encoded()
    withUnsafeBytes(of: number.littleEndian) { frame.replaceSubrange(offset..<offset + 8, with: $0) }
    #expect(throws: WireError.field(field)) { try RangeRequest(decoding: frame) }
  }

  @Test func aFrameOfAnotherKindIsNone() throws {
    let request = try RangeRequest(position: 0, count: 1).encoded()
    #expect(throws: WireError.kind(12)) { try ReadReply(decoding: request) }
    #expect(throws: WireError.kind(12)) { try RangedRequest(decoding: request) }
    #expect(throws: WireError.length) { try RangeRequest(decoding: Array(request.dropLast())) }
  }
}
