import CFFmpeg
import FoundationEssentials
import ReelCore

/// The reading of one opened file.
struct FileReading {
  let source: BoundedSource
  let structure: FileStructure
  /// The presentation times of its packets, if these are read without FFmpeg.
  let clock: ContentClock?
  let failure: ReadFailure
  let limits: ReadingLimits

  /// Reads the file by the shortest of `ways` that provably tells the truth.
  func read(by ways: Set<ProbeMethod>) throws(ProbeError) -> Reading {
    var reason: String?
    do throws(ProbeError) {
      if ways.contains(.thorough) { return try readThoroughly(try open(decoding: .all)) }
      if ways != [.full] {
        switch try readBriefly(try open(decoding: .undecoded), by: ways) {
        case .known(let reading): return reading
        case .unknown(let found): reason = found
        }
      }
      return try readFully(try open(decoding: .all), because: reason)
    } catch {
      // FFmpeg rejects some kinds of encryption, and reports such files as invalid data.
      guard error.code == .corrupt, source.stop == nil, let media = EncryptedMovie(structure, source)?.media
      else {
        throw error
      }
      return Reading(
        media: media, method: ways.contains(.thorough) ? .thorough : .header,
        reason: "FFmpeg does not open it")
    }
  }

  private func choice(_ input: borrowing OpenedInput) -> StreamChoice {
    var streams = StreamChoice(input.streams, of: structure)
    streams.take(clock, in: structure)
    return streams
  }

  /// The outcome of a short way.
  private enum Brief {
    case known(Reading)
    /// Why it did not suffice. The file must be reopened, as packets have been read from it.
    case unknown(String)
  }

  /// Opens the file, each time from its beginning. May be called several times.
  private func open(decoding video: CodecAllowList.Video) throws(ProbeError) -> OpenedInput {
    source.position = 0
    let input = try rethrowing(
      as: { failure.notOpened($0.code, structure, source) }
    ) { () throws(OpenedInput.Failure) in
      try OpenedInput.open(
        source, demuxer: structure.container.demuxer, decoding: video, limits: limits)
    }
    structure.matroska?.applyRates(to: input.streams)
    MovieTracks(structure)?.applyEntries(to: input.streams)
    return input
  }

  /// Reads the header alone, or packets without the decoders that the bitstream's own headers replace.
  private func readBriefly(
    _ input: borrowing OpenedInput, by ways: Set<ProbeMethod>
  ) throws(ProbeError) -> Brief {
    let header = HeaderFacts(input.context, structure)
    input.nameRates()
    let streams = choice(input)
    var reason: String?
    if ways.contains(.header) {
      let reading = HeaderReading(structure: structure, clock: clock, size: source.size)
      reason = reading.doubt(header, streams)
      if reason == nil {
        var scan = PacketScan(
          input.context, limits: limits, keepingFirstOf: streams.video?.pointee.index, clock: clock)
        let first = reading.firstPicture(streams, &scan)
        if case .doubted(let doubt) = first { return .unknown(doubt) }
        let found = try facts(
          header, streams, of: input.context, isParsed: first.isRead, &scan, evidence(header, streams))
        return .known(Reading(media: found.media, method: .header, rewriting: found.rewriting))
      }
    }
    guard ways.contains(.packets) else { return .unknown(reason ?? "reading by packets is not allowed") }
    let brief = try readPackets(input, header, because: reason)
    guard case .unknown(let doubt) = brief, let reason else { return brief }
    return .unknown("\(reason); \(doubt)")
  }

  /// Reads as many packets as FFmpeg wants to see, without the decoders that the bitstream's own headers replace.
  private func readPackets(
    _ input: borrowing OpenedInput, _ header: HeaderFacts, because reason: String?
  ) throws(ProbeError) -> Brief {
    let reading = PacketReading(
      structure: structure, clock: clock, header: header, probedBytes: max(32, limits.probeBytes))
    if let doubt = reading.doubt(choice(input)) { return .unknown(doubt) }
    reading.standIn(for: choice(input))
    let streams = try analyzed(input)
    if let doubt = reading.doubt(streams) { return .unknown(doubt) }
    var scan = PacketScan(
      input.context, limits: limits, keepingFirstOf: streams.video?.pointee.index, clock: clock)
    guard let stream = streams.video, reading.hasReadableHeaders(stream) else {
      // None of the decoders that were left out was needed.
      let found = try facts(
        header, streams, of: input.context, isParsed: false, &scan, evidence(header, streams))
      return .known(
        Reading(
          media: found.media, method: isDecoded(streams) ? .full : .packets, reason: reason,
          rewriting: found.rewriting))
    }
    let first = reading.firstPicture(stream, among: streams, &scan, in: input.context)
    if case .doubted(let doubt) = first { return .unknown(doubt) }
    let found = try facts(
      header, streams, of: input.context, isParsed: first.isRead, &scan, evidence(header, streams))
    return .known(
      Reading(media: found.media, method: .packets, reason: reason, rewriting: found.rewriting))
  }

