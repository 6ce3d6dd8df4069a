import CFFmpeg

/// The blocks of a Matroska file (RFC 9559, 10), by the numbers of their tracks.
struct MatroskaClock<Bytes: ByteReading> {
  private let file: Bytes
  private let segment: EBMLElement
  private var clock: ContentClock
  private var blocks = 0

  /// Blocks that are looked at before the rest is left to the end of the file.
  private static var mostAtBeginning: Int { 1024 }
  /// Blocks that are looked at behind the last point of the index.
  private static var mostAtEnd: Int { 16_384 }
  /// Clusters that are stepped over from there.
  private static var mostClusters: Int { 4096 }
  /// Bytes at the end in which a cluster is looked for where there is no index.
  private static var searched: Int { 256 << 10 }

  /// Nil without clusters of which the times can be told.
  static func read(_ file: Bytes) -> ContentClock? {
    guard let header = EBMLElement(file, at: 0), let headerEnd = header.end,
      let segment = EBMLElement(file, at: headerEnd), segment.id == MatroskaID.segment
    else { return nil }
    var reader = MatroskaClock(file, segment)
    return reader.read()
  }

  private init(_ file: Bytes, _ segment: EBMLElement) {
    self.file = file
    self.segment = segment
    let outermost = segment.children(in: file)
    let information = outermost.first { $0.id == MatroskaID.info }?.children(in: file) ?? []
    let scale =
      information.first { $0.id == MatroskaID.timestampScale }.flatMap { $0.number(in: file) } ?? 1_000_000
    let base = AVRational(num: Int32(clamping: max(1, scale)), den: 1_000_000_000)
    // A pause of a recording is written into the times, and so is a picture that stays.
    clock = ContentClock(base: base, ahead: 6 * 3600)
    outer = outermost
  }

  private let outer: [EBMLElement]

  private mutating func read() -> ContentClock? {
    guard let first = outer.first(where: { $0.id == MatroskaID.cluster }) else { return nil }
    farLimit = first.start + Self.mostFar / 4
    let reached = walk(from: first.start, blocks: Self.mostAtBeginning)
    guard let reached else {
      clock.isWhole = true
      clock.overlaps = overlaps
      return clock.extents.isEmpty ? nil : clock
    }
    if let last = lastCluster(beyond: reached) {
      clock.isAtEnd = true
      blocks = 0
      if file.isFar {
        guard file.size - last <= Self.mostFar else { return nil }
        file.willRead(last..<file.size)
      }
      // What lies between was not looked at; that it is far away is no jump.
      if walk(from: last, blocks: Self.mostAtEnd) != nil { return nil }
      clock.overlaps = overlaps
      return clock
    }
    return nil
  }

  /// Clusters from `start` on, up to so many blocks. Gives where it stopped; nil at the end of the segment.
  private mutating func walk(from start: Int64, blocks most: Int) -> Int64? {
    let end = min(segment.end ?? file.size, file.size)
    var next = start
    while next < end, let element = EBMLElement(file, at: next) {
      if element.id == MatroskaID.cluster {
        if let stopped = walk(cluster: element, most) { return stopped }
        // A cluster of unknown size ends where another element of its level begins.
        guard let elementEnd = element.end ?? endOfUnknown else { return nil }
        next = elementEnd
      } else {
        guard let elementEnd = element.end else { return nil }
        next = elementEnd
      }
    }
    return nil
  }

  private var endOfUnknown: Int64?
  /// Up to where a file that is far away is read from its beginning, and bytes of it that are read at its end.
  private var farLimit: Int64 = 0
  private static var mostFar: Int64 { 1 << 20 }

  private mutating func walk(cluster: EBMLElement, _ most: Int) -> Int64? {
    let end = min(cluster.end ?? file.size, file.size)
    var (next, time) = (cluster.contents, Int64(0))
    endOfUnknown = nil
    while next < end, let element = EBMLElement(file, at: next) {
      // Elements of the segment have identifiers of four bytes.
      if cluster.end == nil, element.id >= 0x1000_0000 {
        endOfUnknown = next
        return nil
      }
      switch element.id {
      case MatroskaID.timestamp: time = Int64(clamping: element.number(in: file) ?? 0)
      case MatroskaID.simpleBlock: take(element, time, lasting: 0)
      case MatroskaID.blockGroup:
        let parts = element.children(in: file)
        let duration = parts.first { $0.id == MatroskaID.blockDuration }.flatMap { $0.number(in: file) } ?? 0
        parts.first { $0.id == MatroskaID.block }.map { take($0, time, lasting: Int64(clamping: duration)) }
      default: break
      }
      guard let elementEnd = element.end else { return nil }
      next = elementEnd
      if blocks >= most || file.isFar && !clock.isAtEnd && next > farLimit { return next }
    }
    return nil
  }

