import CFFmpeg

/// The tags of an FLV file (Adobe Flash Video File Format 10.1, E.4), by their kind: 8 is sound, 9 is pictures.
enum FLVClock {
  /// Tags that are looked at before the rest is left to the end of the file; as many of a file whose end contradicts its
  /// header as this reads in a moment.
  private static let mostTags = 4096
  private static let mostTagsInDoubt = 2_000_000
  /// Bytes of a file that is far away that are read from either end.
  private static let mostFar: Int64 = 256 << 10
  /// Places between the beginning and the end where tags are looked at, how many there, and bytes in which the first is
  /// looked for.
  private static let windows = 4
  private static let mostInWindow = 96
  private static let searched = 64 << 10
  /// Tags that are looked at from the end backwards.
  private static let mostAtEnd = 64

  /// - Parameter claimed: seconds by the header, to which the end is held before all tags are read; nil where it has
  ///   none.
  static func read(_ file: some ByteReading, claimed: Double?) -> ContentClock? {
    guard let header = file.bigEndian(at: 5, width: 4), header >= 9, header < 1 << 20 else { return nil }
    // Milliseconds, in 32 bits. A live stream that goes on after ten seconds was away.
    var clock = ContentClock(base: AVRational(num: 1, den: 1000), ahead: 10)
    let reached = walk(file, from: Int64(header) + 4, tags: mostTags, &clock)
    if let reached {
      var quick = clock
      if !file.isFar { takeMiddle(of: file, beyond: reached, &quick) }
      takeEnd(of: file, beyond: reached, &quick)
      if let claimed, let end = quick.end(), let sum = quick.sum(), sum.jumps == 0,
        [end, sum.seconds].contains(where: { abs($0 - claimed) <= max(0.1, claimed * 0.01) })
      {
        return quick
      }
      clock.isWhole = walk(file, from: reached, tags: mostTagsInDoubt, &clock) == nil
      if !clock.isWhole { return nil }
    } else {
      clock.isWhole = true
    }
    return clock.extents.isEmpty ? nil : clock
  }

  /// Gives where it stopped; nil at the end.
  private static func walk(
    _ file: some ByteReading, from start: Int64, tags: Int, _ clock: inout ContentClock
  ) -> Int64? {
    var next = start
    for _ in 0..<tags {
      guard let tag = Tag(file, at: next) else { return nil }
      tag.add(to: &clock)
      next = tag.end + 4
      if file.isFar, tags == mostTags, next > start + mostFar { return next }
    }
    return next
  }

  /// Where pictures are shown in another order than they are stored in, a window cuts that order; they are decoded in it.
  private static func takeMiddle(
    of file: some ByteReading, beyond reached: Int64, _ clock: inout ContentClock
  ) {
    guard let begin = Tag(file, at: reached), let length = file.bigEndian(at: file.size - 4, width: 4),
      let end = Tag(file, at: file.size - 4 - Int64(length))
    else { return }
    let places = SpreadPlaces.between(begin.mark, end.mark, count: windows) {
      firstTag(of: file, from: $0)?.mark
    }
    for place in places {
      guard var tag = Tag(file, at: place) else { continue }
      clock.beginWindow(atEnd: false)
      for _ in 0..<mostInWindow {
        tag.addDecoded(to: &clock)
        guard let next = Tag(file, at: tag.end + 4) else { break }
        tag = next
      }
    }
  }

  /// The first one whose length stands behind it, too (E.3).
  private static func firstTag(of file: some ByteReading, from start: Int64) -> Tag? {
    let bytes = file.bytes(at: start, count: searched)
    return bytes.indices.dropLast(11).lazy.filter {
      (bytes[$0] == 8 || bytes[$0] == 9) && bytes[$0 + 8] == 0 && bytes[$0 + 9] == 0 && bytes[$0 + 10] == 0
    }
    .compactMap { Tag(file, at: start + Int64($0)) }
    .first { file.bigEndian(at: $0.end, width: 4) == UInt64($0.end - $0.start) }
  }

  private static func takeEnd(
    of file: some ByteReading, beyond reached: Int64, _ clock: inout ContentClock
  ) {
    var tags: [Tag] = []
    file.willRead(max(0, file.size - mostFar)..<file.size)
    var end = file.size
    while tags.count < mostAtEnd, end > reached, let length = file.bigEndian(at: end - 4, width: 4),
      length > 11, let tag = Tag(file, at: end - 4 - Int64(length)), tag.end == end - 4
    {
      tags.append(tag)
      end = tag.start
    }
    clock.beginWindow(atEnd: true)
    for tag in tags.reversed() { tag.add(to: &clock) }
  }

  private struct Tag {
    let start: Int64
    let end: Int64
    private let kind: UInt8
    private let time: Int64
    private let head: [UInt8]

    var mark: SpreadPlaces.Mark { SpreadPlaces.Mark(time: time, place: start) }

    init?(_ file: some ByteReading, at start: Int64) {
      let head = file.bytes(at: start, count: 16)
      guard start >= 9, head.count >= 12, [8, 9, 18].contains(head[0] & 0x1f) else { return nil }
      self.start = start
      self.head = head
      kind = head[0] & 0x1f
      end = start + 11 + Int64(head[1]) << 16 + Int64(head[2]) << 8 + Int64(head[3])
      time = Int64(head[7]) << 24 | Int64(head[4]) << 16 | Int64(head[5]) << 8 | Int64(head[6])
      guard end <= file.size else { return nil }
    }

    /// Headers of codecs are no content: of AAC, and of H.264 and what has its form.
    private var isContent: Bool {
      switch kind {
      case 8: end - start > 11 && !(head[11] >> 4 == 10 && head.count > 12 && head[12] == 0)
      case 9: end - start > 11 && !(isPacked && head[12] != 1) && head[11] >> 4 != 5
      default: false
      }
    }

    private var isPacked: Bool {
      head[11] & 0x80 == 0 && [7, 12].contains(head[11] & 0x0f) && head.count >= 16
    }

    func addDecoded(to clock: inout ContentClock) {
      if isContent { clock.add(Int(kind), at: time, decoded: time) }
    }

    func add(to clock: inout ContentClock) {
      guard isContent else { return }
      var shown = time
      if kind == 9, isPacked {
        let offset = Int32(head[13]) << 24 | Int32(head[14]) << 16 | Int32(head[15]) << 8
        shown = time + Int64(offset >> 8)
      }
      clock.add(Int(kind), at: shown, decoded: time)
    }
  }
}
