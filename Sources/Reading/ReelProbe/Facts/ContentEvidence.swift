import CFFmpeg
import ReelCore

/// What the content of a file outside the MP4 family says about its duration, its pace and its sound, about which its
/// headers only make claims.
struct ContentEvidence {
  let structure: FileStructure
  let header: HeaderFacts
  let streams: StreamChoice
  let size: Int64
  /// The presentation times of its packets; nil if they are not known.
  let clock: ContentClock?
  /// The total time of its pictures and its sound by their times; nil if they have none.
  let sum: StretchSum?
  /// The time at which the last of their packets ends.
  let end: Double?
  /// The earliest and the latest moment at which that packet may end.
  private let ends: ClosedRange<Double>?
  /// How many times faster the container's clock runs than that of the sound, each packet of which lasts as long as
  /// its codec says; 1 if they agree, or if there is no evidence.
  let speed: Double
  /// The sounds whose times contradict their codec's header, by the index of the stream.
  private let falseSounds: [Int32: FalseSound]
  /// Whether the sound shows how fast the clock runs.
  private let isClockHeard: Bool
  /// Whether the pace of a large file can be determined only from all of its packets. These were then examined,
  /// unless there are too many.
  private let needsAll: Bool
  private let isFar: Bool
  /// The numbers of the tracks that the header lists; nil if it has no list, or none is needed.
  private let listed: Set<Int>?
  /// The first packets of a multiplex.
  private let beginning: MultiplexBeginning?
  /// The size of the pictures that an FLV's `onMetaData` states.
  private let metadataSize: PixelSize?
  /// The frames of an AVI, counted by their chunks; nil if its index and the header of their stream agree.
  private let frames: AVIFrames?

  init(
    structure: FileStructure, header: HeaderFacts, streams: StreamChoice, size: Int64, clock: ContentClock?,
    file: some ByteReading
  ) {
    self.structure = structure
    self.header = header
    self.streams = streams
    self.size = size
    isFar = file.isFar
    listed =
      structure.matroska?.trackList?.numbers ?? (structure.container == .asf ? ASFFile.numbers(file) : nil)
    beginning =
      structure.container.isMPEG
      ? MultiplexBeginning(file, stride: TransportPackets.stride(file, structure.container)) : nil
    metadataSize = structure.container == .flv ? FLVFile.size(file) : nil
    needsAll = Self.needsAll(clock, streams, structure, isFar: file.isFar)
    let whole = needsAll ? ContentClock.read(file, structure, isWhole: true) : nil
    let clock = whole ?? clock
    self.clock = clock
    frames = streams.video.flatMap { Self.frames($0, structure, header, file) }
    let keys = (streams.videos + streams.audios).map {
      ContentClock.key(of: $0, among: streams, in: structure)
    }
    // Count pictures and sound only, as subtitles may stay for any time. Of scrambled streams only the times of the
    // whole program are known.
    let isKnown = !structure.hasScrambled(streams) && !keys.isEmpty && !keys.contains(nil)
    let own = isKnown ? Set(keys.compactMap { $0 }) : nil
    sum = clock?.sum(of: own)
    end = clock?.end(of: own)
    ends = clock?.ends(of: own)
    let isTimed = structure.container.isMatroska || structure.container == .flv
    let times = isTimed ? SoundTimes(clock, streams, structure, file) : nil
    let isRight = Self.isRight(clock, times, streams, structure, header)
    let heard = structure.container.isMatroska && !isRight ? times?.ordered.first?.ratio : nil
    speed = heard ?? 1
    isClockHeard = heard != nil || times?.ordered.contains(where: \.agrees) == true
    let told = structure.container == .flv ? FLVFile.metadata("audiosamplerate", of: file) : nil
    falseSounds = heard != nil ? [:] : Self.falseSounds(times, streams, structure, told)
  }

