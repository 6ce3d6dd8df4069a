import CFFmpeg
import ReelCore

/// Finds sounds whose first packet is not of the codec that their header names.
struct SoundSigns {
  let structure: FileStructure
  let streams: StreamChoice
  let clock: ContentClock?
  let source: any ByteReading

  /// Replaces what the header of such a sound claims by what its first packet says. Returns the warnings by the
  /// places of these sounds.
  func take(_ scan: inout PacketScan, into media: inout MediaInfo) -> [Int: MediaWarning] {
    guard media.encrypted != true, media.external != true, !structure.hasScrambled(streams) else {
      return [:]
    }
    var found: [Int: MediaWarning] = [:]
    for (place, stream) in streams.audios.enumerated() where media.audio.indices.contains(place) {
      guard let parameters = stream.pointee.codecpar else { continue }
      // A codec that this FFmpeg does not know can't be contradicted.
      guard parameters.pointee.codec_id != AV_CODEC_ID_NONE else { continue }
      guard avcodec_get_type(parameters.pointee.codec_id) == AVMEDIA_TYPE_AUDIO else {
        // A descriptor may name a codec that is not one of sound.
        found[place] = MediaWarning(
          .claimUnchecked,
          "the header of its sound names a codec that is not one for sound", fact: Self.fact(place),
          stated: VideoFacts.codecName(parameters.pointee.codec_id).map { .text($0) })
        continue
      }
      let packet = head(of: stream, scan)
      let claimed = media.audio[place].codec
      let isBelieved = claimed == VideoFacts.codecName(parameters.pointee.codec_id)
      let isCut = media.truncated == true
      guard
        let other = other(stream, parameters, packet, scan, isCut: isCut)
          ?? (isBelieved && isUnmarked(stream, parameters, packet, &scan, isCut: isCut)
            ? AV_CODEC_ID_NONE : nil)
      else { continue }
      let isKnown = other != AV_CODEC_ID_NONE
      let told = isKnown ? SoundHeader(other, frame: packet) : nil
      media.audio[place] = AudioFacts(codec: claimed, channels: told?.channels, sampleRate: told?.sampleRate)
      found[place] = MediaWarning(
        .claimUnchecked,
        isKnown
          ? "its sound is not of the codec that its header names"
          : "its sound does not begin with a frame of the codec that its header names",
        fact: Self.fact(place), stated: claimed.map { .text($0) },
        measured: isKnown ? VideoFacts.codecName(other).map { .text($0) } : nil)
    }
    return found
  }

  /// Returns the seconds that the first packet of each sound of an MP4 lasts by its codec, by the sound's place.
  func lengths(_ scan: borrowing PacketScan, _ media: MediaInfo) -> [Int: Double] {
    guard structure.iso != nil, media.external != true else { return [:] }
    var found: [Int: Double] = [:]
    for (place, stream) in streams.audios.enumerated() {
      // The bit rate that ISMV states for WMA is not always right.
      guard let parameters = stream.pointee.codecpar,
        ![AV_CODEC_ID_WMAV1, AV_CODEC_ID_WMAV2].contains(parameters.pointee.codec_id),
        // Packets of Opus may differ in length.
        parameters.pointee.codec_id != AV_CODEC_ID_OPUS || avformat_index_get_entries_count(stream) == 0
          || beginAlike(stream)
      else { continue }
      let first = media.encrypted == true ? [] : head(of: stream, scan, most: SoundFrame.longest)
      found[place] = SoundFrame.seconds(parameters, first: first)
    }
    return found
  }

  fileprivate static func fact(_ place: Int) -> String { "audio.\(place).codec" }

  /// The bytes of a packet to look at: those of two frames of AAC.
  private static let lookedAt = 8192

  private func head(
    of stream: StreamChoice.Stream, _ scan: borrowing PacketScan, most: Int = lookedAt
  ) -> [UInt8] {
    if let packet = scan.firsts[stream.pointee.index] {
      return Array(BitstreamHeader.bytes(of: packet).prefix(most))
    }
    guard let range = firstFrame(of: stream) else { return [] }
    // Old QuickTime files count bytes as samples.
    let count = range.count < Self.leastBytes ? Self.lookedAt : min(most, range.count)
    return source.bytes(at: range.lowerBound, count: count)
  }

  private static let leastBytes = 8

  private func firstFrame(of stream: StreamChoice.Stream) -> Range<Int64>? {
    clock.firstFrame(of: stream, among: streams, in: structure, size: source.size)
  }

