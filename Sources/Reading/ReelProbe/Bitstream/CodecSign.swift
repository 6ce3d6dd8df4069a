import CFFmpeg

/// The marks in a packet that identify its codec or rule one out.
enum CodecSign {
  /// Returns the codec that a stream's first packet and record belong to if it is not the claimed one, or
  /// `AV_CODEC_ID_NONE` if they lack the marks of the claimed codec and bear no others that are known here. Nil if
  /// nothing contradicts the claim; a placeholder packet that repeats one byte does not.
  static func other(than claimed: AVCodecID, packet: [UInt8], record: [UInt8]) -> AVCodecID? {
    guard packet.count >= 8 else { return nil }
    // Marks that several codecs share, such as start codes, rule none of them out. Parameter sets do.
    let sets = parameterSets(in: packet, record) ?? (flash.contains(claimed) ? tagged(packet) : nil)
    if let sets, sets != claimed { return sets }
    guard isMissing(in: packet, of: claimed, record: record), !packet.allSatisfy({ $0 == packet[0] }) else {
      return nil
    }
    let found = codec(of: packet, record) ?? AV_CODEC_ID_NONE
    return found == claimed ? nil : found
  }

  /// Returns the codec of a packet that cannot hold the uncompressed pixels that are claimed; nil if it bears no mark
  /// that is known here.
  static func codec(insteadOfPixels packet: [UInt8], record: [UInt8]) -> AVCodecID? {
    packet.count < 8 ? nil : parameterSets(in: packet, record) ?? codec(of: packet, record)
  }

  /// The codecs that FFmpeg identifies by the flags of an FLV's tag alone.
  static let flash: Set<AVCodecID> = [
    AV_CODEC_ID_FLV1, AV_CODEC_ID_FLASHSV, AV_CODEC_ID_VP6F, AV_CODEC_ID_VP6A,
  ]

  /// Returns H.264 or HEVC, if a configuration record or parameter sets of it can be read; nil if there are none, or
  /// those of both.
  private static func parameterSets(in packet: [UInt8], _ record: [UInt8]) -> AVCodecID? {
    if isRecord(record) { return AV_CODEC_ID_H264 }
    let hevc = HEVCConfiguration(record)?.sequenceParameterSets.first
    if hevc.flatMap({ HEVCSequenceParameters(unit: $0) }) != nil { return AV_CODEC_ID_HEVC }
    guard record.first != 1, beginsWithCode(packet) else { return nil }
    let units = Array(StartCodeUnits(packet).prefix(64))
    // Start codes of other codecs would pass for NAL units, too: those of a picture (0) and a sequence (0xB3) of MPEG-1
    // and MPEG-2 (ISO/IEC 13818-2, table 6-1).
    guard units.allSatisfy({ ($0.first ?? 0) & 0x80 == 0 }) else { return nil }
    let isH264 =
      units.contains { isSet(7, $0) && H264SequenceParameters(unit: $0) != nil }
      && units.contains { isSet(8, $0) } && !units.contains { $0.first == 0 }
    let isHEVC =
      units.contains { $0.starts(with: [0x42, 1]) && HEVCSequenceParameters(unit: $0) != nil }
      && units.contains { $0.starts(with: [0x44, 1]) }
    return isH264 == isHEVC ? nil : isH264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_HEVC
  }

  /// Whether an H.264 NAL unit has the given type and may be referred to, as parameter sets must (7.4.1).
  private static func isSet(_ type: UInt8, _ unit: ArraySlice<UInt8>) -> Bool {
    unit.first.map { $0 & 0x1f == type && $0 & 0x60 != 0 } ?? false
  }

  private static func isRecord(_ record: [UInt8]) -> Bool {
    let set = AVCConfiguration(record)?.sequenceParameterSets.first
    return set.flatMap { H264SequenceParameters(unit: $0) } != nil
  }

  /// Returns H.264 if the packet has its record, as in the first tag of an FLV (Adobe Flash Video File Format 10.1,
  /// E.4.3.1). FFmpeg has removed the first byte of that tag, and for VP6 the second, too.
  private static func tagged(_ packet: [UInt8]) -> AVCodecID? {
    [3, 4].contains { isRecord(Array(packet.dropFirst($0))) } ? AV_CODEC_ID_H264 : nil
  }