  /// Whether the sound gives no reason to correct the clock of the blocks. That is so if there is no evidence from
  /// sound, if one sound agrees with the clock, or if the rates that the header and the pictures state agree with the
  /// pictures' times as they are, and not with these times as corrected by the sound.
  private static func isRight(
    _ clock: ContentClock?, _ times: SoundTimes?, _ streams: StreamChoice, _ structure: FileStructure,
    _ header: HeaderFacts
  ) -> Bool {
    guard let times, let ratio = times.ordered.first?.ratio else { return true }
    if times.ordered.contains(where: \.agrees) { return true }
    guard let stream = streams.video, let key = ContentClock.key(of: stream, among: streams, in: structure),
      let pace = clock?.pace(of: key), pace.steps >= telling, !pace.isVariable
    else { return false }
    let stated = [header.rates[stream.pointee.index], BitstreamRate(stream)?.rate].compactMap { $0?.value }
    func agree(with found: Double, not other: Double) -> Bool {
      stated.contains { BitstreamRate.isNear($0, found, than: other) }
    }
    let slowed = pace.ordinary * ratio
    return agree(with: pace.ordinary, not: slowed) && !agree(with: slowed, not: pace.ordinary)
  }

  /// Returns the sounds whose times contradict their codec's header.
  ///
  /// - Parameter claimed: the rate that an FLV's `onMetaData` states.
  private static func falseSounds(
    _ times: SoundTimes?, _ streams: StreamChoice, _ structure: FileStructure, _ claimed: Double?
  ) -> [Int32: FalseSound] {
    var found: [Int32: FalseSound] = [:]
    for stream in streams.audios {
      guard let pace = times?.paces[stream.pointee.index], !pace.agrees,
        let parameters = stream.pointee.codecpar
      else { continue }
      let told = SoundHeader(
        parameters.pointee.codec_id, record: BitstreamHeader.extradata(of: parameters))?.sampleRate
      let measured = told.flatMap { pace.rate(insteadOf: $0) }
      let isClaimed =
        measured.flatMap { rate in
          claimed.map {
            Int($0.rounded()) == rate || Int($0.rounded()) == 2 * rate && told != 2 * rate
          }
        } ?? false
      found[stream.pointee.index] = FalseSound(
        pace: pace, isConfirmed: structure.container.isMatroska || isClaimed)
    }
    return found
  }

  /// Whether the pace can be determined only from all packets, because frames come unevenly or the clock jumps.
  private static func needsAll(
    _ clock: ContentClock?, _ streams: StreamChoice, _ structure: FileStructure, isFar: Bool
  ) -> Bool {
    guard let clock, !clock.isWhole, !isFar, !structure.container.isMPEG, let stream = streams.video,
      let key = ContentClock.key(of: stream, among: streams, in: structure)
    else { return false }
    return clock.isUneven(key) || (clock.extents[key]?.stretches.count ?? 0) > 1
  }

  // MARK: Duration

  /// The duration in seconds that the header claims.
  var claimed: Double? { structure.metadataDuration ?? header.duration }

  /// Whether the duration of an Ogg file is counted from its pages, because FFmpeg relies on the time that each
  /// states.
  var pagesTell: Bool {
    guard structure.truncated != true, let ogg = structure.ogg, ogg.seconds != nil, !ogg.hasGap else {
      return false
    }
    return ogg.jumps || ogg.leavesTimesOut || ogg.links > 1 || ogg.picturesBeginLate || ogg.lateSeconds != nil
  }

  /// Returns the duration by the times of the packets, or the header's if that agrees with them; nil if the times are
  /// inconclusive.
  func duration(_ context: UnsafeMutablePointer<AVFormatContext>) -> FoundDuration? {
    if structure.container == .avi { return counted }
    if pagesTell, let found = structure.ogg?.seconds {
      return FoundDuration(found, .packets, size: size)
    }
    guard let clock, let sum, structure.truncated != true else { return nil }
    let seconds = sum.seconds / speed
    if structure.container.isMPEG {
      // FFmpeg's estimate includes the duration of the last picture, but only one frame of the last packet of sound,
      // and ignores everything between the first and the last packets.
      if sum.jumps == 0, let estimated = streams.estimatedSeconds(context),
        abs(estimated - seconds) <= max(0.5, seconds * 0.01)
          // If few pictures have a timestamp, the last one would seem to last as long as several.
          || structure.container == .mpegPS && mayLackTimes && estimated < seconds
      {
        // FFmpeg's estimate is rounded to microseconds.
        guard seconds - estimated > 0.001, endsWithSound else { return nil }
      }
      return FoundDuration(seconds, clock.isWhole ? .packets : .estimated, size: size)
    }
    if let claimed, sum.jumps == 0, speed == 1,
      [seconds, endIfPrompt ?? seconds].contains(where: { abs($0 - claimed) <= max(0.1, claimed * 0.01) })
    {
      return FoundDuration(claimed, .container, size: size)
    }
    if let claimed, mayEnd(at: claimed) { return FoundDuration(claimed, .container, size: size) }
    let packets = clock.extents.values.reduce(0) { $0 + $1.packets }
    if let claimed, claimed > seconds, packets < Self.telling || clock.isEndLost,
      let found = FoundDuration(claimed, .container, size: size)
    {
      return found
    }
    return FoundDuration(seconds, .packets, size: size)
  }

