import CFFmpeg
import ReelCore

/// Warnings about what contradicts itself in a file, and about content that is missing or in other files.
struct ProbeWarnings {
  let header: HeaderFacts
  let structure: FileStructure
  /// The duration in seconds that the header claims.
  let claimedDuration: Double?
  /// The number of times that the clock of an MP4's fragments restarts; nil if there are no fragments.
  let fragmentJumps: Int?
  let streams: StreamChoice
  let crops: PictureCrops
  let media: MediaInfo
  let blank: BlankContent?
  let stray: StrayPicture?
  /// The places of the sounds that are of another codec than their header names.
  let otherSounds: Set<Int>
  /// The seconds that the first packet of a sound lasts by its codec, by the sound's place.
  let soundFrames: [Int: Double]

  var found: [MediaWarning] {
    let found = [
      size, cropping, shape, turn, duration, transfer, codec, samples, truncation, blank?.warning,
      stray?.warning, links, orderedChapters,
    ]
    .compactMap {
      $0
    }
    guard let iso = structure.iso, let tracks = MovieTracks(structure) else { return found }
    let movie = MovieWarnings(
      tracks: tracks, iso: iso, streams: streams, media: media, fragmentJumps: fragmentJumps,
      otherSounds: otherSounds, soundFrames: soundFrames)
    return found + movie.found(hasDuration: found.contains { $0.code == .durationMismatch })
  }

  /// A warning if the container and the pictures name different transfer functions, one of which is of high dynamic
  /// range.
  private var transfer: MediaWarning? {
    guard let stream = streams.video, let stated = header.transfers[stream.pointee.index],
      let pictures = stream.pointee.codecpar?.pointee.color_trc,
      VideoUsability.Colour.isSaid(pictures.rawValue), pictures != stated,
      [stated, pictures].contains(where: { $0 == AVCOL_TRC_SMPTE2084 || $0 == AVCOL_TRC_ARIB_STD_B67 })
    else { return nil }
    let names = [stated, pictures].map { av_color_transfer_name($0).map { String(cString: $0) } }
    return MediaWarning(
      .transferMismatch, "its header names another transfer function than its pictures", fact: "video.hdr",
      stated: names[0].map { .text($0) }, measured: names[1].map { .text($0) })
  }

  private var size: MediaWarning? {
    guard let stream = streams.video, let claimed = header.sizes[stream.pointee.index],
      let width = media.video?.storedWidth, let height = media.video?.storedHeight,
      !claimed.allows(width: width, height: height)
    else { return cutSize }
    return MediaWarning(
      .sizeMismatch,
      "its header says \(claimed.width)x\(claimed.height), its pictures are \(width)x\(height)",
      fact: "video", stated: .text("\(claimed.width)x\(claimed.height)"),
      measured: .text("\(width)x\(height)"))
  }

  /// A warning about H.264 whose parameters state another size than the header. If the header's size is up to a
  /// macroblock smaller, and the pictures crop nothing themselves, a player crops them to it. If no picture can be
  /// read, the header's size is all there is beside its parameters.
  private var cutSize: MediaWarning? {
    guard let parameters = streams.video?.pointee.codecpar, let width = media.video?.storedWidth,
      parameters.pointee.codec_id == AV_CODEC_ID_H264, let height = media.video?.storedHeight,
      let sets = AVCConfiguration(BitstreamHeader.extradata(of: parameters))?.sequenceParameterSets,
      sets.count == 1, let sequence = H264SequenceParameters(unit: sets[0]),
      (sequence.width, sequence.height) != (width, height)
    else { return nil }
    return MediaWarning(
      .sizeMismatch,
      "its header says \(width)x\(height), its pictures are \(sequence.width)x\(sequence.height) by their own account",
      fact: "video", stated: .text("\(width)x\(height)"),
      measured: .text("\(sequence.width)x\(sequence.height)"))
  }

  private var cropping: MediaWarning? {
    guard let stream = streams.video, crops.leavesNothing(of: stream, among: streams) else { return nil }
    return MediaWarning(
      .croppingMismatch, "its header cuts off more than there is of its pictures; they are taken whole",
      fact: "video")
  }

