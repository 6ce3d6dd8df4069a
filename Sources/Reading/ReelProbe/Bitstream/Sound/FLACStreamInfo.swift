/// The stream information of FLAC (RFC 9639, 8.2), alone or after the `fLaC` mark and the block header.
struct FLACStreamInfo: Hashable {
  /// In hertz.
  let sampleRate: Int
  let channels: Int
  /// The number of samples of each frame; nil if frames differ.
  let frameLength: Int?

  /// Nil for anything else.
  init?(_ record: [UInt8]) {
    let isMarked = record.starts(with: Array("fLaC".utf8))
    guard !isMarked || record.count >= 8 && record[4] & 0x7f == 0 else { return nil }
    let body = Array(record.dropFirst(isMarked ? 8 : 0).prefix(34))
    guard body.count >= 18 else { return nil }
    let (least, most) = (body.number(at: 0, bytes: 2), body.number(at: 2, bytes: 2))
    frameLength = least == most && most != 0 ? most : nil
    sampleRate = Int(body[10]) << 12 | Int(body[11]) << 4 | Int(body[12]) >> 4
    channels = Int(body[12] >> 1 & 7) + 1
    guard sampleRate > 0 else { return nil }
  }

  /// Returns the channels that the header of a frame states (9.1); nil for anything else.
  static func channels(ofFrame frame: [UInt8]) -> Int? {
    guard frame.count >= 4, frame[0] == 0xFF, frame[1] & 0xFE == 0xF8 else { return nil }
    let assignment = Int(frame[3] >> 4)
    return assignment < 8 ? assignment + 1 : assignment <= 10 ? 2 : nil
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }
}