  /// Whether FFmpeg has opened a decoder.
  private func isDecoded(_ streams: StreamChoice) -> Bool {
    (streams.videos + (structure.container.isMPEG ? streams.audios : [])).contains {
      CodecAllowList.decodes($0.pointee.codecpar.pointee.codec_id)
    }
  }

  /// Reads as many packets as FFmpeg wants to see, and decodes pictures.
  private func readFully(
    _ input: borrowing OpenedInput, because reason: String?
  ) throws(ProbeError) -> Reading {
    let header = HeaderFacts(input.context, structure)
    input.nameRates()
    let streams = try analyzed(input)
    var scan = PacketScan(
      input.context, limits: limits, keepingFirstOf: streams.video?.pointee.index, clock: clock)
    let found = try facts(
      header, streams, of: input.context, isParsed: false, &scan, evidence(header, streams))
    return Reading(media: found.media, method: .full, reason: reason, rewriting: found.rewriting)
  }

  /// Reads all packets.
  private func readThoroughly(_ input: borrowing OpenedInput) throws(ProbeError) -> Reading {
    let header = HeaderFacts(input.context, structure)
    input.nameRates()
    let streams = try analyzed(input)
    var scan = PacketScan(
      input.context, limits: limits, keepingFirstOf: streams.video?.pointee.index, clock: clock)
    var changes = ContentChanges(streams, structure.container)
    scan.runToTheEnd { changes.note($0) }
    let picture = decodedPicture(streams, scan)
    let content = evidence(header, streams)
    let found = try facts(header, streams, of: input.context, isParsed: false, &scan, content)
    var media = found.media
    var thorough = ThoroughReading(structure, streams, scan, isDecoded: picture != nil)
    thorough.take(scan, into: &media, size: source.size, content)
    if !media.warnings.contains(where: { [.indexMismatch, .contentMissing].contains($0.code) }),
      let stray = StrayPicture.found(in: source, structure, streams, amongAll: true)
    {
      media.presentDuration = nil
      media.warnings = Array((media.warnings + [stray.warning]).prefix(MediaWarning.most))
    }
    if !structure.hasScrambled(streams), media.encrypted != true {
      let known = Set(media.warnings.filter { $0.code == .contentChanges }.map(\.fact))
      let others = changes.warnings.filter { change in
        !known.contains(change.fact)
          && !media.otherSounds.contains { change.fact?.hasPrefix("audio.\($0).") == true }
      }
      media.warnings = Array((media.warnings + others).prefix(MediaWarning.most))
    }
    return Reading(
      media: media, method: .thorough, evidence: thorough.evidence, rewriting: found.rewriting)
  }

  /// Decodes the first picture and sets the stream's parameters from it. Returns nil if it can't be decoded or is
  /// scrambled.
  private func decodedPicture(_ streams: StreamChoice, _ scan: borrowing PacketScan) -> DecodedPicture? {
    guard let stream = streams.video, !structure.isScrambled(stream),
      let picture = scan.first.flatMap({ DecodedPicture($0, stream) })
    else { return nil }
    picture.apply(to: stream)
    return picture
  }

  /// Returns the streams, after FFmpeg has examined their packets.
  private func analyzed(_ input: borrowing OpenedInput) throws(ProbeError) -> StreamChoice {
    // The result is ignored because it says little: it is 0 if memory ran out, and not 0 if there is one stream too
    // many.
    avformat_find_stream_info(input.context, nil)
    if let stopped = failure.stopped(source.stop) { throw stopped }
    structure.namedCodecs?.complete(input.streams, from: source)
    let streams = choice(input)
    guard !streams.all.isEmpty else { throw failure.externalMedia(structure) ?? failure.corrupt }
    if let tooLarge = failure.indexIsTooLarge(streams) { throw tooLarge }
    // To find the duration of an MPEG multiplex, FFmpeg has read its end, and then returned to where it was before.
    // Start over at the first byte.
    if structure.container.isMPEG { av_seek_frame(input.context, -1, 0, AVSEEK_FLAG_BYTE) }
    return streams
  }