  /// Whether the sound of a multiplex ends after its pictures.
  private var endsWithSound: Bool {
    guard let clock, clock.isWhole, let sound = clock.end(of: Set(streams.audios.compactMap { key(of: $0) }))
    else { return false }
    return clock.end(of: Set(streams.videos.compactMap { key(of: $0) })).map { sound > $0 } ?? true
  }

  /// The time at which the last packet ends, if the first begins about when it should; otherwise nil, because what
  /// comes before the first packet is not part of the content.
  private var endIfPrompt: Double? {
    guard let sum, let end, end - sum.seconds <= max(1, 0.1 * sum.seconds) else { return nil }
    return end
  }

  /// Whether the last picture may stay until `claimed`: none of the times says otherwise, and others stayed for as
  /// long.
  func mayEnd(at claimed: Double) -> Bool {
    guard let sum, sum.jumps == 0, speed == 1, let end, let ends else { return false }
    return ends.contains(claimed) && endIfPrompt != nil || ends.contains(claimed + end - sum.seconds)
  }

  /// The duration of an AVI: the number of its frames, by its index if there is one, each as long as the header of
  /// its stream says.
  private var counted: FoundDuration? {
    guard let avi = structure.avi else { return nil }
    if let seconds = structure.aviParts?.seconds, structure.truncated != true {
      return FoundDuration(seconds, .packets, size: size)
    }
    // The header of a truncated file still states how long the whole file was.
    guard structure.truncated != true else {
      return FoundDuration(avi.streams.compactMap(\.seconds).max(), .stream, size: size)
    }
    guard let frames = countedFrames else { return nil }
    if let own = frames.stated, abs(own - frames.seconds) <= max(0.1, own * 0.01) {
      if avi.hasStoppedClock { return FoundDuration(own, .stream, size: size) }
      // FFmpeg does not report how long sound of a constant rate lasts.
      let sounds = streams.audios.compactMap { plainSeconds(avi, $0) }
      guard let longest = sounds.max(), longest > own, unlikeLengths(avi) == nil else { return nil }
      let others = avi.streams.filter { ["vids", "auds"].contains($0.type) && $0.sampleSize == 0 }
      return FoundDuration(max(longest, others.compactMap(\.seconds).max() ?? 0), .stream, size: size)
    }
    return FoundDuration(frames.seconds, .packets, size: size)
  }

  /// Returns the duration in seconds of sound that is uncompressed, or equally regular, by its chunks. The header has
  /// to state the same, because a size in the index alone is only a claim.
  private func plainSeconds(_ avi: AVIHeaders, _ stream: StreamChoice.Stream) -> Double? {
    let place = Int(stream.pointee.index)
    guard avi.streams.indices.contains(place), avi.streams[place].sampleSize > 0,
      avi.streams[place].sound?.contradictsItself == false,
      let codec = stream.pointee.codecpar?.pointee.codec_id,
      av_get_bits_per_sample(codec) > 0, let own = avi.streams[place].seconds,
      let end = AVIIndex(stream, avi.streams[place])?.end, abs(end - own) <= max(0.1, own * 0.01)
    else { return nil }
    return end
  }

  private static func frames(
    _ stream: StreamChoice.Stream, _ structure: FileStructure, _ header: HeaderFacts, _ file: some ByteReading
  ) -> AVIFrames? {
    guard let avi = structure.avi else { return nil }
    let place = Int(stream.pointee.index)
    if avi.hasIndex {
      guard !file.isFar, let rate = header.rates[stream.pointee.index], avi.streams.indices.contains(place),
        let stated = avi.streams[place].seconds, let count = indexedFrames(stream),
        abs(stated - count / rate.value) > max(0.1, stated * 0.01)
      else { return nil }
    }
    return AVIFrames(file, avi, stream: place)
  }

