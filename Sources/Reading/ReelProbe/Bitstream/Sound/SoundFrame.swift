import CFFmpeg

/// How long one packet of sound lasts by its codec.
enum SoundFrame {
  /// Seconds; nil for codecs whose packets differ in length.
  ///
  /// - Parameter first: the beginning of the first packet.
  static func seconds(_ parameters: UnsafeMutablePointer<AVCodecParameters>, first: [UInt8]) -> Double? {
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_AAC: advancedAudio(BitstreamHeader.extradata(of: parameters))
    case AV_CODEC_ID_OPUS: opus(first)
    case AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3:
      MPEGAudioFrame(first).map { Double($0.samples) / Double($0.sampleRate) }
    case AV_CODEC_ID_FLAC:
      FLACStreamInfo(BitstreamHeader.extradata(of: parameters)).flatMap {
        seconds($0.frameLength, $0.sampleRate)
      }
    case AV_CODEC_ID_ALAC:
      ALACConfiguration(BitstreamHeader.extradata(of: parameters)).flatMap {
        seconds($0.frameLength, $0.sampleRate)
      }
    case AV_CODEC_ID_AC3: DolbyFrame.sound(first)?.sampleRate.map { 1536 / Double($0) }
    default: nil
    }
  }

  private static func seconds(_ samples: Int?, _ rate: Int) -> Double? {
    samples.flatMap { $0 > 0 && rate > 0 ? Double($0) / Double(rate) : nil }
  }

  private static func advancedAudio(_ record: [UInt8]) -> Double? {
    guard let configuration = AudioSpecificConfig(record) else { return nil }
    // Some writers put the doubled rate where that of the core belongs.
    let isClear =
      configuration.hasBandReplication != true || configuration.sampleRate != configuration.coreRate
    return isClear ? seconds(configuration.frameLength, configuration.coreRate) : nil
  }

  /// By the byte that each packet begins with (RFC 6716, 3.1 and 3.2).
  static func opus(_ packet: [UInt8]) -> Double? {
    guard let first = packet.first else { return nil }
    let kind = Int(first >> 3)
    let milliseconds: Double =
      switch kind {
      case 0..<12: [10, 20, 40, 60][kind % 4]
      case 12..<16: [10, 20][kind % 2]
      default: [2.5, 5, 10, 20][kind % 4]
      }
    switch first & 3 {
    case 0: return milliseconds / 1000
    // RFC 6716, 3.2.5: a count of zero is none.
    case 3:
      return packet.count > 1 && packet[1] & 63 > 0 ? milliseconds * Double(packet[1] & 63) / 1000 : nil
    default: return 2 * milliseconds / 1000
    }
  }
}
