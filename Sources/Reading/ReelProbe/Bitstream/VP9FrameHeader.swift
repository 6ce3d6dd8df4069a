/// The uncompressed header of a VP9 key frame (VP9 bitstream specification, 7.2).
struct VP9FrameHeader: Hashable {
  /// In pixels.
  let width: Int
  /// In pixels.
  let height: Int
  /// From 0 to 3.
  let profile: Int
  /// Bits of one component: 8, 10 or 12.
  let bitDepth: Int

  /// Nil for anything but a key frame that is shown, with 4:2:0 chroma.
  init?(_ frame: some Collection<UInt8>) {
    var reader = BitReader(frame.prefix(16))
    guard reader.bits(2) == 2, let low = reader.bits(1), let high = reader.bits(1) else { return nil }
    profile = Int(low | high << 1)
    // 4:2:0 has only profile 0, and 2 for more than 8 bits. After it: show_existing_frame is 0, a key frame, show_frame
    // is 1.
    guard profile == 0 || profile == 2, reader.bits(3) == 0b001, reader.flag() != nil,
      reader.bits(24) == 0x498342
    else { return nil }
    if profile == 2 {
      guard let isTwelve = reader.flag() else { return nil }
      bitDepth = isTwelve ? 12 : 10
    } else {
      bitDepth = 8
    }
    // Matrix 7 is RGB, which cannot be 4:2:0.
    guard let matrix = reader.bits(3), matrix != 7, reader.flag() != nil,
      let width = reader.bits(16), let height = reader.bits(16)
    else { return nil }
    self.width = Int(width) + 1
    self.height = Int(height) + 1
  }
}