  private func facts(
    _ header: HeaderFacts, _ streams: StreamChoice, of context: UnsafeMutablePointer<AVFormatContext>,
    isParsed: Bool, _ scan: inout PacketScan, _ evidence: ContentEvidence?
  ) throws(ProbeError) -> (media: MediaInfo, rewriting: RewritingFacts) {
    var header = header
    if let stream = streams.video {
      believeFrames(of: stream, header, isParsed: isParsed, &scan)
      if !isParsed, let preferred = preferredTransfer(of: stream, &scan) {
        stream.pointee.codecpar.pointee.color_trc = preferred
        header.preferTransfer(of: stream)
      }
    }
    var media = MediaInfo(container: structure.container, size: source.size)
    var rewriting = RewritingFacts()
    if streams.videos.count > 1 { rewriting.shownStream = streams.video.map { Int($0.pointee.index) } }
    for stream in streams.audios { media.audio.append(sound(of: stream, &scan)) }
    let crops = PictureCrops(structure)
    media.video = streams.video.map {
      VideoFacts($0, of: context, among: streams, crops: crops, structure: structure, header: header)
    }
    if let stream = streams.video, let track = MovieTracks(structure)?.track(of: stream),
      track.isPassedOver(by: stream)
    {
      var video = VideoFacts(track, structure.iso?.fragmentTable, streams: streams.countOfVideos)
      video.hasCover = streams.hasCover
      media.video = video
      rewriting.shownStream = nil
    }
    if let stream = streams.video, let rate = media.video?.frameRate,
      let ofFrames = FieldSamples.frameRate(rate, structure, stream, in: source)
    {
      media.video?.frameRate = ofFrames
    }
    media.take(tags(context, streams), MovieTracks(structure))
    if structure.container == .asf, media.createdAt == nil { media.createdAt = ASFFile.creationDate(source) }
    let blank = BlankContent.found(in: source, structure, streams)
    media.take(structure, streams, blank)
    let disclosures = FileDisclosures(structure, streams, clock, of: context, in: source).found
    media.take(disclosures)
    (rewriting.isPlaceInText, rewriting.isPlaceInPictures) = (disclosures.isInText, disclosures.isInPictures)
    if media.createdAt == nil { media.createdAt = cameraTime(streams, &scan) }
    let search = DurationSearch(structure: structure, header: header, streams: streams, size: source.size)
    takePackets(search, evidence, blank, of: context, isParsed: isParsed, &scan, into: &media)
    let stray = blank == nil ? StrayPicture.found(in: source, structure, streams) : nil
    if stray != nil { media.presentDuration = nil }
    if let evidence { takeContent(evidence, &scan, into: &media) }
    media.audio += structure.namedCodecs?.soundsWithoutStreams(streams) ?? []
    media.audio += evidence?.soundsWithoutNumber ?? []
    let signs = SoundSigns(
      structure: structure, streams: streams, clock: evidence?.clock, source: source)
    let others = signs.take(&scan, into: &media)
    let frames = SoundsOfFrames(
      structure: structure, streams: streams, clock: evidence?.clock, source: source
    ).take(scan, into: &media, besides: Set(others.keys))
    if let stopped = failure.stopped(source.stop) { throw stopped }
    let warnings = ProbeWarnings(
      header: header, structure: structure,
      claimedDuration: evidence?.countsSubtitles == true ? nil : search.claimed,
      fragmentJumps: search.fragmentSum?.jumps, streams: streams, crops: crops, media: media,
      blank: blank, stray: stray, otherSounds: Set(others.keys), soundFrames: signs.lengths(scan, media))
    let codec =
      isParsed
      ? nil
      : rawDoubted(streams.video, &media, &scan) ?? textureDoubted(streams.video, media, &scan)
        ?? codecDoubted(streams.video, media, &scan)
    let orientation = orientationDoubted(streams.video, media, &scan)
    media.warnings = Array(
      (warnings.found + [codec, orientation].compactMap { $0 } + frames
        + soundsRenamed(header, streams, media, besides: others)
        + others.sorted { $0.key < $1.key }.map(\.value) + (evidence?.warnings(media, scan.soundPaces) ?? []))
        .prefix(
          MediaWarning.most))
    return (media, rewriting)
  }