  /// Returns the codec of the packet, or `AV_CODEC_ID_NONE` if that is not known here; nil if nothing contradicts the
  /// header.
  private func other(
    _ stream: StreamChoice.Stream, _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ packet: [UInt8],
    _ scan: borrowing PacketScan, isCut: Bool
  ) -> AVCodecID? {
    let claimed = parameters.pointee.codec_id
    let recorded = CodecSign.codec(ofSoundRecord: BitstreamHeader.extradata(of: parameters))
    if let recorded, recorded != claimed, SoundHeader(claimed, frame: packet) == nil { return recorded }
    if let found = CodecSign.otherSound(than: claimed, packet: packet, isFramed: structure.container.isMPEG) {
      return found
    }
    if recorded != claimed, needsRecord(claimed, parameters) { return AV_CODEC_ID_NONE }
    if isPlain(stream) { return AV_CODEC_ID_NONE }
    // Elsewhere a packet may begin within a frame.
    guard structure.iso != nil || structure.container.isMatroska, !isCut, let first = packet.first,
      !packet.allSatisfy({ $0 == first }), structure.iso == nil || hasSamples(stream)
    else { return nil }
    let step = step(of: stream)
    let isMissing =
      CodecSign.isMissing(inSound: packet, of: claimed)
      || structure.iso != nil && isUnframed(claimed, packet) || isUnreadable(stream, parameters, packet, scan)
      || isImpossible(stream, parameters)
    let isUnlike =
      CodecSign.isUnusual(inSound: packet, of: claimed)
      && isUnlike(step, SoundFrame.seconds(parameters, first: packet))
    guard isMissing || isUnlike else { return nil }
    if claimed != AV_CODEC_ID_AAC, isRawAAC(packet, step, rate: parameters.pointee.sample_rate) {
      return AV_CODEC_ID_AAC
    }
    return isMissing || !beginAlike(stream) ? AV_CODEC_ID_NONE : nil
  }

  /// Whether packets under the name of Opus all begin like those of one duration: then their times are wrong.
  private func beginAlike(_ stream: StreamChoice.Stream) -> Bool {
    guard stream.pointee.codecpar?.pointee.codec_id == AV_CODEC_ID_OPUS else { return false }
    let last = max(0, Int64(avformat_index_get_entries_count(stream)) - 1)
    let lengths = (0..<Self.mostAlike).map { number -> Double? in
      let entry = reel_index_entry(stream, Int32(clamping: last * number / (Self.mostAlike - 1)))
      return entry.size > 0 && entry.position >= 0
        ? SoundFrame.opus(source.bytes(at: entry.position, count: 2)) : nil
    }
    return lengths.allSatisfy { $0 != nil && $0 == lengths[0] }
  }

  private static let mostAlike: Int64 = 16

  /// Whether sound of this codec needs a record. MP4 always has one; Matroska had none for Opus in its first years.
  private func needsRecord(_ codec: AVCodecID, _ parameters: UnsafeMutablePointer<AVCodecParameters>) -> Bool
  {
    guard CodecSign.recordedSounds.contains(codec) else { return false }
    return structure.iso != nil
      || structure.container.isMatroska
        && (codec != AV_CODEC_ID_OPUS || parameters.pointee.extradata_size > 0)
  }

  private func hasSamples(_ stream: StreamChoice.Stream) -> Bool {
    guard let track = MovieTracks(structure)?.track(of: stream) else { return false }
    return !track.isPassedOver(by: stream)
  }

  /// Whether samples under the name of MPEG-4 audio are single numbers: they are all of one size, and each lasts for
  /// less time than any frame of these codecs.
  private func isPlain(_ stream: StreamChoice.Stream) -> Bool {
    guard let track = MovieTracks(structure)?.track(of: stream), track.entry?.format == "mp4a",
      let size = track.counts.size, size <= Self.mostPlain, let scale = track.timescale,
      let times = track.times, times.samples > 1
    else { return false }
    return Double(times.ordinaryStep) < Self.leastSeconds * Double(scale)
  }

  /// The bytes of a sample of eight channels in 32 bits.
  private static let mostPlain = 32
  /// Less than any frame lasts: the shortest ones, those of Opus, last two and a half milliseconds.
  private static let leastSeconds = 0.001

