import CFFmpeg
import ReelCore

/// What all packets of a file say, whatever its headers claim: their presentation times, and what a decoder makes of
/// the first picture and of the first frame of each sound.
struct ThoroughReading {
  let structure: FileStructure
  let streams: StreamChoice
  /// The total time of the pictures and the sound by all packets; nil if no packet has a time.
  let sum: StretchSum?
  /// The time at which the last packet ends, in seconds.
  private let end: Double?
  let isWhole: Bool
  private let isTelling: Bool
  /// Whether its first picture was decoded.
  private let isDecoded: Bool
  private(set) var evidence: [FactEvidence] = []

  init(
    _ structure: FileStructure, _ streams: StreamChoice, _ scan: borrowing PacketScan, isDecoded: Bool
  ) {
    self.structure = structure
    self.isDecoded = isDecoded
    self.streams = streams
    sum = scan.sum(of: streams.videos + streams.audios)
    end = scan.lastEnd(of: streams.videos + streams.audios)
    isWhole = scan.end == .file
    isTelling = scan.isTelling
  }

  /// Replaces what the headers claim with what the packets say, and records the evidence for each fact.
  mutating func take(
    _ scan: borrowing PacketScan, into media: inout MediaInfo, size: Int64, _ content: ContentEvidence?
  ) {
    note(["container", "extension", "contentType", "extensionMismatch", "size"], .structure)
    takeDuration(scan, into: &media, size: size, content)
    takePictures(scan, into: &media)
    takeSound(scan, into: &media, content)
    note(
      ["truncated", "external", "fastStart", "fragmented", "encrypted", "contentCredentials", "hasCover"],
      .structure)
    note(["title", "artist", "createdAt", "hasLocation", "contentIdentifier"], .header)
  }

  private mutating func note(_ facts: [String], _ source: FactEvidence.Source) {
    evidence += facts.map { FactEvidence(fact: $0, source: source) }
  }

  private static let times = ["duration", "durationSource", "presentDuration", "bitRate"]

  private mutating func takeDuration(
    _ scan: borrowing PacketScan, into media: inout MediaInfo, size: Int64, _ content: ContentEvidence?
  ) {
    let speed = content?.speed ?? 1
    // The tables of an ISO base media file state when each sample is shown, and its packets take their times from
    // these.
    guard structure.iso == nil else { return note(Self.times, .index) }
    // FFmpeg leaves out some parts of joined files, and relies on wrong times of Ogg pages.
    if let joined = content?.joined { return note(Self.times, joined) }
    if content?.pagesTell == true { return note(Self.times, .packets) }
    // FFmpeg looks for frames of MPEG audio in such sound, and gives its packets their length.
    if let content, content.clock?.isWhole == true, media.duration != nil,
      streams.audios.contains(where: { content.surveillanceSound($0) != nil })
    {
      return note(Self.times, .packets)
    }
    guard isWhole, isTelling || media.duration == nil, media.external != true, media.truncated != true,
      let sum,
      let found = FoundDuration(sum.seconds / speed, .packets, size: size)
    else {
      return note(Self.times, media.truncated == true ? .index : .header)
    }
    // A header that is right to within the last packet is more exact, because that packet does not always state how
    // long it lasts.
    let isExact =
      media.duration.map { told in
        // If the content begins a little late, the header may count the time before it, too.
        let late = media.durationSource == .container ? end.map { $0 - sum.seconds } : nil
        let isLate = late.map { $0 > 0 && $0 <= max(1, 0.1 * sum.seconds) } ?? false
        let ends = isLate ? [found.seconds, (end ?? 0) / speed] : [found.seconds]
        return ends.contains { abs(told - $0) <= max(0.1, found.seconds * 0.005) }
          || media.durationSource == .container && content?.mayEnd(at: told) == true
          // The clock counts pictures without times behind the last one that FFmpeg gives a time.
          || told > found.seconds && content?.clock?.counted.isEmpty == false
      } ?? false
    if !isExact {
      if speed == 1, let counted = counted(scan, content, sum, told: media.duration) {
        media.take(FoundDuration(counted, .packets, size: size))
      } else {
        replaceDuration(by: found, in: &media)
      }
    }
    note(Self.times, .packets)
  }

  private func replaceDuration(by found: FoundDuration, in media: inout MediaInfo) {
    let told = media.duration
    media.take(found)
    guard let told, abs(told - found.seconds) > max(0.1, 0.01 * found.seconds),
      !media.warnings.contains(where: { $0.fact == "duration" }), media.warnings.count < MediaWarning.most
    else { return }
    media.warnings.append(
      MediaWarning(
        .durationMismatch,
        "its structure means \(ProbeWarnings.text(told)) seconds, all of its packets last \(ProbeWarnings.text(found.seconds))",
        fact: "duration", stated: .number(told), measured: .number(found.seconds)))
  }