  /// A warning if the first packet is not of the codec that the header names.
  private func codecDoubted(
    _ stream: StreamChoice.Stream?, _ media: MediaInfo, _ scan: inout PacketScan
  ) -> MediaWarning? {
    guard let stream, let parameters = stream.pointee.codecpar, let claimed = media.video?.codec,
      media.encrypted != true, media.external != true, !structure.isScrambled(stream),
      // A multiplex that was cut out of a longer one may begin anywhere, and so may a stream whose codec FFmpeg does
      // not know by name. There, pictures that were decoded beyond the first packet are better evidence than its
      // first bytes.
      media.video?.pixelFormat == nil
        || !structure.container.isMPEG && structure.namedCodecs?.pictures == nil
    else { return nil }
    scan.run(untilSeen: stream.pointee.index, orRead: Self.mostBytesToSound)
    guard let packet = scan.firsts[stream.pointee.index] else { return nil }
    let bytes = BitstreamHeader.bytes(of: packet)
    if let other = CodecSign.other(
      than: parameters.pointee.codec_id, packet: bytes, record: BitstreamHeader.extradata(of: parameters))
    {
      return MediaWarning(
        .claimUnchecked, "its first picture is not of the codec that its header names", fact: "video.codec",
        stated: .text(claimed), measured: VideoFacts.codecName(other).map { .text($0) })
    }
    if parameters.pointee.codec_id == AV_CODEC_ID_AV1,
      CodecSign.isOther(bytes, than: BitstreamHeader.extradata(of: parameters))
    {
      return MediaWarning(
        .claimUnchecked, "the record of its codec does not match its first picture", fact: "video")
    }
    // The index leads to the beginning of a picture, yet a decoder could not decode it.
    guard structure.iso != nil, media.truncated != true, media.video?.pixelFormat == nil,
      // Uncompressed pixels need no decoder.
      CodecAllowList.reads(parameters.pointee.codec_id), parameters.pointee.codec_id != AV_CODEC_ID_RAWVIDEO,
      MovieTracks(structure)?.track(of: stream)?.isPassedOver(by: stream) != true,
      let first = bytes.first, !bytes.allSatisfy({ $0 == first })
    else { return nil }
    return MediaWarning(
      .claimUnchecked, "its first picture can't be decoded with the codec that its header names",
      fact: "video.codec", stated: .text(claimed))
  }

  /// A warning if the first packet is too small for the uncompressed pixels that the header claims, or far larger
  /// than they need. If it is too small, the facts about those pixels are cleared.
  private func rawDoubted(
    _ stream: StreamChoice.Stream?, _ media: inout MediaInfo, _ scan: inout PacketScan
  ) -> MediaWarning? {
    guard let stream, let parameters = stream.pointee.codecpar, media.external != true,
      media.encrypted != true, let room = PlainPictures(parameters)?.bytes
    else { return nil }
    scan.run(untilSeen: stream.pointee.index, orRead: Self.mostBytesToSound)
    guard let packet = scan.firsts[stream.pointee.index] else { return nil }
    let bytes = BitstreamHeader.bytes(of: packet)
    guard !bytes.isEmpty, !room.contains(bytes.count) else { return nil }
    let claimed = parameters.pointee
    guard bytes.count < room.lowerBound else {
      return MediaWarning(
        .claimUnchecked, "its first picture is larger than the plain pixels that its header claims",
        fact: "video",
        stated: .text("\(claimed.width)x\(claimed.height)"))
    }
    media.video?.pixelFormat = nil
    media.video?.chroma = nil
    media.video?.bitDepth = nil
    return MediaWarning(
      .claimUnchecked, "its first picture is smaller than the plain pixels that its header claims",
      fact: "video.codec", stated: media.video?.codec.map { .text($0) },
      measured: CodecSign.codec(insteadOfPixels: bytes, record: BitstreamHeader.extradata(of: parameters))
        .flatMap { VideoFacts.codecName($0) }.map { .text($0) })
  }