  /// Returns the codec of a sound packet that does not begin with a frame of the claimed codec. AAC in ADTS is
  /// recognized by a frame that fills the packet, or by two consecutive frames; MPEG audio and FLAC by sync words with
  /// which no frame of a codec without sync words begins; Dolby's codecs and DTS by their long sync words.
  ///
  /// - Parameter isFramed: whether codecs without sync words are framed here, as in MPEG's multiplexes.
  static func otherSound(than claimed: AVCodecID, packet: [UInt8], isFramed: Bool = false) -> AVCodecID? {
    // On Blu-ray, frames of AC-3 are interleaved with those of TrueHD.
    guard claimed != AV_CODEC_ID_NONE, claimed != AV_CODEC_ID_TRUEHD,
      SoundHeader(claimed, frame: packet) == nil
    else { return nil }
    if let sound = DolbyFrame.sound(packet) { return sound.codec ?? AV_CODEC_ID_AC3 }
    if DTSFrame(packet) != nil { return AV_CODEC_ID_DTS }
    let isUnmarked = !isFramed && unmarkedSounds.contains(claimed)
    guard markedSounds.contains(claimed) || isUnmarked else { return nil }
    if isUnmarked, let sound = MPEGAudioFrame(packet)?.sound { return sound.codec }
    if claimed != AV_CODEC_ID_FLAC, isFLAC(packet) { return AV_CODEC_ID_FLAC }
    guard let first = ADTSFrame(packet) else { return nil }
    if first.length == packet.count { return AV_CODEC_ID_AAC }
    guard let next = ADTSFrame(Array(packet.dropFirst(first.length).prefix(8))),
      (first.sampleRate, first.channels) == (next.sampleRate, next.channels)
    else { return nil }
    return AV_CODEC_ID_AAC
  }

  /// The codecs each frame of which begins with a mark.
  static let markedSounds: Set<AVCodecID> = [
    AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS,
  ]
  static let unmarkedSounds: Set<AVCodecID> = [
    AV_CODEC_ID_AAC, AV_CODEC_ID_OPUS, AV_CODEC_ID_VORBIS, AV_CODEC_ID_FLAC, AV_CODEC_ID_ALAC,
  ]

  /// Returns the codec of a record, by the name in it. FLAC's record has no name as FFmpeg passes it on, and states
  /// blocks of at least 16 samples.
  static func codec(ofSoundRecord record: [UInt8]) -> AVCodecID? {
    if OpusHeader(record) != nil { return AV_CODEC_ID_OPUS }
    if VorbisHeader(record) != nil { return AV_CODEC_ID_VORBIS }
    let isBare = record.count == 34 && record.number(at: 0, bytes: 2) ?? 0 >= 16
    return (isBare || contains("fLaC", record.prefix(4))) && FLACStreamInfo(record) != nil
      ? AV_CODEC_ID_FLAC : nil
  }

  /// The codecs that no file stores without a record.
  static let recordedSounds: Set<AVCodecID> = [AV_CODEC_ID_OPUS, AV_CODEC_ID_VORBIS, AV_CODEC_ID_FLAC]

  /// Whether the first packet of a sound stream cannot belong to the claimed codec.
  static func isMissing(inSound packet: [UInt8], of codec: AVCodecID) -> Bool {
    guard packet.count >= 4 else { return false }
    switch codec {
    case AV_CODEC_ID_FLAC: return !isFLAC(packet)
    case AV_CODEC_ID_OPUS: return !isOpus(packet)
    // In an element with channels, the twelve bits after its instance number are 0.
    case AV_CODEC_ID_ALAC:
      return [0, 1, 3].contains(packet[0] >> 5)
        && !(packet[0] & 1 == 0 && packet[1] == 0 && packet[2] & 0xE0 == 0)
    default: return false
    }
  }

  /// Whether a packet of one of the `markedSounds` has the mark of its codec.
  static func isMarked(_ packet: [UInt8], _ codec: AVCodecID) -> Bool {
    guard codec == AV_CODEC_ID_DTS else { return SoundHeader(codec, frame: packet) != nil }
    return theaterMarks.contains { packet.firstRange(of: $0) != nil }
  }