  /// Returns the number of frames in the index. FFmpeg leaves out the empty chunks of dropped frames, but counts
  /// them, except those at the end.
  private static func indexedFrames(_ stream: StreamChoice.Stream) -> Double? {
    let index = reel_index_summary(stream)
    return index.entries > 0 ? max(Double(index.entries), Double(index.last_time) + 1) : nil
  }

  /// The duration in seconds of as many frames as an AVI has, and of as many as the header of their stream states.
  private var countedFrames: (seconds: Double, stated: Double?)? {
    guard let avi = structure.avi, let stream = streams.video, let rate = header.rates[stream.pointee.index]
    else { return nil }
    let place = Int(stream.pointee.index)
    let stated = avi.streams.indices.contains(place) ? avi.streams[place].seconds : nil
    // With several lists of chunks, one of the counts may cover only the first list, so the larger one is used.
    let own = frames.flatMap { $0.isEndLost ? nil : Double($0.count) }
    let counts = [avi.hasIndex && frames?.isEndLost != true ? Self.indexedFrames(stream) : nil, own]
    return counts.compactMap { $0 }.max().map { ($0 / rate.value, stated) }
  }

  /// Returns the pace of the frames that an AVI really has, if it drops others by leaving their chunks empty. Nil if
  /// it drops none, or if the pace can't be determined.
  private func paceOfKept(_ stream: StreamChoice.Stream) -> FramePace? {
    guard let avi = structure.avi else { return nil }
    let times = avi.hasIndex ? Self.indexed(stream) : frames?.times
    guard let times, let last = times.last, Int(last) + 1 > times.count else { return nil }
    return FramePace(PacketTimes([times]), in: stream.pointee.time_base, isCut: false)
  }

  /// The most frames of an index to examine: those of ten hours.
  private static let mostIndexed: Int32 = 1 << 20

  private static func indexed(_ stream: StreamChoice.Stream) -> [Int64] {
    (0..<min(mostIndexed, avformat_index_get_entries_count(stream))).compactMap {
      avformat_index_get_entry(stream, $0)?.pointee.timestamp
    }
  }

  /// - Parameter one: nil for a size that no picture can have.
  private static func sizes(_ one: PixelSize?, _ other: PixelSize) -> MediaWarning {
    MediaWarning(
      .sizeMismatch,
      "its headers give two sizes: \(one?.description ?? "one that is impossible") and \(other)",
      fact: "video", stated: one.map { .text("\($0)") }, measured: .text("\(other)"))
  }

  /// Returns the shortest and the longest duration among the streams of an AVI, if these differ and the chunks do not
  /// confirm both.
  private func unlikeLengths(_ avi: AVIHeaders) -> (least: Double, most: Double)? {
    let lengths = avi.streams.enumerated().filter { ["vids", "auds"].contains($1.type) }
      .compactMap { place, stream in stream.seconds.map { (place: place, seconds: $0) } }
    guard let short = lengths.min(by: { $0.seconds < $1.seconds }),
      let long = lengths.max(by: { $0.seconds < $1.seconds }),
      case let (least, most) = (short.seconds, long.seconds), most - least > max(0.5, 0.1 * least),
      !endsEarly(avi, short.place, before: long.place)
    else { return nil }
    return (least, most)
  }

  /// Whether one stream of an AVI really ends before another. Both have as many chunks as their headers say, and the
  /// lead that one has over the other in the file, as sound often has, stops growing before the end of either.
  private func endsEarly(_ avi: AVIHeaders, _ short: Int, before long: Int) -> Bool {
    guard avi.hasIndex, structure.truncated != true, let least = avi.streams[short].seconds,
      let most = avi.streams[long].seconds, let own = index(avi, short), let other = index(avi, long)
    else { return false }
    let slack = min(0.3 * (most - least), max(0.5, 0.1 * least))
    guard own.ends(at: least, within: slack, beside: other), other.ends(at: most, within: slack, beside: own)
    else { return false }
    // Measured at the chunks of the stream that has fewer, the lead is exact to one chunk of the other.
    let (coarse, fine) = own.count < other.count ? (own, other) : (other, own)
    let last = coarse.count(before: fine.last) - 1
    func lead(_ entry: Int32) -> Double? {
      let passed = fine.count(before: coarse.position(entry))
      return passed > 0 ? fine.start(passed - 1) - coarse.start(entry) : nil
    }
    // If the streams are not interleaved, the lead can't be measured.
    guard last > 0, let first = lead(last / 2), let second = lead(last) else { return true }
    return abs(second - first) <= slack / 2
  }

