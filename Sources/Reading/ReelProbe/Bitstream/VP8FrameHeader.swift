/// The uncompressed header of a VP8 key frame (RFC 6386, 9.1).
struct VP8FrameHeader: Hashable {
  /// In pixels, before any scaling that the header asks the player to do.
  let width: Int
  /// In pixels.
  let height: Int

  /// Nil for anything but a key frame that is shown and whose first partition is complete.
  init?(_ frame: some Collection<UInt8>) {
    let head = Array(frame.prefix(10))
    guard head.count == 10, head[0] & 1 == 0, head[0] >> 4 & 1 == 1, head[0] >> 1 & 7 <= 3,
      head[3...5].elementsEqual([0x9D, 0x01, 0x2A])
    else { return nil }
    let partition = Int(head[0]) >> 5 | Int(head[1]) << 3 | Int(head[2]) << 11
    width = (Int(head[6]) | Int(head[7]) << 8) & 0x3FFF
    height = (Int(head[8]) | Int(head[9]) << 8) & 0x3FFF
    guard width > 0, height > 0, partition <= frame.count - 10 else { return nil }
  }
}