  private func isUnframed(_ codec: AVCodecID, _ packet: [UInt8]) -> Bool {
    SoundHeader.alwaysFramed.contains(codec) && SoundHeader(codec, frame: packet) == nil
  }

  // MARK: Several packets

  /// A packet, or its beginning.
  private struct Packet {
    let bytes: [UInt8]
    /// The seconds to the next packet; nil if that is not known.
    let step: Double?
  }

  /// Returns packets of a sound without those that repeat one byte: the first ones of the MP4 family, because content
  /// further on may be in the wrong place, and some that are spread over a Matroska file. None of a file at an address.
  private func packets(of stream: StreamChoice.Stream) -> [Packet] {
    guard !source.isFar else { return [] }
    var found: [(range: Range<Int64>, step: Double?)] = []
    if structure.iso != nil {
      for number in 0..<min(Self.mostFirst, avformat_index_get_entries_count(stream)) {
        let entry = reel_index_entry(stream, number)
        guard entry.size > 0, entry.position >= 0, entry.position < source.size else { continue }
        found.append((entry.position..<entry.position + Int64(entry.size), nil))
      }
    } else if let clock, clock.firstPacket(of: stream, among: streams, in: structure) != nil,
      let key = ContentClock.key(of: stream, among: streams, in: structure)
    {
      found = (clock.samples[key]?.packets ?? []).map {
        ($0.bytes, $0.step.map { Double($0) * av_q2d(clock.base) })
      }
    }
    return found.map {
      Packet(
        bytes: source.bytes(at: $0.range.lowerBound, count: min(Self.lookedAt, $0.range.count)), step: $0.step
      )
    }.filter { Self.says($0.bytes) }
  }

  private static let mostFirst: Int32 = 16
  /// The fewest packets that allow a conclusion about frames with marks, and about others.
  private static let fewest = (marked: 3, others: 8)
  /// The most lengths that packets of one Opus encoder have.
  private static let mostLengths = 3
  /// The most bytes of packets to read in search of those of a sound.
  private static let mostBytes: Int64 = 4 << 20

  /// Whether the packet is more than one byte that is repeated.
  private static func says(_ packet: [UInt8]) -> Bool {
    packet.count >= 4 && !packet.allSatisfy { $0 == packet[0] }
  }

  /// Whether no packet of this sound has the mark that each frame of its codec has.
  private func isUnmarked(
    _ stream: StreamChoice.Stream, _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ first: [UInt8],
    _ scan: inout PacketScan, isCut: Bool
  ) -> Bool {
    let codec = parameters.pointee.codec_id
    guard CodecSign.markedSounds.contains(codec), !CodecSign.isMarked(first, codec) else { return false }
    var packets = packets(of: stream).map(\.bytes)
    if packets.isEmpty {
      scan.run(untilBegun: stream.pointee.index, orRead: Self.mostBytes)
      packets = (scan.beginnings[stream.pointee.index] ?? []).filter(Self.says)
    }
    let isTelling =
      packets.count >= Self.fewest.marked
      || !isCut && scan.end == .file && chunks(of: stream) >= Self.fewest.others
    return isTelling && !packets.contains { CodecSign.isMarked($0, codec) }
  }

  /// Returns how many pieces the container has of a sound. FFmpeg makes packets of these only where it finds frames.
  private func chunks(of stream: StreamChoice.Stream) -> Int {
    if structure.container == .avi { return Int(avformat_index_get_entries_count(stream)) }
    let key = ContentClock.key(of: stream, among: streams, in: structure)
    return key.flatMap { clock?.extents[$0]?.packets } ?? 0
  }

  /// Whether many packets under the name of a codec without marks are none of that codec.
  private func isImpossible(
    _ stream: StreamChoice.Stream, _ parameters: UnsafeMutablePointer<AVCodecParameters>
  ) -> Bool {
    let codec = parameters.pointee.codec_id
    guard CodecSign.unmarkedSounds.contains(codec) else { return false }
    let packets = packets(of: stream)
    guard packets.count >= Self.fewest.others else { return false }
    let record = BitstreamHeader.extradata(of: parameters)
    guard codec == AV_CODEC_ID_AAC else {
      if codec == AV_CODEC_ID_OPUS, OpusHeader(record)?.isSingle != true { return false }
      // A browser may record packets, all of one length, in bursts; those of another codec seem to have many lengths.
      let lengths = codec == AV_CODEC_ID_OPUS ? Set(packets.map { SoundFrame.opus($0.bytes) }).count : 0
      let others = packets.count {
        CodecSign.isImpossible($0.bytes, codec, step: lengths > Self.mostLengths ? $0.step : nil)
      }
      return 4 * others > packets.count
    }
    guard let configuration = AudioSpecificConfig(record),
      AudioSpecificConfig.plain.contains(configuration.objectType)
    else { return false }
    let others = packets.filter { AACFrame($0.bytes).first == nil }
    guard 2 * others.count > packets.count else { return false }
    let decoded = others.prefix(Self.fewest.others)
    return 2 * decoded.count { !isDecoded($0.bytes, parameters) } > decoded.count
  }

