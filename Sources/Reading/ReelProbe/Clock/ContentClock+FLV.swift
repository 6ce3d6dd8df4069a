import CFFmpeg

/// A reader of the times in the tags of an FLV file (Adobe Flash Video File Format 10.1, E.4), by tag type: 8 is sound,
/// 9 is pictures.
struct FLVClock<Bytes: ByteReading> {
  private let file: Bytes
  // A live stream that continues after more than ten seconds was interrupted.
  private var clock = ContentClock(base: AVRational(num: 1, den: 1000), ahead: 10)
  /// The decoding time of the last tag.
  private var before: Int64?

  /// The number of tags that are read before the rest is skipped up to the end of the file. If that end contradicts the
  /// header, as many tags are read as can be in a moment.
  private static var mostTags: Int { 4096 }
  private static var mostTagsInDoubt: Int { 2_000_000 }
  /// The number of bytes that are read from either end of a remote file.
  private static var mostFar: Int64 { 256 << 10 }
  /// The number of tags that are read at each place between the beginning and the end, and the number of bytes that are
  /// searched for the first of them.
  private static var mostInWindow: Int { 96 }
  private static var searched: Int { 64 << 10 }
  /// How often the next tag is searched for after bytes that are no tag.
  private static var mostLost: Int { 64 }
  /// The number of tags that are read backwards from the end.
  private static var mostAtEnd: Int { 64 }

  /// - Parameters:
  ///   - claimed: the duration in the header, in seconds; nil if it states none.
  ///   - isWhole: whether all tags are read even if the end agrees with the header.
  static func read(_ file: Bytes, claimed: Double?, isWhole: Bool) -> ContentClock? {
    guard let header = file.bigEndian(at: 5, width: 4), header >= 9, header < 1 << 20 else { return nil }
    func read(_ steps: Steps) -> ContentClock? {
      var reader = FLVClock(file: file, steps: steps)
      return reader.read(from: Int64(header) + 4, claimed: isWhole ? nil : claimed)
    }
    let found = read(.jump)
    guard let found, let (key, extent) = found.jumpingAlone, key == 9 else { return found }
    guard let claimed else { return read(.pauseWithinStream) }
    if extent.mayEndWithPauses(at: claimed, in: found.base) { return read(.pause) }
    let isSum = found.sum().map { abs($0.seconds - claimed) <= max(0.1, claimed * 0.01) } == true
    return isSum ? found : read(.pauseWithinStream)
  }

  /// What a long step ahead means. If both pictures and sound are missing, it is a jump. In a file of pictures alone,
  /// it may be a pause, in which nothing changes and one picture stays: if the header states the duration that includes
  /// all pauses; or if the next picture depends on the one before, or follows without the codec's record, with which a
  /// stream begins.
  private enum Steps { case jump, pauseWithinStream, pause }
  private let steps: Steps

  private init(file: Bytes, steps: Steps) { (self.file, self.steps) = (file, steps) }

  private mutating func read(from start: Int64, claimed: Double?) -> ContentClock? {
    let reached = walk(from: start, tags: Self.mostTags)
    if let reached {
      var quick = self
      if !file.isFar { quick.takeMiddle(beyond: reached) }
      quick.takeEnd(beyond: reached)
      if let claimed, let end = quick.clock.end(), let sum = quick.clock.sum(), sum.jumps == 0,
        [end, sum.seconds].contains(where: { abs($0 - claimed) <= max(0.1, claimed * 0.01) })
      {
        return quick.clock
      }
      guard walk(from: reached, tags: Self.mostTagsInDoubt) == nil else { return nil }
    }
    clock.isWhole = true
    return clock.extents.isEmpty ? nil : clock
  }

  /// Takes tags from `start` on. Returns the position where it stopped; nil at the end.
  private mutating func walk(from start: Int64, tags: Int) -> Int64? {
    var next = start
    for _ in 0..<tags {
      if tags == Self.mostTagsInDoubt, file.isHalfSpent { return next }
      if let tag = FLVTag(file, at: next) {
        take(tag)
        next = tag.end + 4
      } else if let beyond = beyondLost(next) {
        next = beyond
      } else {
        return nil
      }
      if file.isFar, tags == Self.mostTags, next > start + Self.mostFar { return next }
    }
    return next
  }

