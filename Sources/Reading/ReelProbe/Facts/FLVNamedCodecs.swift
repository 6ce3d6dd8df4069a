import CFFmpeg
import ReelCore

/// The codecs that an FLV file names in its tags (Enhanced RTMP). FFmpeg reads these from 6.1 on; before that it
/// takes the names for the numbers of other codecs. Codecs whose number is not Adobe's, which FFmpeg does not know,
/// are here, too.
struct FLVNamedCodecs: Hashable {
  /// The codecs of the pictures and of the sound; nil for a codec that has a number of Adobe's.
  let pictures: Codec?
  let sound: Codec?
  /// The sounds besides the first that have a track each, in the order of the tracks. FFmpeg before 8 makes one
  /// stream of them.
  let furtherSounds: [Codec]
  /// The sound whose codec has no name. If the pictures' codec has one, FFmpeg may stop before it reaches this sound.
  private let plainSound: AudioFacts?

  struct Codec: Hashable {
    let name: FourCharacterCode
    /// FFmpeg's number for the codec; `AV_CODEC_ID_NONE` if the name is not known here.
    let id: AVCodecID
    /// The codec's own header; empty if it has none.
    let record: [UInt8]
    /// The bytes of the first picture with which decoding can begin.
    let keyFrame: Range<Int64>?
  }

  /// The size of the pictures that the header states.
  private let size: PixelSize?

  /// The most tags in which to look for these, and the most bytes of a picture.
  private static let mostTags = 256
  private static let longestPicture = 4 << 20

  private static let codecs: [FourCharacterCode: AVCodecID] = [
    "avc1": AV_CODEC_ID_H264, "hvc1": AV_CODEC_ID_HEVC, "av01": AV_CODEC_ID_AV1, "vp09": AV_CODEC_ID_VP9,
    "vp08": AV_CODEC_ID_VP8, "mp4a": AV_CODEC_ID_AAC, "Opus": AV_CODEC_ID_OPUS, "fLaC": AV_CODEC_ID_FLAC,
    "ac-3": AV_CODEC_ID_AC3, "ec-3": AV_CODEC_ID_EAC3, ".mp3": AV_CODEC_ID_MP3,
  ]

  /// Returns nil if no tag at the beginning names a codec.
  init?(_ file: some ByteReading) {
    guard let header = file.bigEndian(at: 5, width: 4), header >= 9, header < 1 << 20 else { return nil }
    var next = Int64(header) + 4
    var (names, records, keyFrame): ([Int: FourCharacterCode], [Int: [UInt8]], Range<Int64>?) = (
      [:], [:], nil
    )
    var (further, plain): ([UInt8: Codec], AudioFacts?) = ([:], nil)
    for _ in 0..<Self.mostTags {
      guard let tag = FLVTag(file, at: next) else {
        guard let end = FLVTag.end(file, at: next) else { break }
        next = end + 4
        continue
      }
      if let name = tag.name ?? Self.name(ofNumberIn: tag, file) {
        if names[tag.kind] == nil { names[tag.kind] = name }
        if records[tag.kind] == nil, let record = tag.record {
          records[tag.kind] = file.bytes(at: record.lowerBound, count: record.count)
        }
      } else if let (track, name) = tag.furtherSound {
        if further[track]?.record.isEmpty ?? true {
          let record = tag.furtherRecord.map { file.bytes(at: $0.lowerBound, count: $0.count) }
          further[track] = Codec(
            name: name, id: Self.codecs[name] ?? AV_CODEC_ID_NONE, record: record ?? [], keyFrame: nil)
        }
      } else if tag.soundFormat != nil {
        plain = plain ?? Self.plainSound(tag, file)
      } else if tag.isContent, names[tag.kind] == nil, tag.kind == 9 {
        // The first tag of pictures decides, and pictures come first or soon.
        break
      }
      if names[9] != nil { keyFrame = keyFrame ?? tag.keyFrame }
      if names[9] != nil, keyFrame != nil, names[8] != nil { break }
      next = tag.end + 4
    }
    func codec(_ kind: Int) -> Codec? {
      names[kind].map { name in
        Codec(
          name: name, id: Self.codecs[name] ?? AV_CODEC_ID_NONE, record: records[kind] ?? [],
          keyFrame: kind == 9 ? keyFrame.flatMap { $0.count <= Self.longestPicture ? $0 : nil } : nil)
      }
    }
    (pictures, sound) = (codec(9), codec(8))
    furtherSounds = further.sorted { $0.key < $1.key }.map(\.value)
    plainSound = plain
    guard !names.isEmpty || !further.isEmpty else { return nil }
    let sides = [FLVFile.metadata("width", of: file), FLVFile.metadata("height", of: file)].compactMap {
      $0.flatMap { (1...65_536).contains($0) ? Int($0) : nil }
    }
    size = sides.count == 2 ? PixelSize(width: sides[0], height: sides[1]) : nil
  }

