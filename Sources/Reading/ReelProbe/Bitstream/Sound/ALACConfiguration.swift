/// The configuration of Apple Lossless ("ALAC magic cookie"), alone or in its box `alac`.
struct ALACConfiguration: Hashable {
  /// Hertz.
  let sampleRate: Int
  let channels: Int
  /// Samples of each frame.
  let frameLength: Int?

  /// Nil for what is none.
  init?(_ record: [UInt8]) {
    // The box: its size and type, a version with flags.
    let isBoxed = record.count >= 36 && record[4..<8].elementsEqual("alac".utf8)
    let start = isBoxed ? 12 : 0
    guard let channels = record.number(at: start + 9, bytes: 1),
      let rate = record.number(at: start + 20, bytes: 4),
      channels > 0, rate > 0
    else { return nil }
    (self.channels, sampleRate) = (channels, rate)
    frameLength = record.number(at: start, bytes: 4)
  }

  /// By the first element of a frame, where it contradicts the record: two channels are a pair, one and more than two begin
  /// with a single one. Nil where it does not, and for what is no frame.
  static func channels(ofFrame frame: [UInt8], stated: Int) -> Int? {
    // Three bits of the kind, four of its number, twelve that are 0.
    guard frame.count >= 3, frame[0] & 1 == 0, frame[1] == 0, frame[2] & 0xE0 == 0 else { return nil }
    switch frame[0] >> 5 {
    case 0: return stated == 2 ? 1 : nil
    case 1: return stated == 2 ? nil : 2
    default: return nil
    }
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }
}