  /// Returns the position where tags continue after something that is neither sound nor pictures nor data; nil if the
  /// file ends with it.
  private mutating func beyondLost(_ place: Int64) -> Int64? {
    if let end = FLVTag.end(file, at: place) { return end + 4 }
    // Another file that was appended to this one.
    if file.bytes(at: place, count: 3) == Array("FLV".utf8) {
      clock.isUnclear = true
      return nil
    }
    lost += 1
    let found = lost <= Self.mostLost && !file.isFar ? firstTag(from: place)?.start : nil
    let isEnd = FLVTag.isCut(file, at: place) || file.size - place <= Self.searched
    if found != nil || !isEnd { clock.isUnclear = true }
    return found
  }

  private var lost = 0

  /// - Parameter isOrdered: whether tags are taken at their decoding times instead of their presentation times.
  private mutating func take(_ tag: FLVTag, isOrdered: Bool = false) {
    guard tag.isContent else {
      if let record = tag.record {
        clock.note(tag.kind, record: file.bytes(at: record.lowerBound, count: record.count))
        if tag.kind == 9 { isBegun = true }
      }
      return
    }
    let time = tag.time(after: before)
    before = time
    clock.add(
      tag.kind, at: isOrdered ? time : time + tag.delay, decoded: time, bytes: tag.sound,
      isPause: steps == .pause || steps == .pauseWithinStream && isWithinStream(tag))
    if tag.kind == 9 { isBegun = false }
    if tag.kind == 8 { noteSound(at: time) }
  }

  /// Notes tags of sound that all have the time of the first of them, as they do if they come from packets of several
  /// frames.
  private mutating func noteSound(at time: Int64) {
    sharing += time == lastSound ? 1 : 0
    // The beginning, or a place where two streams were joined, is no such group.
    if sharing == 3 { clock.noteShared(8) }
    lastSound = time
  }

  private var lastSound: Int64?
  private var sharing = 0

  /// Whether no picture has followed the last record of the video codec.
  private var isBegun = false

  private func isWithinStream(_ tag: FLVTag) -> Bool {
    tag.isDependent || clock.records[tag.kind] != nil && !isBegun
  }

  /// Takes tags at places between the beginning and the end. It uses their decoding times, because a window would cut
  /// the display order where that differs from the stored order.
  private mutating func takeMiddle(beyond reached: Int64) {
    guard let begin = FLVTag(file, at: reached), let length = file.bigEndian(at: file.size - 4, width: 4),
      let end = FLVTag(file, at: file.size - 4 - Int64(length))
    else { return }
    let origin = begin.time(after: before)
    let places = SpreadPlaces.between(
      begin.mark(after: origin), end.mark(after: origin), count: ContentClock.places
    ) {
      firstTag(from: $0)?.mark(after: origin)
    }
    var next = reached
    for (place, limit) in zip(places, places.dropFirst() + [end.start]) {
      // Adjacent places show more together than each of them does.
      if place != next || clock.windows.isEmpty { clock.beginWindow(atEnd: false) }
      next = place
      for _ in 0..<Self.mostInWindow where next < limit {
        guard let tag = FLVTag(file, at: next) else { break }
        take(tag, isOrdered: true)
        next = tag.end + 4
      }
    }
  }

  /// Returns the first tag from `start` on whose length is repeated after it (E.3).
  private func firstTag(from start: Int64) -> FLVTag? {
    let bytes = file.bytes(at: start, count: Self.searched)
    return bytes.indices.dropLast(11).lazy.filter {
      (bytes[$0] == 8 || bytes[$0] == 9) && bytes[$0 + 8] == 0 && bytes[$0 + 9] == 0 && bytes[$0 + 10] == 0
    }
    .compactMap { FLVTag(file, at: start + Int64($0)) }
    .first { file.bigEndian(at: $0.end, width: 4) == UInt64($0.end - $0.start) }
  }

  private mutating func takeEnd(beyond reached: Int64) {
    var tags: [FLVTag] = []
    file.willRead(max(0, file.size - Self.mostFar)..<file.size)
    var end = file.size
    while tags.count < Self.mostAtEnd, end > reached, let length = file.bigEndian(at: end - 4, width: 4),
      length > 11, let tag = FLVTag(file, at: end - 4 - Int64(length)), tag.end == end - 4
    {
      tags.append(tag)
      end = tag.start
    }
    clock.beginWindow(atEnd: true)
    for tag in tags.reversed() { take(tag) }
  }
}
