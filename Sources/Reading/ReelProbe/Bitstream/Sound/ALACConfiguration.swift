/// The configuration of Apple Lossless ("ALAC magic cookie"), alone or in its box `alac`.
struct ALACConfiguration: Hashable {
  /// In hertz.
  let sampleRate: Int
  let channels: Int
  /// The number of samples of each frame.
  let frameLength: Int?

  /// Nil for anything else.
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

  /// Returns the channels by the first element of a frame, if it contradicts the record: two channels are a pair, while
  /// one, or more than two, begin with a single one. Nil if it does not contradict the record, or if this is no frame.
  static func channels(ofFrame frame: [UInt8], stated: Int) -> Int? {
    // Three bits for the element's type, four for its number, twelve that are 0.
    guard frame.count >= 3, frame[0] & 1 == 0, frame[1] == 0, frame[2] & 0xE0 == 0 else { return nil }
    switch frame[0] >> 5 {
    case 0: return stated == 2 ? 1 : nil
    case 1: return stated == 2 ? nil : 2
    default: return nil
    }
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }
}