  /// Returns the name for a number that is not Adobe's, if the record of such a codec is there, too.
  private static func name(ofNumberIn tag: FLVTag, _ file: some ByteReading) -> FourCharacterCode? {
    guard let name = tag.nameOfNumber, let range = tag.record else { return nil }
    let record = file.bytes(at: range.lowerBound, count: range.count)
    return (name == "hvc1" ? HEVCConfiguration(record) != nil : record.first == 0x81) ? name : nil
  }

  /// Returns the facts of a sound without a name, by its record or frame. The flags tell nothing about AAC, and
  /// little about others.
  private static func plainSound(_ tag: FLVTag, _ file: some ByteReading) -> AudioFacts {
    let (codec, told): (AVCodecID, SoundHeader?) =
      switch tag.soundFormat {
      case 10:
        (
          AV_CODEC_ID_AAC,
          tag.record.flatMap {
            SoundHeader(AV_CODEC_ID_AAC, record: file.bytes(at: $0.lowerBound, count: $0.count))
          }
        )
      case 2, 14:
        (AV_CODEC_ID_MP3, SoundHeader(AV_CODEC_ID_MP3, frame: file.bytes(at: tag.start + 12, count: 4)))
      default: sound(ofNumber: tag.soundFormat, flags: tag.soundFlags)
      }
    return AudioFacts(
      codec: VideoFacts.codecName(told?.codec ?? codec), channels: told?.channels,
      sampleRate: told?.sampleRate)
  }

  /// Returns what the number and the flags say (Adobe, Video File Format Specification 10.1, E.4.2.1), for codecs
  /// without a header of their own.
  private static func sound(ofNumber format: UInt8?, flags: UInt8) -> (AVCodecID, SoundHeader?) {
    let rate = 44_100 >> (3 - Int(flags >> 2 & 3))
    let isWide = flags & 2 != 0
    let codec: AVCodecID
    var told = (channels: Int(flags & 1) + 1, rate: rate)
    switch format {
    // Stored in the byte order of the machine that wrote it; all of those in use today are little-endian.
    case 0, 3: codec = isWide ? AV_CODEC_ID_PCM_S16LE : AV_CODEC_ID_PCM_U8
    case 1: codec = AV_CODEC_ID_ADPCM_SWF
    case 4: (codec, told) = (AV_CODEC_ID_NELLYMOSER, (1, 16_000))
    case 5: (codec, told) = (AV_CODEC_ID_NELLYMOSER, (1, 8_000))
    case 6: codec = AV_CODEC_ID_NELLYMOSER
    case 7: (codec, told.rate) = (AV_CODEC_ID_PCM_ALAW, 8_000)
    case 8: (codec, told.rate) = (AV_CODEC_ID_PCM_MULAW, 8_000)
    case 11: (codec, told) = (AV_CODEC_ID_SPEEX, (1, 16_000))
    default: return (AV_CODEC_ID_NONE, nil)
    }
    return (codec, SoundHeader(channels: told.channels, sampleRate: told.rate))
  }

  /// Returns the sounds for which FFmpeg has made no stream.
  func soundsWithoutStreams(_ streams: StreamChoice) -> [AudioFacts] {
    func facts(_ codec: Codec) -> AudioFacts {
      let told = SoundHeader(codec.id, record: codec.record)
      return AudioFacts(
        codec: VideoFacts.codecName(codec.id), channels: told?.channels, sampleRate: told?.sampleRate)
    }
    let first = sound.map(facts) ?? plainSound
    return Array(([first].compactMap(\.self) + furtherSounds.map(facts)).dropFirst(streams.audios.count))
  }

