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

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }
}