  private func index(_ avi: AVIHeaders, _ place: Int) -> AVIIndex? {
    streams.all.first { Int($0.pointee.index) == place }.flatMap { AVIIndex($0, avi.streams[place]) }
  }

  /// Contradictions between headers that state the same thing twice, most of them in an AVI.
  private var contradictions: [MediaWarning] {
    if structure.unlikeSizes.count == 2 {
      return [Self.sizes(structure.unlikeSizes[0], structure.unlikeSizes[1])]
    }
    guard let avi = structure.avi else { return [] }
    var found: [MediaWarning] = []
    if let sizes = structure.aviParts?.sizes, sizes.count == 2 {
      found.append(.changedSize(sizes[0], sizes[1]))
    }
    // If there are several streams of pictures, the main header may mean any of them.
    let pictures = avi.streams.filter { $0.type == "vids" }
    // FFmpeg writes the tick of a clock there if it does not know the frame rate.
    if let first = pictures.first, first.scale > 0, first.rate > 0, avi.microseconds > 0,
      case let main = 1e6 / Double(avi.microseconds), main <= Self.fastest
    {
      let isNone = pictures.allSatisfy { stream in
        let own = Double(stream.rate) / Double(max(1, stream.scale))
        return abs(own - main) > 0.02 * own
      }
      if isNone {
        found.append(
          MediaWarning(
            .frameRateMismatch, "its headers give two frame rates, and nothing else tells which is right",
            fact: "video.frameRate", stated: .number(main), measured: nil))
        found.append(
          MediaWarning(
            .claimUnchecked, "its headers give two frame rates, so its duration is uncertain",
            fact: "duration", stated: first.seconds.map { .number($0) }))
      }
    }
    if let (least, most) = unlikeLengths(avi) {
      found.append(
        MediaWarning(
          .durationMismatch, "the headers of its pictures and its sound give different durations",
          fact: "duration",
          stated: .number(most), measured: .number(least)))
      if let stream = streams.video, let rate = header.rates[stream.pointee.index],
        BitstreamRate(stream)?.agrees(with: rate.value) != true
      {
        found.append(
          MediaWarning(
            .claimUnchecked,
            "the headers of its pictures and its sound give different durations, so its frame rate is uncertain",
            fact: "video.frameRate", stated: .number(rate.value)))
      }
    }
    if structure.truncated != true, structure.aviParts == nil, let frames = countedFrames,
      let stated = frames.stated, abs(stated - frames.seconds) > max(0.5, 0.03 * stated)
    {
      found.append(
        MediaWarning(
          .durationMismatch, "the header of its video states another number of frames than there are",
          fact: "duration", stated: .number(stated), measured: .number(frames.seconds)))
    }
    if avi.hasStoppedClock {
      found.append(
        MediaWarning(
          .durationMismatch,
          "the header of a stream states a length, but no clock to count it in", fact: "duration"))
    }
    let sizes = pictures.compactMap(\.size)
    if let own = sizes.first, avi.size.map({ !sizes.contains($0) }) ?? avi.hasImpossibleSize {
      found.append(Self.sizes(avi.size, own))
    }
    found += avi.misnamed.warnings
    // One header may count whole macroblocks, and the other what is shown of them.
    if let own = pictures.first?.size, let shaped = pictures.first?.shapedSize,
      abs(shaped.width - own.width) >= 16 || abs(shaped.height - own.height) >= 16
    {
      found.append(
        MediaWarning(
          .pixelShapeMismatch,
          "its headers state a pixel shape for pictures of \(shaped), but a size of \(own)",
          fact: "video.width", stated: .text("\(shaped)"), measured: .text("\(own)")))
    }
    for (place, stream) in avi.streams.filter({ $0.type == "auds" }).enumerated()
    where stream.sound?.contradictsItself == true {
      found.append(
        MediaWarning(
          .soundMismatch, "the numbers that its header gives for its sound contradict one another",
          fact: "audio.\(place)"))
    }
    return found
  }

