import CFFmpeg
import ReelCore

extension AudioFacts {
  /// The facts of a stream: as the sound's own header tells them, else as its container does.
  init(_ stream: UnsafeMutablePointer<AVStream>, header: SoundHeader? = nil) {
    let parameters = stream.pointee.codecpar
    let channels = reel_channels(parameters)
    let rate = parameters?.pointee.sample_rate ?? 0
    let codec = header?.codec ?? parameters?.pointee.codec_id ?? AV_CODEC_ID_NONE
    self.init(
      // A descriptor may name what is no sound.
      codec: avcodec_get_type(codec) == AVMEDIA_TYPE_AUDIO ? VideoFacts.codecName(codec) : nil,
      channels: [header?.channels, Int(channels)].compactMap(\.self).first(where: (1...1024).contains),
      sampleRate: [header?.sampleRate, Int(rate)].compactMap(\.self).first(where: (1...100_000_000).contains))
  }
}

extension SoundHeader {
  /// Bytes of a sample that are looked at: a frame of E-AC-3 and those that depend on it, or of DTS and what extends it.
  static let lookedAt = 4096

  /// The header of the sound in a stream: the one that the container keeps, else that of its first sample, where an index
  /// says where it is. Nil where neither is there.
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

/// What tells the channels and the rate of sound without a codec in an ISO base media file: its samples are numbers.
struct PlainSound {
  let channels: Int?
  let sampleRate: Int?

  /// Nil for sound of another kind, and where nothing but the sample entry tells.
  init?(_ stream: UnsafeMutablePointer<AVStream>, _ track: ISOTrack) {
    guard let codec = stream.pointee.codecpar?.pointee.codec_id else { return nil }
    let bits = Int(av_get_exact_bits_per_sample(codec))
    guard bits >= 8, bits % 8 == 0 else { return nil }
    // Else an entry of the table may be a block of many samples.
    let isOneEach = track.times?.runs.allSatisfy { $0.step == 1 } ?? false
    // Old QuickTime files say 1 for whatever size.
    let size = track.counts.size ?? 0
    channels = isOneEach && size > 1 && size % (bits / 8) == 0 ? size / (bits / 8) : nil
    sampleRate = isOneEach ? track.timescale.map(Int.init) : nil
  }

  /// Where its samples end in the file, where the sample entry gives them another size than they have, and FFmpeg goes by that;
  /// nil where it does not.
  static func end(of stream: UnsafeMutablePointer<AVStream>, _ track: ISOTrack) -> Int64? {
    guard let channels = PlainSound(stream, track)?.channels,
      channels != Int(reel_channels(stream.pointee.codecpar)) || track.entry?.plainCodec != nil
    else { return nil }
    return track.counts.end
  }
}