  /// The sync words of DTS: of 16 and 14 bits in both orders of bytes, and of a substream (ETSI TS 102 114, 5.3.1, 6.1
  /// and 7.4.1).
  private static let theaterMarks: [[UInt8]] = [
    [0x7F, 0xFE, 0x80, 0x01], [0xFE, 0x7F, 0x01, 0x80], [0x1F, 0xFF, 0xE8, 0x00], [0xFF, 0x1F, 0x00, 0xE8],
    [0x64, 0x58, 0x20, 0x25],
  ]

  /// Whether a whole packet of sound can't be of the codec. Packets of other codecs may pass, but not most of them.
  ///
  /// - Parameter step: the seconds to the next packet.
  static func isImpossible(_ packet: [UInt8], _ codec: AVCodecID, step: Double?) -> Bool {
    guard let first = packet.first else { return false }
    switch codec {
    case AV_CODEC_ID_OPUS:
      guard isOpus(packet), hasRoom(inOpus: packet), let seconds = SoundFrame.opus(packet) else {
        return true
      }
      return step.map { seconds > 1.5 * $0 + 0.002 } ?? false
    // Only headers, which are in the record, have this bit (Vorbis I, 4.2.1 and 4.3.1).
    case AV_CODEC_ID_VORBIS: return first & 1 == 1
    case AV_CODEC_ID_ALAC:
      return isUnusual(inSound: packet, of: codec) || isMissing(inSound: packet, of: codec)
    default: return isMissing(inSound: packet, of: codec)
    }
  }

  /// Whether a packet can belong to the claimed codec only if its duration is the one that its own header gives.
  static func isUnusual(inSound packet: [UInt8], of codec: AVCodecID) -> Bool {
    // All known ALAC frames begin with an element that has channels.
    codec == AV_CODEC_ID_OPUS || codec == AV_CODEC_ID_ALAC && ![0, 1, 3].contains((packet.first ?? 0) >> 5)
  }

  /// Whether the packet begins with a FLAC frame's sync code, and no reserved value follows it (RFC 9639, 9.1).
  private static func isFLAC(_ packet: [UInt8]) -> Bool {
    FLACStreamInfo.channels(ofFrame: packet) != nil && packet[2] >> 4 != 0 && packet[2] & 15 != 15
      && packet[3] & 1 == 0 && packet[3] >> 1 & 7 != 3
  }

  /// Whether the packet holds Opus frames of at most 120 ms together (RFC 6716, 3.2.5).
  private static func isOpus(_ packet: [UInt8]) -> Bool {
    SoundFrame.opus(packet).map { $0 < 0.121 } ?? false
  }

  /// Whether the frames of a whole Opus packet have lengths that they can have (RFC 6716, 3.2 and 3.4).
  private static func hasRoom(inOpus packet: [UInt8]) -> Bool {
    let (count, longest) = (packet.count - 1, 1275)
    switch packet[0] & 3 {
    case 0: return count <= longest
    case 1: return count % 2 == 0 && count <= 2 * longest
    case 2:
      guard count > 1 else { return false }
      let isLong = packet[1] >= 252
      let first = Int(packet[1]) + (isLong ? 4 * Int(packet[2]) : 0)
      return (0...longest).contains(count - (isLong ? 2 : 1) - first)
    default: return true
    }
  }

