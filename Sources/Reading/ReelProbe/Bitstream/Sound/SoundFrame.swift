import CFFmpeg

/// The duration of one packet of sound according to its codec.
enum SoundFrame {
  /// The codecs in which each frame states its own duration, so that no record can be wrong about it.
  static let selfTold: Set<AVCodecID> = [
    AV_CODEC_ID_OPUS, AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3,
    AV_CODEC_ID_DTS,
  ]
  /// The number of bytes of a packet that are read. A longer one may hold more frames than were seen.
  static let longest = 1 << 16

  /// Returns the duration in seconds; nil for codecs whose packets differ in duration.
  ///
  /// - Parameter first: the first packet, which in some codecs holds several frames.
  static func seconds(_ parameters: UnsafeMutablePointer<AVCodecParameters>, first: [UInt8]) -> Double? {
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_AAC:
      advancedAudio(BitstreamHeader.extradata(of: parameters))
        ?? sum(first) { ADTSFrame($0).map { ($0.length, Double(1024 * $0.blocks) / Double($0.sampleRate)) } }
    case AV_CODEC_ID_OPUS: opus(first)
    case AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3:
      sum(first) { MPEGAudioFrame($0).map { ($0.length ?? 0, Double($0.samples) / Double($0.sampleRate)) } }
    case AV_CODEC_ID_FLAC:
      FLACStreamInfo(BitstreamHeader.extradata(of: parameters)).flatMap {
        seconds($0.frameLength, $0.sampleRate)
      }
    case AV_CODEC_ID_ALAC:
      ALACConfiguration(BitstreamHeader.extradata(of: parameters)).flatMap {
        seconds($0.frameLength, $0.sampleRate)
      }
    case AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3: sum(first, DolbyFrame.length)
    case AV_CODEC_ID_DTS: sum(first, theater)
    // These have a constant bit rate.
    case AV_CODEC_ID_WMAV1, AV_CODEC_ID_WMAV2:
      first.count == Int(parameters.pointee.block_align) && parameters.pointee.bit_rate > 0
        ? Double(8 * first.count) / Double(parameters.pointee.bit_rate) : nil
    default: nil
    }
  }

  /// Returns the total duration of the frames with which a packet begins; nil if there are none, or if the packet may
  /// continue beyond what was read.
  ///
  /// - Parameter frame: returns the bytes and the seconds of the frame that begins here, with 0 bytes if it does not
  ///   state its size.
  private static func sum(_ packet: [UInt8], _ frame: ([UInt8]) -> (bytes: Int, seconds: Double)?) -> Double?
  {
    guard packet.count < longest else { return nil }
    var (place, seconds) = (0, 0.0)
    while place < packet.count, let next = frame(Array(packet[place...].prefix(16))) {
      seconds += next.seconds
      guard next.bytes > 0 else { break }
      place += next.bytes
    }
    return seconds > 0 ? seconds : nil
  }

  /// Reads the core of a DTS frame (ETSI TS 102 114, 5.3.1).
  private static func theater(_ head: [UInt8]) -> (bytes: Int, seconds: Double)? {
    var reader = BitReader(head[...])
    guard reader.bits(32) == 0x7FFE_8001, reader.skipBits(1 + 5 + 1), let blocks = reader.bits(7),
      blocks >= 5, let size = reader.bits(14), size >= 95, reader.skipBits(6), let code = reader.bits(4),
      let rate = DTSFrame.rates[code]
    else { return nil }
    return (Int(size) + 1, Double(32 * (blocks + 1)) / Double(rate))
  }

  private static func seconds(_ samples: Int?, _ rate: Int) -> Double? {
    samples.flatMap { $0 > 0 && rate > 0 ? Double($0) / Double(rate) : nil }
  }

  private static func advancedAudio(_ record: [UInt8]) -> Double? {
    guard let configuration = AudioSpecificConfig(record) else { return nil }
    // Some writers state the doubled rate where that of the core belongs.
    let isClear =
      configuration.hasBandReplication != true || configuration.sampleRate != configuration.coreRate
    return isClear ? seconds(configuration.frameLength, configuration.coreRate) : nil
  }

  /// Returns the duration in seconds, by the first byte of the packet (RFC 6716, 3.1 and 3.2).
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
    // RFC 6716, 3.2.5: a packet with zero frames is invalid.
    case 3:
      return packet.count > 1 && packet[1] & 63 > 0 ? milliseconds * Double(packet[1] & 63) / 1000 : nil
    default: return 2 * milliseconds / 1000
    }
  }
}