  /// Returns how long the pictures of a multiplex last by their number, in seconds, or longer, if the estimate for the
  /// sound beside them says so; nil if each has a timestamp, or if the timestamps mean another duration. Where several
  /// share one, the last would seem to last as long as all of these.
  private func counted(
    _ scan: borrowing PacketScan, _ content: ContentEvidence?, _ sum: StretchSum, told: Double?
  ) -> Double? {
    guard sum.jumps == 0, let video = streams.video, let rate = content?.countedRate(video, scan)?.value
    else { return nil }
    let seconds = max(Double(scan.packetsOfKept) / rate, told ?? 0)
    return abs(seconds - sum.seconds) <= 1 ? seconds : nil
  }

  private mutating func takePictures(_ scan: borrowing PacketScan, into media: inout MediaInfo) {
    guard let stream = streams.video, var video = media.video,
      !structure.isScrambled(stream)
    else { return }
    note(
      [
        "video.codec", "video.storedWidth", "video.storedHeight", "video.pixelFormat", "video.chroma",
        "video.bitDepth",
      ], isDecoded ? .decoder : .header)
    note(["video.rotation", "video.mirrored", "video.bitRate"], .header)
    note(
      ["video.width", "video.height", "video.sampleAspectRatio", "video.hdr", "video.profile"], .bitstream)
    let isSeen = scan.seen.contains(stream.pointee.index)
    if isWhole, isSeen || structure.iso != nil || video.hasSamples != true { video.hasSamples = isSeen }
    note(["video.hasSamples"], .packets)
    note(["video.streams", "video.hasCover"], .header)
    note(
      ["video.frameRate", "video.variableFrameRate"],
      structure.iso != nil ? .index : isWhole && scan.frames.count > 2 ? .packets : .header)
    media.video = video
  }

  private mutating func takeSound(
    _ scan: borrowing PacketScan, into media: inout MediaInfo, _ content: ContentEvidence?
  ) {
    for (place, stream) in streams.audios.enumerated() where place < media.audio.count {
      let facts = ["codec", "channels", "sampleRate"].map { "audio.\(place).\($0)" }
      guard let parameters = stream.pointee.codecpar, let packet = scan.firsts[stream.pointee.index],
        !structure.isScrambled(stream), !media.otherSounds.contains(place)
      else {
        note(facts, .header)
        continue
      }
      let codec = parameters.pointee.codec_id
      let decoded = DecodedSound.header(parameters, packet)
      guard
        let told = decoded ?? SoundHeader(codec, record: BitstreamHeader.extradata(of: parameters))
          ?? SoundHeader(codec, frame: BitstreamHeader.bytes(of: packet))
      else {
        note(facts, .header)
        continue
      }
      // The channels of the record have been taken already, and compared against the frames.
      if let channels = told.channels, decoded != nil || media.audio[place].channels == nil {
        media.audio[place].channels = channels
      }
      if let rate = told.sampleRate {
        media.audio[place].sampleRate =
          SoundClock(stream, structure)?.heard(insteadOf: rate) ?? content?.heard(stream, insteadOf: rate)
          ?? rate
      }
      note(facts, decoded == nil ? .bitstream : .decoder)
    }
    for place in media.audio.indices.dropFirst(streams.audios.count) {
      note(["codec", "channels", "sampleRate"].map { "audio.\(place).\($0)" }, .bitstream)
    }
  }
}

/// The first picture of a stream, as decoded.
struct DecodedPicture {
  private let width: Int32
  private let height: Int32
  private let format: Int32

  /// Returns nil if the decoder needs more than this packet or rejects it, or if the picture is damaged.
  init?(_ packet: UnsafeMutablePointer<AVPacket>, _ stream: StreamChoice.Stream) {
    guard let parameters = stream.pointee.codecpar,
      let decoder = avcodec_find_decoder(parameters.pointee.codec_id),
      CodecAllowList.pictures.contains(String(cString: decoder.pointee.name))
    else { return nil }
    let picture = FirstFrame.decode(packet, parameters, by: decoder) { _, frame in
      reel_is_damaged(frame) ? nil : (frame.pointee.width, frame.pointee.height, frame.pointee.format)
    }
    guard let (width, height, format) = picture, width > 0, height > 0 else { return nil }
    (self.width, self.height, self.format) = (width, height, format)
  }

  /// Replaces the size and the pixel format of the stream, before other facts are derived from them.
  func apply(to stream: StreamChoice.Stream) {
    guard let parameters = stream.pointee.codecpar else { return }
    (parameters.pointee.width, parameters.pointee.height) = (width, height)
    if PixelLayout(format) != nil { parameters.pointee.format = format }
  }
}
