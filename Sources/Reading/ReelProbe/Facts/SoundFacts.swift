import CFFmpeg
import ReelCore

extension AudioFacts {
  /// The facts of a stream: by the sound's own header, otherwise by its container.
  init(_ stream: UnsafeMutablePointer<AVStream>, header: SoundHeader? = nil) {
    let parameters = stream.pointee.codecpar
    let channels = reel_channels(parameters)
    let rate = parameters?.pointee.sample_rate ?? 0
    let codec = header?.codec ?? parameters?.pointee.codec_id ?? AV_CODEC_ID_NONE
    self.init(
      // A descriptor may name a codec that is not one of sound.
      codec: avcodec_get_type(codec) == AVMEDIA_TYPE_AUDIO ? VideoFacts.codecName(codec) : nil,
      channels: [header?.channels, Int(channels)].compactMap(\.self).first(where: (1...1024).contains),
      sampleRate: [header?.sampleRate, Int(rate)].compactMap(\.self).first(where: (1...100_000_000).contains))
  }
}

extension SoundHeader {
  /// The bytes of a sample to look at: those of a frame of E-AC-3 and its dependent ones, or of DTS and its
  /// extensions.
  static let lookedAt = 4096

  /// Reads the header of the sound in a stream: the one that the container keeps, otherwise that of its first sample,
  /// if an index says where that is. Returns nil if there is neither.
  init?(_ stream: UnsafeMutablePointer<AVStream>, of file: some ByteReading, isEncrypted: Bool) {
    guard let parameters = stream.pointee.codecpar else { return nil }
    let codec = parameters.pointee.codec_id
    if let told = SoundHeader(codec, record: BitstreamHeader.extradata(of: parameters)) {
      self = told
      return
    }
    guard !isEncrypted, Self.framed.contains(codec), let first = avformat_index_get_entry(stream, 0),
      let told = SoundHeader(codec, frame: file.bytes(at: first.pointee.pos, count: Self.lookedAt))
    else { return nil }
    self = told
  }
}

/// The channels and the rate of uncompressed sound in an ISO base media file. Its samples are numbers.
struct PlainSound {
  let channels: Int?
  let sampleRate: Int?

  /// Returns nil for sound of another kind. A property is nil if only the sample entry states it.
  init?(_ stream: UnsafeMutablePointer<AVStream>, _ track: ISOTrack) {
    guard let codec = stream.pointee.codecpar?.pointee.codec_id else { return nil }
    let bits = Int(av_get_exact_bits_per_sample(codec))
    guard bits >= 8, bits % 8 == 0 else { return nil }
    // If samples do not last one tick each, an entry of the table may be a block of many samples.
    let isOneEach = track.times?.runs.allSatisfy { $0.step == 1 } ?? false
    // Old QuickTime files state a size of 1, whatever it is.
    let size = track.counts.size ?? 0
    channels = isOneEach && size > 1 && size % (bits / 8) == 0 ? size / (bits / 8) : nil
    sampleRate = isOneEach ? track.timescale.map(Int.init) : nil
  }

  /// Returns where the samples end in the file, if the sample entry gives them a wrong size that FFmpeg relies on;
  /// otherwise nil.
  static func end(of stream: UnsafeMutablePointer<AVStream>, _ track: ISOTrack) -> Int64? {
    guard let channels = PlainSound(stream, track)?.channels,
      channels != Int(reel_channels(stream.pointee.codecpar)) || track.entry?.plainCodec != nil
    else { return nil }
    return track.counts.end
  }
}
