import CFFmpeg

/// The header of a frame of MPEG audio, layers I to III (ISO/IEC 11172-3, 2.4.1.3; 13818-3; and the lower rates that
/// are called MPEG 2.5).
struct MPEGAudioFrame: Hashable {
  /// In hertz.
  let sampleRate: Int
  let channels: Int
  /// From 1 to 3.
  let layer: Int
  /// The number of samples in one frame.
  let samples: Int
  /// The size of the frame in bytes, header included; nil if it is not stated (free format).
  let length: Int?

  /// Nil if no frame begins here.
  init?(_ frame: [UInt8]) {
    guard frame.count >= 4, frame[0] == 0xFF, frame[1] >> 5 == 7 else { return nil }
    let (version, layerBits) = (frame[1] >> 3 & 3, frame[1] >> 1 & 3)
    let (bitRate, rate) = (frame[2] >> 4, Int(frame[2] >> 2 & 3))
    guard version != 1, layerBits != 0, bitRate != 15, rate != 3, frame[3] & 3 != 2 else { return nil }
    let halved = [0: 2, 2: 1, 3: 0][version] ?? 0
    sampleRate = [44_100, 48_000, 32_000][rate] >> halved
    channels = frame[3] >> 6 == 3 ? 1 : 2
    layer = 4 - Int(layerBits)
    samples = layer == 1 ? 384 : layer == 3 && halved > 0 ? 576 : 1152
    let rates = Self.bitRates[halved > 0 ? (layer == 1 ? 3 : 4) : layer - 1]
    let padding = Int(frame[2] >> 1 & 1) * (layer == 1 ? 4 : 1)
    // Frames of layer I consist of whole words.
    let unit = layer == 1 ? 4 : 1
    length =
      bitRate == 0
      ? nil : samples * 1000 * rates[Int(bitRate) - 1] / 8 / unit / sampleRate * unit + padding
  }

  /// Kilobits per second of each layer, then of the first and of the others at the lower sampling rates.
  private static let bitRates = [
    [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ]

  var sound: SoundHeader {
    SoundHeader(channels: channels, sampleRate: sampleRate, codec: Self.layers[layer - 1])
  }

  private static let layers = [AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3]
}