  /// A warning if the number of blocks in a Hap picture does not match the size in the header.
  private func textureDoubted(
    _ stream: StreamChoice.Stream?, _ media: MediaInfo, _ scan: inout PacketScan
  ) -> MediaWarning? {
    guard let stream, let parameters = stream.pointee.codecpar?.pointee, media.external != true,
      media.encrypted != true, parameters.codec_id == AV_CODEC_ID_HAP
    else { return nil }
    scan.run(untilSeen: stream.pointee.index, orRead: Self.mostBytesToSound)
    guard let packet = scan.firsts[stream.pointee.index],
      HapTexture.isUnlike(
        width: parameters.width, height: parameters.height, packet: BitstreamHeader.bytes(of: packet)) == true
    else { return nil }
    return MediaWarning(
      .claimUnchecked, "its first picture does not have as many blocks as the size in its header requires",
      fact: "video", stated: .text("\(parameters.width)x\(parameters.height)"))
  }

  /// A warning if JPEGs have an orientation of their own, as a series of photos has that was made a video without
  /// decoding. Some players apply it.
  private func orientationDoubted(
    _ stream: StreamChoice.Stream?, _ media: MediaInfo, _ scan: inout PacketScan
  ) -> MediaWarning? {
    guard let stream, stream.pointee.codecpar?.pointee.codec_id == AV_CODEC_ID_MJPEG, media.external != true,
      media.encrypted != true
    else { return nil }
    scan.run(untilSeen: stream.pointee.index, orRead: Self.mostBytesToSound)
    guard let packet = scan.firsts[stream.pointee.index],
      let orientation = MotionJPEG.orientation(of: BitstreamHeader.bytes(of: packet)), orientation > 1
    else { return nil }
    return MediaWarning(
      .claimUnchecked,
      "its pictures have an orientation of their own in Exif, and only some players turn them accordingly",
      fact: "video.rotation", stated: [3: 180, 6: 90, 8: 270][orientation].map { .number($0) })
  }

  /// Warnings for sound whose frames show another codec than the header names. Not for MP4, where one name stands for
  /// several codecs, nor for MPEG's multiplexes, whose names do not state the layer.
  private func soundsRenamed(
    _ header: HeaderFacts, _ streams: StreamChoice, _ media: MediaInfo, besides others: [Int: MediaWarning]
  ) -> [MediaWarning] {
    guard structure.iso == nil, !structure.container.isMPEG, media.encrypted != true,
      !structure.hasScrambled(streams)
    else { return [] }
    return streams.audios.enumerated().compactMap { place, stream in
      guard others[place] == nil, media.audio.indices.contains(place),
        let codec = stream.pointee.codecpar?.pointee.codec_id,
        let claimed = VideoFacts.codecName(header.codecs[stream.pointee.index] ?? codec),
        let found = media.audio[place].codec, found != claimed
      else { return nil }
      return MediaWarning(
        .soundMismatch, "its header names another codec than that of its sound's frames; the frames count",
        fact: "audio.\(place).codec", stated: .text(claimed), measured: .text(found))
    }
  }

  /// The most bytes to read in search of the first frame of a sound, which is near the beginning.
  private static let mostBytesToSound: Int64 = 2 << 20

  /// Returns the file's tags. Ogg has them in its streams. Those of an AVI are read without FFmpeg, which takes them
  /// for UTF-8.
  private func tags(_ context: UnsafeMutablePointer<AVFormatContext>, _ streams: StreamChoice) -> Tags {
    let own = Tags(context.pointee.metadata)
    if let avi = structure.avi { return Tags(avi).joined(with: own) }
    guard structure.container == .ogg else { return own }
    return ([streams.video].compactMap { $0 } + streams.audios).reduce(own) {
      $0.joined(with: Tags($1.pointee.metadata))
    }
  }

  /// Returns nil for the MP4 family, whose tables are examined elsewhere.
  private func evidence(_ header: HeaderFacts, _ streams: StreamChoice) -> ContentEvidence? {
    guard structure.iso == nil else { return nil }
    return ContentEvidence(
      structure: structure, header: header, streams: streams, size: source.size,
      clock: clock, file: source)
  }