  private mutating func take(_ block: EBMLElement, _ cluster: Int64, lasting duration: Int64) {
    blocks += 1
    let head = file.bytes(at: block.contents, count: 8)
    guard let first = head.first, first.leadingZeroBitCount < 4 else { return }
    let width = first.leadingZeroBitCount + 1
    guard head.count >= width + 3 else { return }
    let number = head[..<width].reduce(0) { $0 << 8 | Int($1) } & (1 << (7 * width) - 1)
    let offset = Int16(bitPattern: UInt16(head[width]) << 8 | UInt16(head[width + 1]))
    let (time, overflow) = cluster.addingReportingOverflow(Int64(offset))
    guard !overflow, let end = block.end else { return }
    let start = block.contents + Int64(width + 3)
    // Frames that share a block stand behind a table of their sizes.
    let bytes = head[width + 2] & 6 == 0 && start < end ? start..<end : nil
    // Clusters follow one another; within one, pictures stand in the order in which they are decoded.
    clock.add(number, at: time, decoded: cluster, lasting: duration, bytes: bytes)
    note(number, time, cluster)
  }

  /// The last block of each track: when it is shown, in which cluster, and whether all before went up within theirs.
  private var lasts: [Int: (time: Int64, cluster: Int64, isOrdered: Bool)] = [:]

  /// Where blocks of a cluster come one after the other, those of the next come after them.
  private mutating func note(_ track: Int, _ time: Int64, _ cluster: Int64) {
    guard let last = lasts[track] else {
      lasts[track] = (time, cluster, true)
      return
    }
    let isBack = time < last.time
    let isWithin = cluster == last.cluster
    if isBack, !isWithin, last.isOrdered { overlapping.insert(track) }
    lasts[track] = (isBack && isWithin ? last.time : time, cluster, last.isOrdered && !(isBack && isWithin))
  }

  private var overlapping: Set<Int> = []

  /// Of tracks whose blocks are ordered from the first to the last, whether those of two clusters overlap.
  private var overlaps: Bool { overlapping.contains { lasts[$0]?.isOrdered == true } }

  /// Where a cluster near the end begins: the last of those that the index names and that follow it, else one that is
  /// found in the last bytes.
  private func lastCluster(beyond reached: Int64) -> Int64? {
    let named = indexed.map { max($0, reached) }
    var last = named.flatMap { EBMLElement(file, at: $0)?.id == MatroskaID.cluster ? $0 : nil }
    if last == nil { last = found(beyond: reached) }
    guard var cluster = last else { return nil }
    // Only the very last one is walked through.
    let end = min(segment.end ?? file.size, file.size)
    var next = cluster
    for _ in 0..<Self.mostClusters where next < end {
      guard let element = EBMLElement(file, at: next), let elementEnd = element.end else { break }
      if element.id == MatroskaID.cluster { cluster = next }
      next = elementEnd
    }
    return cluster
  }

  private var indexed: Int64? {
    let cues =
      outer.first { $0.id == MatroskaID.cues } ?? segment.sought(MatroskaID.cues, from: outer, in: file)
    guard let cues, let end = cues.end, end <= file.size else { return nil }
    var next = cues.contents
    var point: EBMLElement?
    while next < end, let element = EBMLElement(file, at: next), let elementEnd = element.end {
      if element.id == MatroskaID.cuePoint { point = element }
      next = elementEnd
    }
    let positions =
      point?.children(in: file).first { $0.id == MatroskaID.cueTrackPositions }?.children(in: file) ?? []
    return positions.first { $0.id == MatroskaID.cueClusterPosition }.flatMap { $0.number(in: file) }.flatMap
    {
      $0 < UInt64(file.size) ? segment.contents + Int64($0) : nil
    }
  }

  /// The first cluster in the last bytes from which on one element follows the other to the end; of those that do not say
  /// where they end, the last one.
  private func found(beyond reached: Int64) -> Int64? {
    let end = min(segment.end ?? file.size, file.size)
    let start = max(reached, end - Int64(Self.searched))
    guard start < end else { return nil }
    let tail = file.bytes(at: start, count: Int(end - start))
    var last: Int64?
    // From none of these the end is reached, so that no element is stepped over twice.
    var passed: Set<Int64> = []
    let mark: [UInt8] = [0x1F, 0x43, 0xB6, 0x75]
    for at in tail.indices where tail[at] == mark[0] && tail[at...].starts(with: mark) {
      let place = start + Int64(at)
      var next = place
      while next < end, passed.insert(next).inserted, let elementEnd = EBMLElement(file, at: next)?.end {
        next = elementEnd
      }
      if next == end { return place }
      if next == place, isEndless(at: place) { last = place }
    }
    return last
  }

  /// Whether a cluster that begins here does not say where it ends, and its first element is its time, as it has to be
  /// (RFC 9559, 5.1.3.1).
  private func isEndless(at place: Int64) -> Bool {
    guard let cluster = EBMLElement(file, at: place), cluster.end == nil else { return false }
    return EBMLElement(file, at: cluster.contents)?.id == MatroskaID.timestamp
  }
}