  /// Sets the codecs of streams whose codec names FFmpeg does not know.
  func complete(_ streams: [StreamChoice.Stream], from file: some ByteReading) {
    if let pictures, let stream = Self.unknown(AVMEDIA_TYPE_VIDEO, pictures, streams) {
      Self.put(pictures, in: stream)
      stream.pointee.avg_frame_rate = AVRational(num: 0, den: 1)
      stream.pointee.r_frame_rate = AVRational(num: 0, den: 1)
      stream.pointee.codecpar.pointee.width = Int32(clamping: size?.width ?? 0)
      stream.pointee.codecpar.pointee.height = Int32(clamping: size?.height ?? 0)
      readPicture(pictures, into: stream, from: file)
    }
    if let sound, let stream = Self.unknown(AVMEDIA_TYPE_AUDIO, sound, streams) {
      Self.put(sound, in: stream)
    }
    let unnamed = streams.filter {
      $0.pointee.codecpar?.pointee.codec_type == AVMEDIA_TYPE_AUDIO
        && $0.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_NONE
    }
    for (stream, sound) in zip(unnamed, furtherSounds) { Self.put(sound, in: stream) }
  }

  /// Returns the first stream of a type, if no stream of that type has the codec.
  private static func unknown(
    _ type: AVMediaType, _ codec: Codec, _ streams: [StreamChoice.Stream]
  ) -> StreamChoice.Stream? {
    guard codec.id != AV_CODEC_ID_NONE else { return nil }
    let own = streams.filter { $0.pointee.codecpar?.pointee.codec_type == type }
    return own.contains { $0.pointee.codecpar.pointee.codec_id == codec.id } ? nil : own.first
  }

  private static func put(_ codec: Codec, in stream: StreamChoice.Stream) {
    guard let parameters = stream.pointee.codecpar else { return }
    parameters.pointee.codec_id = codec.id
    parameters.pointee.codec_tag = 0
    parameters.pointee.format = -1
    av_freep(&parameters.pointee.extradata)
    parameters.pointee.extradata_size = 0
    guard !codec.record.isEmpty,
      let memory = av_mallocz(codec.record.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))
    else { return }
    memory.copyMemory(from: codec.record, byteCount: codec.record.count)
    parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
    parameters.pointee.extradata_size = Int32(codec.record.count)
  }

  private func readPicture(_ codec: Codec, into stream: StreamChoice.Stream, from file: some ByteReading) {
    guard let parameters = stream.pointee.codecpar, let range = codec.keyFrame,
      var packet = MadePacket.of(range, in: file)
    else { return }
    defer { MadePacket.free(&packet) }
    packet.pointee.flags |= AV_PKT_FLAG_KEY
    BitstreamHeader(parameters, packet: packet)?.apply(in: parameters)
  }
}

/// A packet made of bytes in the file, without FFmpeg's demuxer.
enum MadePacket {
  /// Returns a packet for the caller to free; nil if the bytes are not all there, or memory is short.
  static func of(_ range: Range<Int64>, in file: some ByteReading) -> UnsafeMutablePointer<AVPacket>? {
    let bytes = file.bytes(at: range.lowerBound, count: range.count)
    return bytes.count == range.count ? of(bytes) : nil
  }

  static func of(_ bytes: [UInt8]) -> UnsafeMutablePointer<AVPacket>? {
    var made = av_packet_alloc()
    guard let packet = made,
      av_new_packet(packet, Int32(clamping: bytes.count)) >= 0,
      let data = packet.pointee.data
    else {
      av_packet_free(&made)
      return nil
    }
    for (place, byte) in bytes.enumerated() { data[place] = byte }
    return packet
  }

  static func free(_ packet: inout UnsafeMutablePointer<AVPacket>) {
    var freed: UnsafeMutablePointer<AVPacket>? = packet
    av_packet_free(&freed)
  }
}