  /// Replaces what the headers claim with what the content itself says.
  private func takeContent(_ evidence: ContentEvidence, _ scan: inout PacketScan, into media: inout MediaInfo)
  {
    if media.video != nil {
      let isLarge = structure.container.isMPEG && evidence.clock?.isWhole != true
      if structure.container != .avi,
        evidence.clock == nil || isLarge || structure.container == .mpegPS || evidence.mayLackTimes
          || evidence.needsSound
      {
        scan.run(untilSeenOfKept: FramePace.sample)
      }
      if var video = media.video {
        evidence.apply(to: &video, scan)
        media.video = video
      }
    }
    for (place, stream) in evidence.streams.audios.enumerated() {
      if structure.isScrambled(stream) {
        media.audio[place] = AudioFacts(codec: media.audio[place].codec)
        continue
      }
      if evidence.isUntold(stream) {
        media.audio[place] = AudioFacts(codec: media.audio[place].codec)
        continue
      }
      if evidence.needsFrame(of: stream) {
        scan.run(untilSeen: stream.pointee.index, orRead: Self.mostBytesToSound)
      }
      guard let told = evidence.sound(of: stream, scan, source) else {
        if let sound = evidence.surveillanceSound(stream) {
          media.audio[place] = sound
        } else if evidence.hasNamedCodec(stream) {
          media.audio[place] = AudioFacts(codec: media.audio[place].codec)
        }
        continue
      }
      if let channels = told.channels { media.audio[place].channels = channels }
      if let rate = told.sampleRate { media.audio[place].sampleRate = rate }
      if media.encrypted != true, let codec = told.codec {
        media.audio[place].codec = VideoFacts.codecName(codec)
      }
    }
  }

  /// Returns the recording time that AVCHD stores with its pictures; nil if there is none.
  private func cameraTime(_ streams: StreamChoice, _ scan: inout PacketScan) -> Date? {
    guard [.mpegTS, .m2ts].contains(structure.container), let stream = streams.video,
      stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_H264
    else { return nil }
    scan.run(untilSeen: stream.pointee.index)
    return scan.first.flatMap { CameraClock.time(in: BitstreamHeader.bytes(of: $0)) }
  }

  private func sound(of stream: StreamChoice.Stream, _ scan: inout PacketScan) -> AudioFacts {
    guard let track = MovieTracks(structure)?.track(of: stream) else { return AudioFacts(stream) }
    if track.isPassedOver(by: stream) { return AudioFacts(track) }
    var facts = sound(of: stream, track, &scan)
    if let told = facts.sampleRate, let clock = SoundClock(stream, structure) {
      facts.sampleRate = clock.heard(insteadOf: told)
    }
    return facts
  }

  private func sound(
    of stream: StreamChoice.Stream, _ track: ISOTrack, _ scan: inout PacketScan
  ) -> AudioFacts {
    if let plain = PlainSound(stream, track) {
      return AudioFacts(stream, header: SoundHeader(channels: plain.channels, sampleRate: plain.sampleRate))
    }
    let isEncrypted = structure.encrypted == true
    if !isEncrypted, let parameters = stream.pointee.codecpar, DecodedSound.isOpen(parameters) {
      scan.run(untilSeen: stream.pointee.index, orRead: Self.mostBytesToSound)
      let decoded = scan.firsts[stream.pointee.index].flatMap { DecodedSound.header(parameters, $0) }
      if let decoded { return AudioFacts(stream, header: decoded) }
    }
    let told = SoundHeader(stream, of: source, isEncrypted: isEncrypted) ?? track.entry?.dolbySound
    if told == nil, !isEncrypted, stream.pointee.codecpar?.pointee.codec_id == AV_CODEC_ID_AAC {
      return unrecorded(stream, track)
    }
    let codec = stream.pointee.codecpar?.pointee.codec_id
    let isFramed = codec.map { SoundHeader.alwaysFramed.contains($0) } ?? false
    let isMissing = told == nil && !isEncrypted && isFramed && structure.truncated != true
    return isMissing
      ? AudioFacts(codec: AudioFacts(stream).codec) : AudioFacts(stream, header: told)
  }

  /// The facts of AAC without a configuration record. The sample entry counts only for a rate that the times confirm:
  /// it may state two channels for any sound, and the rate of another stage of decoding.
  private func unrecorded(_ stream: StreamChoice.Stream, _ track: ISOTrack) -> AudioFacts {
    let stated = AudioFacts(stream)
    // FFmpeg may have taken its rate from a record that is not valid. Version 2 of QuickTime's sample entries has 1
    // in the field of the rate.
    let own = track.entry?.sampleRate.flatMap { $0 > 1 ? $0 : nil } ?? stated.sampleRate
    let rate = own.flatMap { rate in
      SoundClock.confirms(rate, of: track, structure.iso?.fragmentTable) ? rate : nil
    }
    return AudioFacts(codec: stated.codec, sampleRate: rate)
  }

