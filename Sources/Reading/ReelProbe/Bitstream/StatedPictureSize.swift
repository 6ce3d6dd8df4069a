import CFFmpeg

/// The size that the pictures themselves state, for codecs whose size FFmpeg takes from the container.
struct StatedPictureSize: Hashable {
  let width: Int
  let height: Int

  static let codecs: Set<AVCodecID> = [AV_CODEC_ID_CFHD, AV_CODEC_ID_SVQ1, AV_CODEC_ID_CINEPAK]

  /// Reads the first packet of a stream; nil if it states no size.
  init?(_ codec: AVCodecID, packet: [UInt8]) {
    let found: (width: Int, height: Int)? =
      switch codec {
      case AV_CODEC_ID_CFHD: Self.cineForm(packet)
      case AV_CODEC_ID_SVQ1: Self.sorenson(packet)
      // The size follows flags and a length.
      case AV_CODEC_ID_CINEPAK: Self.sides(packet.number(at: 4, bytes: 2), packet.number(at: 6, bytes: 2))
      default: nil
      }
    guard let found, found.width > 0, found.height > 0 else { return nil }
    (width, height) = found
  }

  private static func sides(_ width: Int?, _ height: Int?) -> (width: Int, height: Int)? {
    width.flatMap { width in height.map { (width, $0) } }
  }

  /// Whether a container's header may state the given size for these pictures: up to 15 pixels of the last blocks may
  /// be cropped on either side.
  func allows(width own: Int, height other: Int) -> Bool {
    (0..<16).contains(width - own) && (0..<16).contains(height - other)
  }

  /// Reads the size from CineForm's tags, 16 bits each and followed by a value (SMPTE ST 2073-1).
  private static func cineForm(_ packet: [UInt8]) -> (width: Int, height: Int)? {
    var (next, width, height, shown, isBayer): (Int, Int?, Int?, Int?, Bool) = (0, nil, nil, nil, false)
    for _ in 0..<512 {
      guard let bits = packet.number(at: next, bytes: 2), let value = packet.number(at: next + 2, bytes: 2)
      else {
        break
      }
      next += 4
      switch bits {
      case 20: width = value
      case 21: height = value
      case 84: isBayer = value == 2
      case 85: shown = value
      // An index and metadata, whose value is the number of 32-bit words that follow.
      case 2, 0x4000...0x40FF, 0xBF01...0xC000: next += 4 * value
      default: break
      }
      // The coefficients of the first channel follow.
      if bits == 4, value == 0x1A4A { break }
    }
    return sides(width, shown ?? height).map { isBayer ? (2 * $0.width, 2 * $0.height) : $0 }
  }

  /// Reads the size from a key frame of Sorenson Video 1.
  private static func sorenson(_ packet: [UInt8]) -> (width: Int, height: Int)? {
    var bytes = Array(packet.prefix(512))
    var reader = BitReader(bytes)
    guard let code = reader.bits(22), code & ~0x70 == 0, code & 0x60 != 0 else { return nil }
    if code != 0x20 {
      // Each of four words is scrambled with one of the next four.
      guard bytes.count >= 36 else { return nil }
      for place in 0..<4 {
        let (own, other) = (Array(bytes[(4 + 4 * place)..<(8 + 4 * place)]), 4 + 4 * (7 - place))
        for byte in 0..<4 { bytes[4 + 4 * place + byte] = own[(byte + 2) % 4] ^ bytes[other + byte] }
      }
      reader = BitReader(bytes)
      guard reader.skipBits(22) else { return nil }
    }
    guard reader.skipBits(8), reader.bits(2) == 0, code != 0x50 && code != 0x60 || reader.skipBits(16) else {
      return nil
    }
    // A text, preceded by its length.
    if code ^ 0x10 >= 0x50 {
      guard let length = reader.bits(8), length == 0 || reader.skipBits(8 * (Int(length) - 1)) else {
        return nil
      }
    }
    guard reader.skipBits(2 + 2 + 1), let kind = reader.bits(3) else { return nil }
    if kind == 7 { return sides(reader.bits(12).map(Int.init), reader.bits(12).map(Int.init)) }
    return [(160, 120), (128, 96), (176, 144), (352, 288), (704, 576), (240, 180), (320, 240)][Int(kind)]
  }
}

/// The texture blocks of a Hap picture, whose number depends on the picture's size.
enum HapTexture {
  /// Returns whether the size of a packet's first texture differs from what pictures of the given size need; nil if the
  /// packet does not state it.
  static func isUnlike(width: Int32, height: Int32, packet: [UInt8]) -> Bool? {
    guard width > 0, height > 0, let own = length(packet) else { return nil }
    return own.bytes != (Int(width) + 3) / 4 * ((Int(height) + 3) / 4) * own.block
  }

  /// Returns the size of the uncompressed texture and that of one block of four by four pixels, both in bytes.
  private static func length(_ packet: [UInt8]) -> (bytes: Int, block: Int)? {
    guard packet.count > 12 else { return nil }
    let short = packet[0..<3].reversed().reduce(0) { $0 << 8 | Int($1) }
    let start = short == 0 ? 8 : 4
    let stored = short == 0 ? packet[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) } : short
    guard let block = [0xB: 8, 0xE: 16, 0xF: 16, 0xC: 16, 0x1: 8][Int(packet[3] & 15)] else { return nil }
    switch packet[3] >> 4 {
    case 0xA: return (stored, block)
    // Snappy data begins with the uncompressed length, seven bits per byte.
    case 0xB:
      var bytes = 0
      for place in 0..<5 {
        bytes |= Int(packet[start + place] & 0x7F) << (7 * place)
        if packet[start + place] & 0x80 == 0 { return (bytes, block) }
      }
      return nil
    default: return nil
    }
  }
}