  private static func codec(of packet: [UInt8], _ record: [UInt8]) -> AVCodecID? {
    if isAV1(packet, record) { return AV_CODEC_ID_AV1 }
    if isKeyOfVP8(packet) { return AV_CODEC_ID_VP8 }
    if packet[0] >> 6 == 2, packet[1...3].elementsEqual([0x49, 0x83, 0x42]) { return AV_CODEC_ID_VP9 }
    if packet.starts(with: [0xFF, 0xD8, 0xFF]) { return AV_CODEC_ID_MJPEG }
    if packet.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return AV_CODEC_ID_PNG }
    if ProResFrameHeader(packet) != nil { return AV_CODEC_ID_PRORES }
    if let sequence = StartCodeUnits(packet).first(where: { _ in true }), isMPEGSequence(sequence) {
      return StartCodeUnits(packet).contains { $0.first == 0xB5 }
        ? AV_CODEC_ID_MPEG2VIDEO : AV_CODEC_ID_MPEG1VIDEO
    }
    guard packet.starts(with: [0, 0, 1]) else { return nil }
    // A packet may begin with a sequence (0xB0), with a picture (0xB6), or with a group of pictures if the record
    // begins with a sequence (ISO/IEC 14496-2, 6.2.1).
    let isSequence = packet[3] == 0xB0 || record.starts(with: [0, 0, 1, 0xB0])
    return isSequence || packet[3] == 0xB6 ? AV_CODEC_ID_MPEG4 : nil
  }

  /// Whether the unit is a sequence header with a size, an aspect ratio, a frame rate and its marker bit (ISO/IEC
  /// 13818-2, 6.2.2.1).
  static func isMPEGSequence(_ unit: ArraySlice<UInt8>) -> Bool {
    let head = Array(unit.prefix(8))
    guard head.count == 8, head[0] == 0xB3 else { return false }
    let (width, height) = (Int(head[1]) << 4 | Int(head[2] >> 4), Int(head[2] & 15) << 8 | Int(head[3]))
    return width > 0 && height > 0 && (1...14).contains(head[4] >> 4) && (1...8).contains(head[4] & 15)
      && head[7] & 0x20 != 0
  }

  /// Whether the packet is AV1, by a sequence header in it or in the record that can be read.
  private static func isAV1(_ packet: [UInt8], _ record: [UInt8]) -> Bool {
    isUnit(packet) && sequenceHeaders(packet, record).contains { AV1SequenceHeader($0.payload) != nil }
  }

  /// Whether the packet begins with a complete AV1 open bitstream unit of a defined type (5.3.2).
  static func isUnit(_ packet: [UInt8]) -> Bool {
    guard packet[0] & 1 == 0, let unit = AV1Units(packet[...]).first(where: { _ in true }) else {
      return false
    }
    return (1...8).contains(unit.type) || unit.type == 15
  }

  /// Returns the sequence headers in the record (AV1 in ISOBMFF, 2.3) and at the beginning of the packet.
  private static func sequenceHeaders(_ packet: [UInt8], _ record: [UInt8]) -> [AV1Units.Element] {
    let told = record.first == 0x81 ? record.dropFirst(4) : []
    return [told, packet[...]].flatMap { AV1Units($0).prefix(4) }.filter {
      $0.type == AV1Units.Kind.sequenceHeader
    }
  }

  /// Whether a packet of pictures cannot belong to the claimed codec.
  ///
  /// - Parameter record: what the container stores about the codec beside its packets.
  static func isMissing(in packet: [UInt8], of codec: AVCodecID, record: [UInt8]) -> Bool {
    switch codec {
    case AV_CODEC_ID_H264:
      return !hasUnits(packet, record, lengthSize: AVCConfiguration(record)?.lengthSize)
    case AV_CODEC_ID_HEVC:
      return !hasUnits(packet, record, lengthSize: HEVCConfiguration(record)?.lengthSize)
    // Key frames have a start code (RFC 6386, 9.1). Nothing identifies other frames.
    case AV_CODEC_ID_VP8:
      return packet[0] & 1 == 0 ? !isKeyOfVP8(packet) : packet.starts(with: [0xFF, 0xD8, 0xFF])
    case AV_CODEC_ID_VP9: return !isVP9(packet)
    // A stream begins with a sequence header (7.5), here or in its record.
    case AV_CODEC_ID_AV1: return sequenceHeaders(packet, record).isEmpty || !isUnit(packet)
    case AV_CODEC_ID_MJPEG: return !packet.starts(with: [0xFF, 0xD8])
    // In Matroska, FFmpeg inserts the frame's mark, whatever follows.
    case AV_CODEC_ID_PRORES: return ProResFrameHeader(packet) == nil
    case AV_CODEC_ID_DNXHD: return !DNxFrameHeader.isPrefix(packet)
    case AV_CODEC_ID_PNG: return !packet.starts(with: [0x89, 0x50, 0x4E, 0x47])
    // Where a start code would be, these have a quantizer that is never 0 (MS MPEG-4, WMV), the section of a DIF block
    // (DV; SMPTE ST 314, 6.2), or the length of the packet, which may be padded (Cinepak).
    case AV_CODEC_ID_MSMPEG4V2, AV_CODEC_ID_MSMPEG4V3, AV_CODEC_ID_WMV1, AV_CODEC_ID_WMV2,
      AV_CODEC_ID_DVVIDEO:
      return packet.starts(with: [0, 0, 1])
    case AV_CODEC_ID_CINEPAK:
      return packet.starts(with: [0, 0, 1]) && !(0...3).contains(packet.count - 0x100 - Int(packet[3]))
    // Its record consists of three headers, each of which names it (Theora specification, 6.1 to 6.4).
    case AV_CODEC_ID_THEORA: return !contains("theora", record.prefix(64))
    // The codes of a sequence (0xB0) and a picture (0xB6) of MPEG-4 part 2 are reserved here.
    case AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO:
      return !beginsWithCode(packet)
        || StartCodeUnits(packet).prefix(64).contains { $0.first == 0xB0 || $0.first == 0xB6 }
    // A picture begins with a code of 22 bits in H.263 (ITU-T H.263, 5.1.1) and of 17 in Sorenson Spark.
    case AV_CODEC_ID_H263: return !(packet.starts(with: [0, 0]) && packet[2] & 0xFC == 0x80)
    case AV_CODEC_ID_FLV1: return !(packet.starts(with: [0, 0]) && packet[2] & 0x80 != 0)
    // Some streams have the short header of H.263 (ISO/IEC 14496-2, 6.2.4).
    case AV_CODEC_ID_MPEG4:
      let isSequence = StartCodeUnits(packet).first { _ in true }.map(isMPEGSequence) ?? false
      return isSequence
        || !beginsWithCode(packet) && !(packet.starts(with: [0, 0]) && packet[2] & 0xFC == 0x80)
    default: return false
    }
  }

  /// Whether an AV1 stream's first packet describes other pictures than its record (AV1 in ISOBMFF, 2.3).
  static func isOther(_ packet: [UInt8], than record: [UInt8]) -> Bool {
    guard record.first == 0x81,
      let told = AV1Units(record.dropFirst(4)).first(where: { $0.type == AV1Units.Kind.sequenceHeader }),
      let found = AV1Units(packet[...]).prefix(4).first(where: { $0.type == AV1Units.Kind.sequenceHeader }),
      !told.payload.elementsEqual(found.payload)
    else { return false }
    let (stated, own) = (AV1SequenceHeader(told.payload), AV1SequenceHeader(found.payload))
    guard let stated, let own else { return (stated == nil) != (own == nil) }
    return !own.showsTheSame(as: stated)
  }

  private static func contains(_ word: StaticString, _ bytes: ArraySlice<UInt8>) -> Bool {
    word.withUTF8Buffer { bytes.firstRange(of: Array($0)) != nil }
  }

  private static func beginsWithCode(_ packet: [UInt8]) -> Bool {
    let zeros = packet.prefix { $0 == 0 }.count
    return zeros >= 2 && zeros < packet.count && packet[zeros] == 1
  }

  /// Whether the packet begins with NAL units, none of which has the forbidden bit set.
  private static func hasUnits(_ packet: [UInt8], _ record: [UInt8], lengthSize: Int?) -> Bool {
    guard record.first == 1 || lengthSize != nil else {
      let units = Array(StartCodeUnits(packet).prefix(64))
      return beginsWithCode(packet) && units.allSatisfy { ($0.first ?? 0) & 0x80 == 0 }
    }
    guard let lengthSize else { return false }
    var length = 0
    for unit in LengthPrefixedUnits(packet, lengthSize: lengthSize) {
      guard (unit.first ?? 0) & 0x80 == 0 else { return false }
      length += lengthSize + unit.count
    }
    // A unit that is longer than the rest of its packet can't be decoded, nor can the packet.
    let rest = packet.dropFirst(length)
    let next = rest.prefix(lengthSize).reduce(0) { $0 << 8 | Int($1) }
    return length > 0 && (rest.count <= lengthSize || next <= rest.count - lengthSize)
  }

  private static func isKeyOfVP8(_ packet: [UInt8]) -> Bool {
    packet[0] & 1 == 0 && packet[3...5].elementsEqual([0x9D, 0x01, 0x2A])
  }

  /// Whether the packet has the frame marker, and in a key frame the sync code as well (VP9 bitstream specification,
  /// 6.2).
  private static func isVP9(_ packet: [UInt8]) -> Bool {
    guard packet[0] >> 6 == 2, !isKeyOfVP8(packet) else { return false }
    let hasReservedBit = packet[0] & 0x30 == 0x30
    let isKey = packet[0] & 0x0C == 0
    return hasReservedBit || !isKey || packet[1...3].elementsEqual([0x49, 0x83, 0x42])
  }
}