  /// Completes the stream's parameters from its first packet where FFmpeg relies on the container. FFmpeg knows VP8's
  /// pixel format without decoding, and so takes the size from the container, right or wrong. From 7.1 on its decoder
  /// reports ProRes's colors with each picture only; from 9 on, colors from the container stay. A decoder fails on
  /// encrypted pictures, or succeeds only sometimes, but their headers are in the clear.
  private func believeFrames(
    of stream: UnsafeMutablePointer<AVStream>, _ header: HeaderFacts, isParsed: Bool, _ scan: inout PacketScan
  ) {
    guard let parameters = stream.pointee.codecpar else { return }
    let codec = parameters.pointee.codec_id
    let hasHeader = BitstreamHeader.codecs.contains(codec)
    let isEncrypted = structure.encrypted == true && hasHeader
    let namesTransfer = header.transfers[stream.pointee.index] != nil && hasHeader
    // A parsed header has already been applied, except for that of Motion JPEG, which FFmpeg's decoder has read.
    let isTold = isParsed && codec != AV_CODEC_ID_MJPEG
    let isLeft =
      [AV_CODEC_ID_VP8, AV_CODEC_ID_PRORES, AV_CODEC_ID_MJPEG].contains(codec)
      // FFmpeg reports the largest size that the stream allows.
      || codec == AV_CODEC_ID_AV1 && structure.encrypted != true && !structure.isScrambled(stream)
      || StatedPictureSize.codecs.contains(codec) && structure.encrypted != true
    // AV1 is examined in any case.
    let isUnseen = !isParsed && codec != AV_CODEC_ID_AV1 && hasUnseenPictures(stream)
    guard !isTold, isEncrypted || isLeft || namesTransfer || isUnseen else { return }
    scan.run(untilSeen: stream.pointee.index)
    guard let packet = scan.first else { return }
    if isUnseen {
      if let frame = BitstreamHeader(parameters, packet: packet) {
        frame.apply(in: parameters)
      } else if CodecAllowList.decodes(codec) {
        DecodedPicture(packet, stream)?.apply(to: stream)
      }
    }
    if isEncrypted {
      BitstreamHeader(parameters, packet: packet)?.apply(in: parameters)
    } else if codec == AV_CODEC_ID_MJPEG {
      // FFmpeg takes a JPEG for a single field if it has fewer lines than the container states.
      if !MotionJPEG.isOfFields(BitstreamHeader.bytes(of: packet)),
        let size = MotionJPEG.size(of: BitstreamHeader.bytes(of: packet))
      {
        (parameters.pointee.width, parameters.pointee.height) = (
          Int32(clamping: size.width), Int32(clamping: size.height)
        )
      }
    } else if codec == AV_CODEC_ID_AV1 {
      if let frame = BitstreamHeader(parameters, packet: packet) {
        frame.apply(in: parameters)
      } else {
        DecodedPicture(packet, stream)?.apply(to: stream)
      }
    } else if codec == AV_CODEC_ID_VP8 {
      guard let frame = VP8FrameHeader(BitstreamHeader.bytes(of: packet)) else { return }
      parameters.pointee.width = Int32(clamping: frame.width)
      parameters.pointee.height = Int32(clamping: frame.height)
    } else if let size = StatedPictureSize(codec, packet: BitstreamHeader.bytes(of: packet)) {
      guard !size.allows(width: Int(parameters.pointee.width), height: Int(parameters.pointee.height)) else {
        return
      }
      parameters.pointee.width = Int32(clamping: size.width)
      parameters.pointee.height = Int32(clamping: size.height)
    } else {
      BitstreamHeader(parameters, packet: packet)?.applyTransfer(in: parameters)
    }
  }

  /// Whether FFmpeg has no size or no pixel format although the first packet can supply them: it stopped before it
  /// saw a picture, which may come late beside much sound, or it has no decoder that may be opened.
  private func hasUnseenPictures(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    guard let parameters = stream.pointee.codecpar, !structure.isScrambled(stream),
      parameters.pointee.width <= 0 || parameters.pointee.format < 0
    else { return false }
    let codec = parameters.pointee.codec_id
    return BitstreamHeader.isReadable(codec) || CodecAllowList.decodes(codec)
  }

