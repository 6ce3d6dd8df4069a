import CFFmpeg
import ReelCore

/// What in a file contradicts itself, or is not all there is to it.
struct ProbeWarnings {
  let header: HeaderFacts
  let structure: FileStructure
  /// Seconds by the header.
  let claimedDuration: Double?
  /// How often the clock of an MP4's fragments starts anew; nil without fragments.
  let fragmentJumps: Int?
  let streams: StreamChoice
  let crops: PictureCrops
  let media: MediaInfo
  let blank: BlankContent?
  /// The places of sounds that are of another codec than their header names.
  let otherSounds: Set<Int>
  /// Seconds that the first packet of a sound lasts by its codec, by its place.
  let soundFrames: [Int: Double]

  var found: [MediaWarning] {
    let found = [
      size, cropping, shape, turn, duration, transfer, codec, samples, truncation, blank?.warning, links,
      orderedChapters,
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

  /// The container and the pictures name transfer functions of which one is of high dynamic range.
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

  /// A player cuts H.264 to a size in the header that is up to a macroblock smaller, where the pictures themselves cut off
  /// nothing; and where no picture can be read, the header's size is all there is beside its parameters.
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

  /// Matroska and the pictures give different shapes, as far as nothing is cut off. Matroska counts its display in whole
  /// pixels; AV1 tells a shape by the size in which it is to be shown, which encoders make that of the picture.
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
        "its header gives a duration that cannot be meant, and nothing else tells how long it is",
        fact: "duration", stated: .number(claimed))
    }
    // A file that was cut off is shorter than its header says, and that is said once.
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
    // Some containers number their codecs.
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

  /// Some players show the chapters of such a file, others all that is in it.
  private var orderedChapters: MediaWarning? {
    guard let stated = structure.matroska?.links.orderedSeconds, let seconds = media.duration,
      abs(stated - seconds) > max(0.1, 0.01 * seconds)
    else { return nil }
    return MediaWarning(
      .claimUnchecked,
      "its chapters play \(Self.text(stated)) seconds of it, in an order of their own; not every player goes by them",
      fact: "duration", stated: .number(stated), measured: .number(seconds))
  }

  static func text(_ seconds: Double) -> String {
    guard seconds.isFinite, abs(seconds) < 1e15 else { return "absurdly many" }
    return "\((seconds * 10).rounded() / 10)"
  }
}
