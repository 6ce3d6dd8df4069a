import CFFmpeg

/// What the header of a sound's own codec states: the sound as it is heard, with all that a decoder adds.
struct SoundHeader: Hashable {
  /// Nil if the header does not state it.
  var channels: Int?
  /// In hertz; nil if the header does not state it.
  var sampleRate: Int?
  /// The codec, if the frame shows which it is of several that have one name in a container: MP4 has one for all layers
  /// of MPEG audio (ISO/IEC 14496-1, table 5).
  let codec: AVCodecID?

  init(channels: Int?, sampleRate: Int?, codec: AVCodecID? = nil) {
    self.codec = codec
    self.channels = channels.flatMap { (1...1024).contains($0) ? $0 : nil }
    self.sampleRate = sampleRate.flatMap { (1...100_000_000).contains($0) ? $0 : nil }
  }

  /// Reads the header that a container stores beside the samples, as FFmpeg passes it on (`extradata`). Nil if it
  /// states neither channels nor rate, or if this codec has none.
  init?(_ codec: AVCodecID, record: [UInt8]) {
    let found: SoundHeader?
    switch codec {
    case AV_CODEC_ID_AAC, AV_CODEC_ID_MP4ALS: found = AudioSpecificConfig(record)?.sound
    case AV_CODEC_ID_OPUS: found = OpusHeader(record)?.sound
    case AV_CODEC_ID_FLAC: found = FLACStreamInfo(record)?.sound
    case AV_CODEC_ID_ALAC: found = ALACConfiguration(record)?.sound
    case AV_CODEC_ID_VORBIS: found = VorbisHeader(record)?.sound
    default: found = nil
    }
    guard let found, found.channels != nil || found.sampleRate != nil else { return nil }
    self = found
  }

  /// The codecs whose packets begin with a header, without which the container's statement is worthless.
  static let framed: Set<AVCodecID> =
    [
      AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS,
      AV_CODEC_ID_PCM_BLURAY, AV_CODEC_ID_PCM_DVD, AV_CODEC_ID_S302M,
    ]
  /// Those that have no other kind of header. DTS Express has one (ETSI TS 102 114, 9), and FFmpeg gives it the same
  /// name as DTS.
  static let alwaysFramed = framed.subtracting([AV_CODEC_ID_DTS])

  /// Reads the beginning of a sample or packet. Nil if it does not begin with a complete header of this codec, or if
  /// this codec has none.
  init?(_ codec: AVCodecID, frame: [UInt8]) {
    let found: SoundHeader?
    switch codec {
    case AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3: found = MPEGAudioFrame(frame)?.sound
    case AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3: found = DolbyFrame.sound(frame)
    case AV_CODEC_ID_AAC: found = ADTSFrame(frame)?.sound
    case AV_CODEC_ID_DTS: found = DTSFrame(frame)?.sound
    case AV_CODEC_ID_PCM_BLURAY: found = PCMPacket.sound(ofBluRay: frame)
    case AV_CODEC_ID_PCM_DVD: found = PCMPacket.sound(ofDVD: frame)
    case AV_CODEC_ID_S302M: found = PCMPacket.sound(ofS302M: frame)
    default: found = nil
    }
    guard let found, found.channels != nil || found.sampleRate != nil else { return nil }
    self = found
  }
}

/// Big-endian numbers in a record; nil beyond its end.
extension [UInt8] {
  func number(at place: Int, bytes count: Int) -> Int? {
    guard place >= 0, count <= 4, place + count <= self.count else { return nil }
    return self[place..<(place + count)].reduce(0) { $0 << 8 | Int($1) }
  }
}