  /// The evidence for the total duration of files that were joined; nil for a single file.
  var joined: FactEvidence.Source? {
    if let (_, seconds) = structure.joinedFiles { return seconds == nil ? .header : .packets }
    return clock.map { $0.parts > 1 } == true ? .packets : nil
  }

  /// The number of times that the clock restarts.
  var jumps: Int { sum?.jumps ?? 0 }

  // MARK: Pace

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
  private func rateUnchecked(_ media: MediaInfo) -> MediaWarning? {
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
  private static let telling = 10

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
    if mayLackTimes, let counted = countedRate(stream, scan) {
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
  private func countedRate(_ stream: StreamChoice.Stream, _ scan: borrowing PacketScan) -> Rational? {
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

  // MARK: Sound

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

  // MARK: Warnings

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
      ? [MediaWarning(.claimUnchecked, "it has a stream of a kind that is not known")] : [])
      + times(ogg)
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
      guard let own = key(of: stream).flatMap({ clock?.types[$0] }), let later = own.later,
        let first = ProgramMap.codec(own.first), let other = ProgramMap.codec(later), first != other,
        // The first map may be wrong about what follows.
        stream.pointee.codecpar?.pointee.codec_id != other,
        let codec = VideoFacts.codecName(first), let then = VideoFacts.codecName(other)
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

  private static let lastsOtherwise =
    "the packets of its sound have another duration by their timestamps than by their codec"

  private func doubtedClock(_ what: String, _ media: MediaInfo, slowed ratio: Double) -> [MediaWarning] {
    MediaWarning.doubtedClock(what, media, streams.video, slowed: ratio)
  }

  // MARK: Packets read by FFmpeg

  /// Whether FFmpeg's packets have to show how long each frame of sound lasts, because nothing else shows whether the
  /// times are right.
  var needsSound: Bool {
    guard let stream = streams.video, !streams.audios.isEmpty else { return false }
    return structure.container == .asf || structure.container.isMPEG && BitstreamRate(stream) == nil
  }

  /// Warnings about evidence against a file's clock: its sound, unless the clock was already compared against that
  /// without FFmpeg, and the rate that the pictures state.
  ///
  /// - Parameter paces: how many times longer the sounds last by their times than by their frames.
  private func clockContradicted(_ media: MediaInfo, _ paces: [Int32: Double]) -> [MediaWarning] {
    guard !structure.container.isMatroska, !structure.hasScrambled(streams) else { return [] }
    let stated = streams.video.flatMap { BitstreamRate($0) }
    let found = media.video?.frameRate?.value
    let told = streams.audios.compactMap { paces[$0.pointee.index] }
    if structure.container == .asf || structure.container.isMPEG, let ratio = told.first, !told.contains(1) {
      // Pictures that come at the rate they state refute this. In a program stream the rate may be the stated one.
      let isDenied =
        structure.container != .mpegPS
        && found.flatMap { found in
          stated.map { BitstreamRate.isNear($0.rate.value, found, than: found * ratio) }
        } ?? false
      if !isDenied { return doubtedClock(Self.lastsOtherwise, media, slowed: ratio) }
    }
    guard let stated, let found, media.video?.variableFrameRate == false, stated.contradicts(found) else {
      return []
    }
    let what =
      "its pictures state a rate of \(ProbeWarnings.text(stated.rate.value)) per second, but come at \(ProbeWarnings.text(found))"
    return [
      MediaWarning(
        .frameRateMismatch, what, fact: "video.frameRate", stated: .number(stated.rate.value),
        measured: .number(found))
    ]
  }

  private var jumpsFound: MediaWarning? {
    if let (parts, seconds) = structure.joinedFiles {
      return seconds == nil
        ? MediaWarning(
          .claimUnchecked, "it consists of several joined files, not all of which state their duration",
          fact: "duration")
        : .clockJumps(parts - 1)
    }
    return jumps > 0 ? .clockJumps(jumps) : nil
  }

  private func durationUnchecked(_ media: MediaInfo) -> MediaWarning? {
    if clock?.isUnclear == true || frames?.isDamaged == true {
      return MediaWarning(
        .claimUnchecked, "its clock could not be followed everywhere, so its duration may be wrong",
        fact: "duration", stated: media.duration.map { .number($0) })
    }
    let isHeld = structure.container.isMatroska || structure.container == .flv || structure.container == .asf
    guard isHeld, structure.truncated != true, media.durationSource == .container,
      let seconds = media.duration
    else { return nil }
    if let sum, seconds - max(sum.seconds, end ?? 0) <= max(0.5, 0.5 * seconds) { return nil }
    return MediaWarning(
      .claimUnchecked,
      sum == nil
        ? "its last packets were not found, so its duration is only claimed"
        : "it has too few packets to tell whether it lasts as long as it claims",
      fact: "duration",
      stated: .number(seconds))
  }

  private func rate(_ media: MediaInfo) -> MediaWarning? {
    guard let stream = streams.video, let stated = header.rates[stream.pointee.index],
      let found = media.video?.frameRate, abs(stated.value - found.value) > 0.02 * found.value,
      media.video?.variableFrameRate != true || stated.value > Self.fastest,
      // An AVI's header states the tick of its frames, some of which it may drop.
      structure.container != .avi
    else { return nil }
    return MediaWarning(
      .frameRateMismatch,
      "its header gives another frame rate than its pictures have, which counts", fact: "video.frameRate",
      stated: .text(FrameRate(stated).description), measured: .text(found.description))
  }

  /// Warnings about a Matroska file's clock. The times of all packets are multiples of one number in the header
  /// (`TimestampScale`). A rate that is stated beside it in nanoseconds shows that this number is wrong, or is wrong
  /// itself.
  private func clockDoubted(_ media: MediaInfo) -> [MediaWarning] {
    guard structure.container.isMatroska, !isClockHeard, let seconds = media.duration, let clock else {
      return []
    }
    // Writers of films and recordings count in milliseconds. With that tick it is a stated rate that is wrong.
    let isUsual = clock.base.num == Self.usualScale
    var (other, doubted): (Double?, [String]) = (nil, ["duration"])
    if media.video?.variableFrameRate != true, let stream = streams.video, let key = key(of: stream),
      let pace = clock.pace(of: key), pace.steps >= Self.telling
    {
      if let stated = header.rates[stream.pointee.index]?.value,
        abs(stated - pace.ordinary) > 0.02 * pace.ordinary
      {
        other = stated
      } else if let stated = BitstreamRate(stream), stated.contradicts(pace.ordinary) {
        (other, doubted) = (stated.rate.value, ["duration", "video.frameRate"])
      } else if header.rates[stream.pointee.index] != nil || BitstreamRate(stream) != nil {
        return []
      }
      if let other {
        return doubted.filter { !isUsual || $0 != "duration" }.map { fact in
          MediaWarning(
            .claimUnchecked,
            "its times and the frame rate that it states differ, so its \(fact == "duration" ? "duration" : "frame rate") is uncertain",
            fact: fact, stated: .number(fact == "duration" ? seconds : pace.ordinary),
            measured: .number(fact == "duration" ? seconds * pace.ordinary / other : other))
        }
      }
    }
    guard !isUsual,
      !streams.audios.contains(where: { key(of: $0).map(clock.keepsStatedPace) == true })
    else { return [] }
    doubted = media.video?.frameRate == nil ? ["duration"] : ["duration", "video.frameRate"]
    return doubted.map { fact in
      MediaWarning(
        .claimUnchecked,
        "its clock has an unusual tick, and nothing else tells whether its \(fact == "duration" ? "duration" : "frame rate") is right",
        fact: fact,
        stated: fact == "duration" ? .number(seconds) : media.video?.frameRate.map { .text($0.description) })
    }
  }

  /// The usual length of a tick, in nanoseconds.
  private static let usualScale: Int32 = 1_000_000

  func key(of stream: StreamChoice.Stream) -> ContentClock.Key? {
    ContentClock.key(of: stream, among: streams, in: structure)
  }
}

extension MediaWarning {
  /// - Parameter jumps: how often the clock restarts.
  static func clockJumps(_ jumps: Int) -> MediaWarning {
    MediaWarning(
      .clockJumps,
      jumps == 1
        ? "its clock starts anew once; both stretches are added up"
        : "its clock starts anew \(jumps) times; the stretches are added up", fact: "duration",
      measured: .number(Double(jumps)))
  }
}
