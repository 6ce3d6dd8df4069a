import Testing

@testable import ReelProbe

/// The elements that a frame of AAC begins with.
struct AACFrameTests {
  @Test(
    arguments: [
      ([0x00, 0xFF], .single), ([0x20, 0xFF], .pair), ([0x40, 0], nil), ([0x60, 0], nil), ([0xE0, 0], nil),
      ([], nil), ([0xDE], nil),
      // What fills up, as FFmpeg's encoder names itself: 15 and 2 bytes.
      ([0xDE, 0x02] + [UInt8](repeating: 0xAA, count: 15) + [0x01, 0x40], .single),
      ([0xC2, 0x54, 0x40, 0], .pair),
      // Data of three bytes, from the next whole byte on.
      ([0x81, 0x03, 1, 2, 3, 0x20], .pair), ([0x81, 0x03, 1, 2], nil),
    ] as [([UInt8], AACFrame.Element?)])
  func elements(frame: [UInt8], first: AACFrame.Element?) {
    #expect(AACFrame(frame).first == first)
  }

  @Test(
    arguments: [
      ([0x12, 0x08], .single, nil), ([0x12, 0x10], .pair, nil), ([0x12, 0x10], .single, 1),
      ([0x12, 0x08], .pair, 2), ([0x12, 0x30], .single, 1), ([0x12, 0x30], .pair, 2),
      // With parametric stereo one channel is right; error resilient kinds have no such elements.
      ([0xEB, 0x8A, 0x08, 0x00], .single, nil), ([0x8A, 0x10, 0x00], .single, nil),
    ] as [([UInt8], AACFrame.Element, UInt32?)])
  func againstTheRecord(record: [UInt8], element: AACFrame.Element, other: UInt32?) throws {
    let frame = AACFrame([element == .single ? 0x00 : 0x20, 0xFF])
    #expect(frame.other(than: try #require(AudioSpecificConfig(record))) == other)
  }

  @Test func anotherArrangement() {
    #expect(AudioSpecificConfig.record([0x12, 0x08, 0x56], arrangement: 2) == [0x12, 0x10, 0x56])
    #expect(AudioSpecificConfig.record([0x12, 0x78], arrangement: 1) == [0x12, 0x08])
    #expect(AudioSpecificConfig.record([0x12], arrangement: 1) == nil)
    // A rate of its own: 24 bits of it lie before.
    #expect(
      AudioSpecificConfig.record([0x17, 0x80, 0x56, 0x22, 0x10], arrangement: 1) == [
        0x17, 0x80, 0x56, 0x22, 0x08,
      ])
  }
}
