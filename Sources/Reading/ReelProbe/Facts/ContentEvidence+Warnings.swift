import CFFmpeg
import ReelCore

/// Warnings about claims that the content contradicts, or that nothing confirms.
extension ContentEvidence {
  /// Returns warnings about claims of the headers that the content contradicts, and about what was not examined.
  ///
  /// - Parameter paces: see ``PacketScan/soundPaces``.
  func warnings(_ media: MediaInfo, _ paces: [Int32: Double]) -> [MediaWarning] {
    [jumpsFound, durationUnchecked(media), rate(media), rateUnchecked(media)].compactMap { $0 }
      + clockDoubted(media) + clockContradicted(media, paces)
      + changes(media) + contradictions + pages + soundsOfTags + plainSound(media) + trackLists + unlisted
      + sizeOfTags(media)
      + soundTimes(media)
      + soundRecords + (structure.mxf?.warnings(media) ?? [])
  }

  /// Warnings about Vorbis and FLAC. Both Matroska and the codec's record state their rate and channels, and decoding
  /// does not change these.
  private var soundRecords: [MediaWarning] {
    guard structure.container.isMatroska else { return [] }
    return streams.audios.enumerated().compactMap { place, stream in
      guard let stated = header.sounds[stream.pointee.index], let parameters = stream.pointee.codecpar,
        let own = SoundHeader(
          parameters.pointee.codec_id, record: BitstreamHeader.extradata(of: parameters))
      else { return nil }
      let isTold =
        switch parameters.pointee.codec_id {
        case AV_CODEC_ID_VORBIS: stated == own
        // FLAC's frames state the channels, and their duration reveals a rate that is far off.
        case AV_CODEC_ID_FLAC: stated.sampleRate == own.sampleRate || falseSounds[stream.pointee.index] != nil
        default: true
        }
      guard !isTold else { return nil }
      return MediaWarning(
        .soundMismatch,
        "its header gives its sound other channels or another rate than the record of its codec",
        fact: "audio.\(place)")
    }
  }

  /// Warnings about times that pages of Ogg or clusters of Matroska cannot have.
  private var pages: [MediaWarning] {
    if clock?.overlaps == true {
      return [
        MediaWarning(.clockJumps, "the times of parts that follow one another overlap", fact: "duration")
      ]
    }
    guard let ogg = structure.ogg else { return [] }
    return
      (ogg.hasUnknown
      ? [MediaWarning(.claimUnchecked, "it has a stream of a kind that is not known")] : []) + times(ogg)
  }

  private func times(_ ogg: OggTimes) -> [MediaWarning] {
    if ogg.hasGap {
      return [
        MediaWarning(
          .claimUnchecked,
          "it has bytes that are no part of its pages: some were lost, repeated or replaced, so its duration may be wrong",
          fact: "duration")
      ]
    }
    if ogg.jumps {
      return [
        MediaWarning(.clockJumps, "the times of its pages are not those of its packets", fact: "duration")
      ]
        + (ogg.rate == nil
          ? []
          : [
            MediaWarning(
              .claimUnchecked, "the times of its pages do not tell whether its frame rate is right",
              fact: "video.frameRate", stated: ogg.rate.map { .text(FrameRate($0).description) })
          ])
    }
    if ogg.isUnconfirmed {
      let what = "its pages count more pictures than there are, and no sound says how long they last"
      return [MediaWarning(.claimUnchecked, what, fact: "duration")]
    }
    guard structure.truncated != true, let pictures = ogg.pictureSeconds, let sound = ogg.soundSeconds,
      sound > 0, !ogg.picturesAgree
    else { return [] }
    let what =
      "its pictures last \(ProbeWarnings.text(pictures)) seconds by their rate, its sound \(ProbeWarnings.text(sound))"
    let sounds = streams.audios.indices.filter {
      streams.audios[$0].pointee.codecpar?.pointee.codec_id == AV_CODEC_ID_VORBIS
    }.map { "audio.\($0).sampleRate" }
    return (["duration", "video.frameRate"] + sounds).map { MediaWarning(.claimUnchecked, what, fact: $0) }
  }

  /// A warning about a Matroska file whose lists of tracks differ, although they have to be alike (RFC 9559, 5.1.4).
  private var trackLists: [MediaWarning] {
    guard structure.matroska?.trackList?.contradictsItself == true else { return [] }
    return [
      MediaWarning(
        .indexMismatch, "it lists its tracks more than once, and the lists differ; the first one counts")
    ]
  }

