import Testing

@testable import ReelProbe

/// The elements with which an AAC frame begins.
struct AACFrameTests {
  @Test(
    arguments: [
      ([0x00, 0xFF], .single), ([0x20, 0xFF], .pair), ([0x40, 0], nil), ([0x60, 0], nil), ([0xE0, 0], nil),
      ([], nil), ([0xDE], nil),
      // Fill elements of 15 and 2 bytes, in the first of which FFmpeg's encoder names itself.
      ([0xDE, 0x02] + [UInt8](repeating: 0xAA, count: 15) + [0x01, 0x40], .single),
      ([0xC2, 0x54, 0x40, 0], .pair),
      // Three bytes of data, starting at the next whole byte.
      ([0x81, 0x03, 1, 2, 3, 0x20], .pair), ([0x81, 0x03, 1, 2], nil),
    ] as [([UInt8], AACFrame.Element?)])
  func elements(frame: [UInt8], first: AACFrame.Element?) {
    #expect(AACFrame(frame).first == first)
  }

  @Test(
    arguments: [
      ([0x12, 0x08], .single, nil), ([0x12, 0x10], .pair, nil), ([0x12, 0x10], .single, 1),
      ([0x12, 0x08], .pair, 2), ([0x12, 0x30], .single, 1), ([0x12, 0x30], .pair, 2),
      // With parametric stereo a single channel is right; error-resilient types have no such elements.
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
    // An explicit sampling rate: 24 additional bits precede the arrangement.
    #expect(
      AudioSpecificConfig.record([0x17, 0x80, 0x56, 0x22, 0x10], arrangement: 1) == [
        0x17, 0x80, 0x56, 0x22, 0x08,
      ])
  }
}
