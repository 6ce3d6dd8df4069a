import CFFmpeg

/// The header of a frame of MPEG audio, layers I to III (ISO/IEC 11172-3, 2.4.1.3; 13818-3; and the lower rates that
/// are called MPEG 2.5).
struct MPEGAudioFrame: Hashable {
  /// Hertz.
  let sampleRate: Int
  let channels: Int
  /// 1 to 3
  let layer: Int
  /// In one frame.
  let samples: Int

  /// Nil where none begins.
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
  }

  var sound: SoundHeader {
    SoundHeader(channels: channels, sampleRate: sampleRate, codec: Self.layers[layer - 1])
  }

  private static let layers = [AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3]
}
