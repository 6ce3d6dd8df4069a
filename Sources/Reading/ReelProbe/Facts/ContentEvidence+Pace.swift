import CFFmpeg
import ReelCore

/// The rate of the pictures, and what may be said of it.
extension ContentEvidence {
  /// Returns the pace of the pictures by their times, and whether all of them were examined.
  func pace(_ scan: borrowing PacketScan) -> (pace: FramePace, isMeasured: Bool)? {
    guard let stream = streams.video else { return nil }
    if structure.container == .avi {
      return structure.aviParts == nil ? paceOfKept(stream).map { ($0, true) } : nil
    }
    // In a program stream only the first of several pictures in a packet has a timestamp; of a large transport stream
    // only windows were examined.
    if structure.container != .mpegPS, let clock,
      clock.isWhole || scan.end != .file && !structure.container.isMPEG,
      let key = key(of: stream),
      let pace = clock.pace(of: key)
    {
      if clock.isWhole, clock.heads[key]?.count == clock.extents[key]?.packets { return (pace, true) }
      return (pace, pace.isVariable || clock.isShownThroughout(key) && !clock.isUneven(key))
    }
    let isCut = scan.end != .file || structure.container.isMPEG
    let base = stream.pointee.time_base
    let decoded = FramePace(scan.decoded, in: base, isCut: isCut)
    let beginsAnywhere = structure.container.isMPEG
    guard
      let pace = FramePace(scan.frames, in: base, isCut: isCut, beginsAnywhere: beginsAnywhere)?
        .unless(decoded)
    else { return nil }
    // An MXF stores one edit unit after the other.
    let isEven = isEvenThroughout == true || structure.container == .mxf
    return (pace, scan.end == .file || !pace.isVariable && isEven)
  }

  /// Whether the pictures of a large transport stream come at the same pace wherever it was examined; nil if that was
  /// in few places, as in a remote file. In a program stream only some pictures have timestamps.
  private var isEvenThroughout: Bool? {
    guard [.mpegTS, .m2ts].contains(structure.container), let clock, !clock.isWhole,
      let stream = streams.video
    else { return nil }
    let isEven = key(of: stream).flatMap { clock.isEvenThroughout($0) }
    return isEven == true && isFar ? nil : isEven
  }

  /// Whether pictures of a program stream are missing for long while its sound continues. The times that are left do
  /// not tell how many are missing.
  private var isPausing: Bool {
    guard structure.container == .mpegPS, let stream = streams.video else { return false }
    return key(of: stream).map { clock?.isPausing($0) == true } ?? false
  }

  /// A warning about a rate that was measured at the beginning, if pictures come at another rate elsewhere.
  func rateUnchecked(_ media: MediaInfo) -> MediaWarning? {
    guard let video = media.video, let rate = video.frameRate else { return nil }
    if structure.aviParts?.areEven == false {
      return MediaWarning(
        .claimUnchecked,
        "it consists of several joined files, and their pictures do not all come at this rate",
        fact: "video.frameRate", stated: .text(rate.description))
    }
    let isPartial = clock?.isWhole == false && needsAll
    let isUneven = video.variableFrameRate == nil && isEvenThroughout == false || isPartial || isPausing
    // A single wrong timestamp makes a step back and a gap.
    let isDoubtful =
      video.variableFrameRate == true
      && (jumps > 0 || clock?.overlaps == true || clock?.isUnclear == true && clock?.isWhole == true)
    guard isUneven || isDoubtful || video.variableFrameRate == nil && isSeenInPart else { return nil }
    return MediaWarning(
      .claimUnchecked,
      isDoubtful
        ? "its clock restarts or is lost, and its pictures come unevenly; both may have the same cause"
        : isUneven
          ? "its pictures come unevenly, and only some of them were examined"
          : "only some of its pictures were examined; others may come at another rate",
      fact: "video.frameRate", stated: .text(rate.description))
  }

  /// Whether the places at which pictures were examined are too far apart.
  private var isSeenInPart: Bool {
    guard let clock, !clock.isWhole else { return false }
    // Multiplexes are examined in many places, unless they are remote.
    if structure.container.isMPEG { return isFar }
    // With one or two pictures, the pace can't differ elsewhere.
    guard let key = streams.video.flatMap({ key(of: $0) }), clock.extents[key]?.packets ?? 0 > 2 else {
      return false
    }
    return !clock.isShownThroughout(key)
  }

  /// Returns the rates of the pictures that are stated by something other than their times: the clock's tick, the
  /// bitstream, the header.
  func statedRates(_ stream: StreamChoice.Stream) -> [Rational] {
    let stated = header.rates[stream.pointee.index]
    return [tickedRate(stream), BitstreamRate(stream)?.rate, stated].compactMap { $0 }
      .filter { $0.value < Self.fastest }
  }

  /// The rate of a clock that ticks once per picture, as MXF's edit units (SMPTE ST 377-1) and Ogg's granules do.
  /// Times in such ticks also agree with rates that are far off.
  private func tickedRate(_ stream: StreamChoice.Stream) -> Rational? {
    let tick = stream.pointee.time_base
    guard [.mxf, .ogg].contains(structure.container), let rate = Rational(Int(tick.den), Int(tick.num)) else {
      return nil
    }
    // OGM counts in tenths of a microsecond.
    return FramePace.usualRate(of: rate, within: 1e-7) ?? rate
  }