  private func isDecoded(_ bytes: [UInt8], _ parameters: UnsafeMutablePointer<AVCodecParameters>) -> Bool {
    guard bytes.count < Self.lookedAt, var made = MadePacket.of(bytes) else { return true }
    defer { MadePacket.free(&made) }
    return isDecoded(made, parameters)
  }

  // MARK: How long packets last

  /// Returns the seconds from one packet to the next, if they come evenly.
  private func step(of stream: StreamChoice.Stream) -> Double? {
    if structure.iso != nil {
      return MovieTracks(structure)?.track(of: stream).flatMap {
        SoundClock.seconds($0, structure.iso?.fragmentTable)
      }
    }
    let key = ContentClock.key(of: stream, among: streams, in: structure)
    guard let key, let clock, !clock.shared.contains(key), let pace = clock.pace(of: key), !pace.isVariable
    else {
      return nil
    }
    return 1 / pace.ordinary
  }

  private func isUnlike(_ step: Double?, _ seconds: Double?) -> Bool {
    guard structure.iso != nil, let step, let seconds else { return false }
    return abs(step - seconds) > 0.03 * seconds
  }

  /// Whether this is AAC whose first frame begins with none of AAC's elements, and which a decoder can't decode.
  private func isUnreadable(
    _ stream: StreamChoice.Stream, _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ packet: [UInt8],
    _ scan: borrowing PacketScan
  ) -> Bool {
    guard parameters.pointee.codec_id == AV_CODEC_ID_AAC,
      let configuration = AudioSpecificConfig(BitstreamHeader.extradata(of: parameters)),
      AudioSpecificConfig.plain.contains(configuration.objectType), AACFrame(packet).first == nil
    else { return false }
    if let packet = scan.firsts[stream.pointee.index] { return !isDecoded(packet, parameters) }
    guard let range = firstFrame(of: stream), range.count <= Self.lookedAt,
      var made = MadePacket.of(range, in: source)
    else { return false }
    defer { MadePacket.free(&made) }
    return !isDecoded(made, parameters)
  }

  private func isDecoded(
    _ packet: UnsafeMutablePointer<AVPacket>, _ parameters: UnsafeMutablePointer<AVCodecParameters>
  ) -> Bool {
    var copy = avcodec_parameters_alloc()
    defer { avcodec_parameters_free(&copy) }
    guard let own = copy, avcodec_parameters_copy(own, parameters) >= 0 else { return true }
    return DecodedSound.decoded(own, packet) != nil
  }

  /// Whether this is AAC, by its first element, and by frames that last as long as those of AAC.
  private func isRawAAC(_ packet: [UInt8], _ step: Double?, rate: Int32) -> Bool {
    guard AACFrame(packet).first != nil, let step, rate > 0 else { return false }
    return [1024, 2048].contains { abs(step * Double(rate) / $0 - 1) <= 0.01 }
  }
}

extension MediaInfo {
  /// The places of sounds that are of another codec than their header names.
  var otherSounds: Set<Int> {
    Set(
      audio.indices.filter { place in
        warnings.contains { $0.code == .claimUnchecked && $0.fact == SoundSigns.fact(place) }
      })
  }
}

extension ContentClock? {
  /// Returns where the container says that the first frame of a sound is; nil if it does not say, or stores frames in
  /// another form.
  func firstFrame(
    of stream: StreamChoice.Stream, among streams: StreamChoice, in structure: FileStructure, size: Int64
  ) -> Range<Int64>? {
    guard structure.iso != nil else {
      return self?.firstPacket(of: stream, among: streams, in: structure)
    }
    let entry = reel_index_entry(stream, 0)
    let (start, length) = (entry.position, Int64(entry.size))
    return start >= 0 && length > 0 && length <= size - start ? start..<(start + length) : nil
  }
}