  /// Warnings about packets of a track that is not listed, and about tracks of one kind whose codec is of another.
  private var unlisted: [MediaWarning] {
    var found = ofOtherKinds + (structure.matroska?.trackList?.misnamed.warnings ?? [])
    if let listed, !listed.isEmpty,
      clock?.extents.contains(where: { !listed.contains($0.key) && $0.value.packets > 2 }) == true
    {
      found.append(
        MediaWarning(.indexMismatch, "it has packets of a track that its header does not list"))
    }
    return found
  }

  /// Warnings about streams of a multiplex, or an ASF, that are listed as sound and whose packets or format are of
  /// pictures, or the reverse; about pictures in a codec that FFmpeg does not know; and about a sequence header that
  /// gives another size than the next.
  private var ofOtherKinds: [MediaWarning] {
    func isOfPictures(_ stream: StreamChoice.Stream) -> Bool? {
      // In a program stream, the number of the stream identifies its kind.
      if structure.container == .mpegPS {
        return stream.pointee.id & 0x1f0 == 0x1e0 ? true : stream.pointee.id & 0x1e0 == 0x1c0 ? false : nil
      }
      return key(of: stream).flatMap { beginning?.isOfPictures($0) }
    }
    var found = structure.misnamedInASF
    if streams.audios.contains(where: { isOfPictures($0) == true }) {
      found += ["video", "audio"].map { .misnamed("sound", whatIs: "pictures", fact: $0) }
    }
    if streams.videos.contains(where: { isOfPictures($0) == false }) {
      found.append(.misnamed("pictures", whatIs: "sound", fact: "audio"))
    }
    if structure.container != .mpegPS, streams.videos.isEmpty,
      let stream = streams.all.first(where: { isOfPictures($0) == true && !streams.audios.contains($0) })
    {
      let number = "\(stream.pointee.codecpar.pointee.codec_tag)"
      found.append(
        MediaWarning(
          .codecUnknown, "it has pictures in a codec that this FFmpeg does not know (\(number))",
          fact: "video.codec", stated: .text(number)))
    }
    if soundsWithoutNumber.contains(where: { $0.codec == nil }) {
      found.append(
        MediaWarning(.codecUnknown, "it has sound in a codec that this FFmpeg does not know", fact: "audio"))
    }
    if let sizes = beginning?.sizes, sizes.count == 2, sizes[0] != sizes[1], streams.videos.count == 1,
      let codec = streams.video?.pointee.codecpar?.pointee.codec_id,
      [AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO].contains(codec)
    {
      found.append(.changedSize(sizes[0], sizes[1]))
    }
    return found
  }

  /// A warning if the size in an FLV's `onMetaData` is neither that of the pictures as stored nor as shown, nor
  /// either of these in whole blocks.
  private func sizeOfTags(_ media: MediaInfo) -> [MediaWarning] {
    guard let metadataSize, let video = media.video, let width = video.storedWidth,
      let height = video.storedHeight
    else { return [] }
    let sizes = [(width, height), (video.width ?? width, video.height ?? height)]
    let isOne = sizes.contains { size in
      (-2..<16).contains(metadataSize.width - size.0) && (-2..<16).contains(metadataSize.height - size.1)
    }
    guard !isOne else { return [] }
    return [
      MediaWarning(
        .sizeMismatch, "its header says \(metadataSize), its pictures are \(width)x\(height)", fact: "video",
        stated: .text("\(metadataSize)"), measured: .text("\(width)x\(height)"))
    ]
  }

  /// Warnings about streams that a later program map gives another codec than the first one.
  private var typeChanges: [MediaWarning] {
    func change(_ stream: StreamChoice.Stream, _ what: String, fact: String) -> MediaWarning? {
      guard let own = key(of: stream).flatMap({ clock?.mapped[$0] }), let later = own.later,
        // The first map may be wrong about what follows.
        stream.pointee.codecpar?.pointee.codec_id != later,
        let codec = VideoFacts.codecName(own.first), let then = VideoFacts.codecName(later)
      else { return nil }
      return .changedCodec(codec, then, what, fact: fact)
    }
    return [streams.video.flatMap { change($0, "video", fact: "video.codec") }].compactMap(\.self)
      + streams.audios.enumerated().compactMap { change($1, "sound", fact: "audio.\($0).codec") }
  }

  /// Warnings about codec records later in an FLV that differ from the first, and about other codecs in a transport
  /// stream.
  private func changes(_ media: MediaInfo) -> [MediaWarning] {
    var found = typeChanges
    if let stream = streams.video, let (first, later) = records(of: stream),
      let change = ContentChanges.change(first.codec, first.bytes, later)
    {
      found.append(change)
    }
    for (place, stream) in streams.audios.enumerated() {
      guard let (first, later) = records(of: stream),
        let sound = SoundHeader(first.codec, record: first.bytes),
        let other = SoundHeader(first.codec, record: later),
        let change = MediaWarning.changedSound(sound, other, place: place)
      else { continue }
      found.append(change)
    }
    return found
  }