  /// Returns the rate of an AVI that shows one of several frames and drops the others. Its frames are counted, so
  /// that their step is exact, however few are missing.
  private func keptRate(_ stream: StreamChoice.Stream, _ pace: FramePace) -> Rational? {
    guard structure.container == .avi, !pace.isVariable, let stated = header.rates[stream.pointee.index],
      pace.ordinary > 0
    else { return nil }
    let share = (stated.value / pace.ordinary).rounded()
    guard (1...1000).contains(share) else { return nil }
    var reduced = AVRational()
    av_reduce(
      &reduced.num, &reduced.den, Int64(stated.numerator), Int64(stated.denominator) * Int64(share),
      Int64(Int32.max))
    return Rational(Int(reduced.num), Int(reduced.den))
  }

  private func sequence(_ stream: StreamChoice.Stream) -> H264SequenceParameters? {
    guard let parameters = stream.pointee.codecpar, parameters.pointee.codec_id == AV_CODEC_ID_H264 else {
      return nil
    }
    return H264SequenceParameters(of: parameters)
  }

  /// The fewest packets that can show that a header is wrong about them: of only a few, the last may be shown for
  /// long.
  static let telling = 10

  /// Whether a pace is conclusive. One of few uneven steps is not.
  static func tells(_ pace: FramePace) -> Bool { !pace.isVariable || pace.steps >= telling }

  /// The highest rate to be believed. Nothing is shown faster; such a rate is that of a clock.
  static let fastest = 960.0

  func apply(to video: inout VideoFacts, _ scan: borrowing PacketScan) {
    guard let stream = streams.video else { return }
    if structure.isScrambled(stream) {
      forget(&video)
      return
    }
    if let rate = video.frameRate, rate.value > Self.fastest {
      video.frameRate = nil
      video.variableFrameRate = nil
    }
    let tick = stream.pointee.time_base
    // If not all pages were examined, the rate is that of FFmpeg's time base, which counts pictures.
    if stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_THEORA, structure.container == .ogg,
      let rate = structure.ogg?.rate ?? Rational(Int(tick.den), Int(tick.num))
    {
      let isRate = (VideoFacts.slowest...Self.fastest).contains(rate.value)
      (video.frameRate, video.variableFrameRate) = isRate ? (FrameRate(rate), false) : (nil, nil)
      return
    }
    if let parts = structure.aviParts {
      // FFmpeg counts the pictures of all parts by the clock of the first.
      video.frameRate = header.rates[stream.pointee.index].map(FrameRate.init)
      video.variableFrameRate = parts.areEven ? false : nil
      return
    }
    guard let found = pace(scan) else { return }
    guard Self.tells(found.pace) else {
      video.variableFrameRate = nil
      return
    }
    var pace = found.pace
    // Fields may have timestamps of their own.
    if let sequence = sequence(stream), !sequence.framesOnly, let rate = sequence.frameRate,
      abs(pace.ordinary - 2 * rate.value) < 0.02 * pace.ordinary
    {
      pace = pace.halved
    }
    if speed != 1 { pace = pace.multiplied(by: speed) }
    // In a program stream few pictures have timestamps of their own.
    if structure.container == .mpegPS, pace.isVariable, let stated = BitstreamRate(stream),
      stated.agrees(with: pace.ordinary)
    {
      (video.frameRate, video.variableFrameRate) = (FrameRate(stated.rate), nil)
      return
    }
    if let counted = countedRate(stream, scan),
      mayLackTimes || pace.isVariable || abs(counted.value - pace.ordinary) > 0.02 * pace.ordinary
    {
      let isEven = scan.end == .file && FramePace(scan.decoded, in: tick, isCut: true)?.isVariable == false
      (video.frameRate, video.variableFrameRate) = (FrameRate(counted), isEven ? false : nil)
      return
    }
    let kept = keptRate(stream, pace).map(FrameRate.init)
    guard let rate = kept ?? pace.rate(among: statedRates(stream)), rate.value <= Self.fastest else {
      (video.frameRate, video.variableFrameRate) = (nil, nil)
      return
    }
    video.frameRate = rate
    video.variableFrameRate = found.isMeasured && !isPausing ? pace.isVariable : nil
  }

  /// Returns the rate that the bitstream states, if pictures of a multiplex have no timestamps and there are as many
  /// as that rate implies. Several may share a packet, or a remuxer may have left their timestamps out.
  func countedRate(_ stream: StreamChoice.Stream, _ scan: borrowing PacketScan) -> Rational? {
    guard structure.container.isMPEG, scan.untimedOfKept > 0,
      let counted = scan.countedRate, let stated = BitstreamRate(stream), stated.agrees(with: counted)
    else { return nil }
    return stated.rate
  }

  /// Whether the times in a multiplex give another rate than the bitstream, or an uneven one, so that some pictures
  /// may have no timestamps.
  var mayLackTimes: Bool {
    guard structure.container.isMPEG, let stream = streams.video,
      let stated = BitstreamRate(stream), let pace = key(of: stream).flatMap({ clock?.pace(of: $0) })
    else { return false }
    return pace.isVariable || !stated.agrees(with: pace.ordinary)
  }

  /// Clears what can't be known about scrambled pictures. Of their facts, only the codec and those from outside the
  /// pictures remain, including that nothing rotates them.
  private func forget(_ video: inout VideoFacts) {
    var known = VideoFacts()
    known.codec = video.codec
    known.rotation = video.rotation
    known.mirrored = video.mirrored
    known.streams = video.streams
    known.hasCover = video.hasCover
    known.hasSamples = video.hasSamples
    video = known
  }
}
