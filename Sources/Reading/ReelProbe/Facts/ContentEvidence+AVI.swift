import CFFmpeg
import ReelCore

/// What the index, the chunks and the headers of an AVI say.
extension ContentEvidence {
  /// The duration of an AVI: the number of its frames, by its index if there is one, each as long as the header of
  /// its stream says.
  var counted: FoundDuration? {
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

  static func frames(
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
  func paceOfKept(_ stream: StreamChoice.Stream) -> FramePace? {
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
  var contradictions: [MediaWarning] {
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
}