  private func records(
    of stream: StreamChoice.Stream
  ) -> (first: (codec: AVCodecID, bytes: [UInt8]), later: [UInt8])? {
    guard let codec = stream.pointee.codecpar?.pointee.codec_id, let key = key(of: stream),
      let own = clock?.records[key], let later = own.later
    else { return nil }
    return ((codec, own.first), later)
  }

  /// A warning about contradictory tags. An FLV has one stream of sound (E.4.2.1), besides those marked as further
  /// ones, but FFmpeg makes another one if the flags of a tag differ.
  private var soundsOfTags: [MediaWarning] {
    let further = structure.namedCodecs?.furtherSounds.count ?? 0
    guard structure.container == .flv, streams.audios.count > 1 + further else { return [] }
    return [
      MediaWarning(
        .soundMismatch, "its tags contradict one another about its only sound", fact: "audio")
    ]
  }

  /// Warnings about uncompressed sound in Matroska whose bytes per second do not match the channels and the rate in
  /// its header.
  private func plainSound(_ media: MediaInfo) -> [MediaWarning] {
    guard structure.container.isMatroska, let clock else { return [] }
    return streams.audios.enumerated().compactMap { place, stream in
      guard media.audio.indices.contains(place), let parameters = stream.pointee.codecpar,
        let channels = media.audio[place].channels, let rate = media.audio[place].sampleRate,
        let key = key(of: stream), !clock.shared.contains(key),
        // The first and the last packet may be cut.
        let bytes = clock.samples[key]?.usualSize, let pace = clock.pace(of: key),
        pace.steps >= 8, !pace.isVariable || clock.beginsEvenly(key, pace)
      else { return nil }
      let bits = Int(av_get_exact_bits_per_sample(parameters.pointee.codec_id))
      guard bits >= 8 else { return nil }
      let measured = Double(bytes) * pace.ordinary
      let stated = Double(channels) * Double(rate) * Double(bits) / 8
      guard abs(measured - stated) > 0.1 * stated else { return nil }
      return MediaWarning(
        .soundMismatch, "its sound has other channels or another rate than its header gives it",
        fact: "audio.\(place)")
    }
  }

  /// Warnings about sound whose packets have another duration by their times than by their codec.
  private func soundTimes(_ media: MediaInfo) -> [MediaWarning] {
    streams.audios.enumerated().flatMap { place, stream -> [MediaWarning] in
      guard let own = falseSounds[stream.pointee.index], let parameters = stream.pointee.codecpar,
        media.audio.indices.contains(place)
      else { return [] }
      if !own.isConfirmed, SoundFrame.selfTold.contains(parameters.pointee.codec_id) {
        return doubtedClock(Self.lastsOtherwise, media, slowed: own.pace.ratio)
      }
      let told = SoundHeader(
        parameters.pointee.codec_id, record: BitstreamHeader.extradata(of: parameters))?.sampleRate
      guard let stated = told ?? media.audio[place].sampleRate,
        let measured = own.pace.rate(insteadOf: stated)
      else {
        // Only a rate that is stated beside the clock confirms it, where its codec has no other rate.
        let isRight =
          own.isConfirmed && (!own.pace.hasFixedRate || isClockHeard || picturesAgree(with: media))
        return [MediaWarning(.soundMismatch, Self.lastsOtherwise, fact: "audio.\(place)")]
          + (isRight ? [] : doubtedClock(Self.lastsOtherwise, media, slowed: own.pace.ratio))
      }
      let what =
        "its sound has a rate of \(stated) Hz by the header of its codec, and of \(measured) by its times"
      let rate = MediaWarning(
        own.isConfirmed ? .soundMismatch : .claimUnchecked, what, fact: "audio.\(place).sampleRate",
        stated: .number(Double(stated)), measured: .number(Double(measured)))
      return [rate] + (own.isConfirmed ? [] : doubtedClock(what, media, slowed: own.pace.ratio))
    }
  }

  /// Whether the pictures themselves state the frame rate that was found.
  private func picturesAgree(with media: MediaInfo) -> Bool {
    media.video?.frameRate.flatMap { rate in
      streams.video.flatMap { BitstreamRate($0) }?.agrees(with: rate.value)
    } ?? false
  }

  static let lastsOtherwise =
    "the packets of its sound have another duration by their timestamps than by their codec"

  func doubtedClock(_ what: String, _ media: MediaInfo, slowed ratio: Double) -> [MediaWarning] {
    MediaWarning.doubtedClock(what, media, streams.video, slowed: ratio)
  }
}
