import CFFmpeg
import ReelCore

/// The sounds, by their packets.
extension ContentEvidence {
  /// Whether the facts of a sound require a packet of its stream.
  func needsFrame(of stream: StreamChoice.Stream) -> Bool {
    guard let parameters = stream.pointee.codecpar else { return false }
    // The first frame of AAC shows whether it has the channels that its record states.
    let isRecorded = parameters.pointee.codec_id == AV_CODEC_ID_AAC && !structure.container.isMPEG
    let isFramed =
      SoundHeader(parameters.pointee.codec_id, record: BitstreamHeader.extradata(of: parameters)) == nil
      && SoundHeader.framed.contains(parameters.pointee.codec_id)
    if DecodedSound.isOpen(parameters) { return true }
    return (isRecorded || isFramed) && clock?.firstPacket(of: stream, among: streams, in: structure) == nil
  }

  /// Returns what the codec's own header says about a stream's sound. If its times count, the rate comes from these.
  func sound(
    of stream: StreamChoice.Stream, _ scan: borrowing PacketScan, _ source: some ByteReading
  ) -> SoundHeader? {
    var told = stated(of: stream, scan, source)
    if let rate = told?.sampleRate { told?.sampleRate = heard(stream, insteadOf: rate) }
    return told
  }

  /// Returns the rate that counts for a sound whose codec states `rate`.
  func heard(_ stream: StreamChoice.Stream, insteadOf rate: Int) -> Int {
    falseSounds[stream.pointee.index]?.rate(insteadOf: rate) ?? rate
  }

  /// Whether only the flags of an FLV's tags describe a sound. They are always the same for AAC (E.4.2.1), and mean
  /// nothing for a codec with a name of its own.
  func isUntold(_ stream: StreamChoice.Stream) -> Bool {
    guard structure.container == .flv, let parameters = stream.pointee.codecpar else { return false }
    return switch parameters.pointee.codec_id {
    case AV_CODEC_ID_AAC: AudioSpecificConfig(BitstreamHeader.extradata(of: parameters)) == nil
    case AV_CODEC_ID_NONE: true
    default: false
    }
  }

  /// Whether the flags of an FLV's tags are not flags, because the name of a codec follows. FFmpeg before 8 takes
  /// them for flags.
  func hasNamedCodec(_ stream: StreamChoice.Stream) -> Bool {
    let named = structure.namedCodecs.map { [$0.sound].compactMap(\.self) + $0.furtherSounds } ?? []
    return named.contains { $0.id == stream.pointee.codecpar?.pointee.codec_id }
  }

  /// Returns a sound of a program stream, without a frame of MPEG audio, in a codec that FFmpeg does not look for
  /// there; nil for any other.
  func surveillanceSound(_ stream: StreamChoice.Stream) -> AudioFacts? {
    guard structure.container == .mpegPS else { return nil }
    return beginning?.surveillanceSound(UInt8(truncatingIfNeeded: stream.pointee.id))
  }

  /// The sounds of a transport stream in codecs for which FFmpeg has no number: each packet says of what kind it is.
  var soundsWithoutNumber: [AudioFacts] {
    guard structure.container == .mpegTS || structure.container == .m2ts else { return [] }
    return streams.all.filter { stream in
      ![AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_VIDEO].contains(stream.pointee.codecpar.pointee.codec_type)
        && key(of: stream).flatMap { beginning?.isOfPictures($0) } == false
    }.map {
      MultiplexBeginning.surveillanceSound(
        type: UInt8(truncatingIfNeeded: $0.pointee.codecpar.pointee.codec_tag)) ?? AudioFacts()
    }
  }

  private func stated(
    of stream: StreamChoice.Stream, _ scan: borrowing PacketScan, _ source: some ByteReading
  ) -> SoundHeader? {
    guard let parameters = stream.pointee.codecpar else { return nil }
    let codec = parameters.pointee.codec_id
    // The frames of a multiplex do not show what spectral band replication adds. A decoder has already reported it.
    if structure.container.isMPEG, codec == AV_CODEC_ID_AAC { return nil }
    if DecodedSound.isOpen(parameters), let packet = scan.firsts[stream.pointee.index],
      let decoded = DecodedSound.header(parameters, packet)
    {
      return decoded
    }
    if let told = SoundHeader(codec, record: BitstreamHeader.extradata(of: parameters)) { return told }
    if let packet = scan.firsts[stream.pointee.index] {
      // Frames of AAC in ADTS do not show what spectral band replication adds.
      return DecodedSound.header(parameters, packet)
        ?? SoundHeader(codec, frame: BitstreamHeader.bytes(of: packet))
    }
    guard let bytes = clock?.firstPacket(of: stream, among: streams, in: structure) else { return nil }
    let count = Int(min(Int64(SoundHeader.lookedAt), bytes.upperBound - bytes.lowerBound))
    return SoundHeader(codec, frame: source.bytes(at: bytes.lowerBound, count: count))
  }
}