  /// A warning if Matroska and the pictures give different shapes and nothing is cropped. Matroska states its display
  /// size in whole pixels. AV1 derives a shape from the size at which it is to be shown, which encoders set to the
  /// size of the picture.
  private var shape: MediaWarning? {
    guard structure.container.isMatroska, let stream = streams.video,
      crops.crop(of: stream, among: streams) == nil, let video = media.video,
      let stated = video.sampleAspectRatio, let parameters = stream.pointee.codecpar,
      ![AV_CODEC_ID_H263, AV_CODEC_ID_AV1].contains(parameters.pointee.codec_id),
      let width = video.storedWidth, let height = video.storedHeight, min(width, height) > 0
    else { return nil }
    let pictures = parameters.pointee.sample_aspect_ratio
    guard pictures.num > 0, pictures.den > 0,
      abs(stated.ratio.value / av_q2d(pictures) - 1) > max(0.01, 1.5 / Double(min(width, height)))
    else { return nil }
    return MediaWarning(
      .pixelShapeMismatch, "its header gives its pixels another shape than its pictures",
      fact: "video.sampleAspectRatio", stated: .text("\(stated.ratio.numerator):\(stated.ratio.denominator)"),
      measured: .text("\(pictures.num):\(pictures.den)"))
  }

  private var turn: MediaWarning? {
    guard let video = media.video, video.rotation == nil else { return nil }
    return MediaWarning(
      .rotationUnknown, "its display matrix has no angle; it is shown as it is stored", fact: "video.rotation"
    )
  }

  private var duration: MediaWarning? {
    guard let claimed = claimedDuration, claimed != 0 else { return nil }
    guard let seconds = media.duration else {
      return MediaWarning(
        .durationMismatch,
        "its header states an impossible duration, and nothing else shows how long it is",
        fact: "duration", stated: .number(claimed))
    }
    // A truncated file is shorter than its header says, which is reported only once.
    if media.truncated == true, claimed > seconds, FoundDuration.isPlausible(claimed, size: media.size) {
      return nil
    }
    let isRejected = media.durationSource != .container
    guard abs(claimed - seconds) > (isRejected ? max(0.1, claimed * 0.01) : max(1, seconds * 0.1))
    else { return nil }
    return MediaWarning(
      .durationMismatch,
      "its header says \(Self.text(claimed)) seconds, it really lasts \(Self.text(seconds))",
      fact: "duration", stated: .number(claimed), measured: .number(seconds))
  }

  private var codec: MediaWarning? {
    guard let stream = streams.video, media.video?.codec == nil else { return nil }
    let tag = stream.pointee.codecpar.pointee.codec_tag
    // Some containers identify their codecs by number.
    let name = tag == 0 ? nil : tag < 256 ? "\(tag)" : FourCharacterCode(codecTag: tag).text
    return MediaWarning(
      .codecUnknown,
      "its video is in a codec that this FFmpeg does not know\(name.map { " (\($0))" } ?? "")",
      fact: "video.codec", stated: name.map { .text($0) })
  }

  private var samples: MediaWarning? {
    guard let stream = streams.video, structure.iso?.hidesSamples(of: stream) == true else { return nil }
    return MediaWarning(
      .samplesHidden, "its edit list hides every sample of its video", fact: "video.hasSamples")
  }

  private var truncation: MediaWarning? {
    guard media.truncated == true else { return nil }
    guard let there = media.presentDuration else {
      if blank?.isMissing == true { return nil }
      return MediaWarning(.truncated, "it ends before its own account says: it was cut off")
    }
    let whole = [claimedDuration, media.duration].compactMap { $0 }
      .first { $0 > there && FoundDuration.isPlausible($0, size: media.size) }
    let part = whole.map { " of its \(Self.text($0)) seconds" } ?? " seconds of it"
    return MediaWarning(
      .truncated, "it was cut off: \(Self.text(there))\(part) are there", fact: "duration",
      stated: whole.map { .number($0) }, measured: .number(there))
  }

  private var links: MediaWarning? {
    structure.matroska?.links.sentence.map { MediaWarning(.linkedSegments, $0) }
  }

  /// A warning about ordered chapters: some players show only these, and others everything in the file.
  private var orderedChapters: MediaWarning? {
    guard let stated = structure.matroska?.links.orderedSeconds, let seconds = media.duration,
      abs(stated - seconds) > max(0.1, 0.01 * seconds)
    else { return nil }
    return MediaWarning(
      .claimUnchecked,
      "its chapters play \(Self.text(stated)) seconds of it, in an order of their own; not every player follows them",
      fact: "duration", stated: .number(stated), measured: .number(seconds))
  }

  static func text(_ seconds: Double) -> String {
    guard seconds.isFinite, abs(seconds) < 1e15 else { return "absurdly many" }
    return "\((seconds * 10).rounded() / 10)"
  }
}