  /// Returns the transfer function that a message (SEI) beside the first picture names; nil if there is none. Streams
  /// whose header was parsed have no such message.
  private func preferredTransfer(
    of stream: StreamChoice.Stream, _ scan: inout PacketScan
  ) -> AVColorTransferCharacteristic? {
    guard let parameters = stream.pointee.codecpar, !structure.isScrambled(stream),
      [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC].contains(parameters.pointee.codec_id)
    else { return nil }
    scan.run(untilSeen: stream.pointee.index)
    guard let packet = scan.first,
      let number = PreferredTransfer.number(
        parameters.pointee.codec_id, packet: BitstreamHeader.bytes(of: packet),
        record: BitstreamHeader.extradata(of: parameters)),
      VideoUsability.Colour.isSaid(number)
    else { return nil }
    let transfer = AVColorTransferCharacteristic(rawValue: number)
    return av_color_transfer_name(transfer) == nil ? nil : transfer
  }

  /// Finds the facts that may take packets: whether there is a sample, and a duration that no header states.
  private func takePackets(
    _ search: DurationSearch, _ evidence: ContentEvidence?, _ blank: BlankContent?,
    of context: UnsafeMutablePointer<AVFormatContext>, isParsed: Bool, _ scan: inout PacketScan,
    into media: inout MediaInfo
  ) {
    if let stream = search.streams.video {
      media.video?.hasSamples = isParsed ? true : hasSamples(stream, among: search.streams, &scan)
    }
    media.take(evidence?.duration(context) ?? search.withoutPackets(context) ?? search.byPackets(&scan))
    if media.truncated == true { media.presentDuration = present(search, blank, &scan) }
  }

  /// Returns how many seconds of a truncated file are present. Packets are read only if there is no index.
  private func present(
    _ search: DurationSearch, _ blank: BlankContent?, _ scan: inout PacketScan
  ) -> Double? {
    // Packets after a gap would be counted as if there were no gap.
    if structure.iso == nil, let blank, !blank.isOuter { return nil }
    let present = PresentDuration(
      structure: structure, streams: search.streams, size: source.size, blank: blank)
    let seconds = structure.iso == nil ? present.byPackets(&scan) : present.byIndex(whole: search.claimed)
    return seconds.flatMap { (0..<FoundDuration.longest).contains($0) ? $0 : nil }
  }

  private func hasSamples(
    _ stream: UnsafeMutablePointer<AVStream>, among streams: StreamChoice, _ scan: inout PacketScan
  ) -> Bool? {
    if let iso = structure.iso {
      let track = MovieTracks(structure)?.track(of: stream)
      return avformat_index_get_entries_count(stream) > 0 || iso.hidesSamples(of: stream)
        || iso.countsSamples(of: stream) || track?.isPassedOver(by: stream) == true
    }
    // FFmpeg stops at a packet of a stream that the header does not list, so ask the clock first.
    let key = ContentClock.key(of: stream, among: streams, in: structure)
    if key.flatMap({ clock?.extents[$0]?.packets }) ?? 0 > 0 { return true }
    scan.run(untilSeen: stream.pointee.index)
    if scan.seen.contains(stream.pointee.index) { return true }
    return scan.end == .file ? false : nil
  }
}

extension ISOFileMap {
  /// Whether the track's edit list hides all of its samples: it shows none of their time, or FFmpeg has counted
  /// samples and indexed none.
  func hidesSamples(of stream: UnsafeMutablePointer<AVStream>) -> Bool {
    guard let track = track(UInt32(truncatingIfNeeded: stream.pointee.id)), track.edits != nil else {
      return false
    }
    if let presentation = track.presentation { return presentation.hidesAll }
    return stream.pointee.nb_frames > 0 && avformat_index_get_entries_count(stream) == 0
  }

  /// Whether FFmpeg has counted samples of a track with an edit list but indexed none.
  fileprivate func countsSamples(of stream: UnsafeMutablePointer<AVStream>) -> Bool {
    track(UInt32(truncatingIfNeeded: stream.pointee.id))?.edits != nil
      && stream.pointee.nb_frames > 0 && avformat_index_get_entries_count(stream) == 0
  }
}
