import CFFmpeg

/// A reader of the times in the blocks of a Matroska file (RFC 9559, 10), by track number.
struct MatroskaClock<Bytes: ByteReading> {
  private let file: Bytes
  private let segment: EBMLElement
  private var clock: ContentClock
  private var blocks = 0

  /// The number of blocks that are read before the rest is skipped up to the end of the file.
  private static var mostAtBeginning: Int { 1024 }
  /// The same for a file that is read in full: a hundred minutes of pictures and sound.
  private static var mostInAll: Int { 400_000 }
  /// The number of blocks that are read at all places between the beginning and the end together, and the number of
  /// clusters that are stepped over to find these places if the index names few.
  private static var mostBetween: Int { 8192 }
  private static var fewClusters: Int { 512 }
  /// The number of blocks that are read after the last point of the index.
  private static var mostAtEnd: Int { 16_384 }
  /// The number of clusters that are stepped over from there.
  private static var mostClusters: Int { 4096 }
  /// The number of bytes that are searched for a cluster if there is no index.
  private static var searched: Int { 256 << 10 }

  /// The number of joined files that are told apart.
  private static func mostParts(_ file: Bytes) -> Int { file.isFar ? 4 : 64 }

  /// Nil if there are no clusters whose times can be read, or if all blocks are to be read and there are too many.
  static func read(_ file: Bytes, isWhole: Bool) -> ContentClock? {
    guard let segment = EBMLElement.segment(in: file) else { return nil }
    var reader = MatroskaClock(file, segment, isWhole)
    guard var clock = reader.read() else { return nil }
    // Players continue with what follows the segment.
    for part in 1... {
      guard let next = reader.segmentEnd.flatMap({ EBMLElement.segment(in: file, from: $0) }) else { break }
      reader = MatroskaClock(file, next, isWhole)
      guard part < mostParts(file), let other = reader.read(),
        av_cmp_q(other.base, clock.base) == 0,
        Set(other.extents.keys).isSubset(of: clock.extents.keys)
      else {
        if isWhole { return nil }
        clock.isUnclear = true
        break
      }
      clock.append(other)
    }
    return clock
  }

  private init(_ file: Bytes, _ segment: EBMLElement, _ isWhole: Bool) {
    self.file = file
    self.segment = segment
    self.isWhole = isWhole
    let outermost = segment.children(in: file)
    let information = outermost.first { $0.id == MatroskaID.info }?.children(in: file) ?? []
    let scale =
      information.first { $0.id == MatroskaID.timestampScale }.flatMap { $0.number(in: file) } ?? 1_000_000
    let base = AVRational(num: Int32(clamping: max(1, scale)), den: 1_000_000_000)
    // The times include the pauses of a recording, and the time for which a picture stays.
    clock = ContentClock(base: base, ahead: PacketExtent.Jump.longestPause, isReordered: true)
    outer = outermost
    segmentEnd = segment.end
    let tracks = MatroskaTrackList(in: segment, of: file).made
    pictures = Set(tracks.filter { $0.type == MatroskaTrackList.video }.map(\.number))
    texts = Set(tracks.filter { MatroskaTrackList.texts.contains($0.type) }.map(\.number))
    for track in tracks {
      if let duration = track.frameDuration {
        clock.note(track.number, stated: Double(duration) / Double(base.num))
      }
    }
  }

  /// The numbers of the video tracks, and of the subtitle and metadata tracks.
  private let pictures: Set<Int>
  private let texts: Set<Int>
  private let outer: [EBMLElement]
  /// Whether all blocks are to be read.
  private let isWhole: Bool
  private var isSpent: Bool { isWhole && file.isHalfSpent }

  private mutating func read() -> ContentClock? {
    guard let first = outer.first(where: { $0.id == MatroskaID.cluster }) else { return nil }
    farLimit = first.start + Self.mostFar / 4
    let reached = walk(from: first.start, blocks: isWhole ? Self.mostInAll : Self.mostAtBeginning)
    if isWhole, reached != nil || file.isHalfSpent { return nil }
    guard let reached else {
      clock.isWhole = true
      clock.overlaps = overlaps
      return clock.extents.isEmpty ? nil : clock
    }
    let named = indexed
    if let last = lastCluster(named.last?.cluster, beyond: reached) {
      if !file.isFar { walkBetween(named, beyond: reached, before: last) }
      clock.beginWindow(atEnd: true)
      blocks = 0
      if file.isFar {
        guard file.size - last <= Self.mostFar else { return nil }
        file.willRead(last..<file.size)
      }
      // What lies between was not read, so the distance is no jump.
      if walk(from: last, blocks: Self.mostAtEnd) != nil { return nil }
      clock.overlaps = overlaps
      return clock
    }
    return isWhole || file.isFar ? nil : readOn()
  }

  /// Reads all blocks if no cluster begins after those at the beginning: one cluster may hold all blocks of the file.
  private mutating func readOn() -> ContentClock? {
    var whole = MatroskaClock(file, segment, true)
    let found = whole.read()
    segmentEnd = whole.segmentEnd
    return found
  }

  /// Reads clusters between the beginning and the end. They are spread evenly in time if the index names them or if
  /// they state where they end, otherwise approximately.
  private mutating func walkBetween(
    _ indexed: [(time: UInt64, cluster: Int64)], beyond reached: Int64, before last: Int64
  ) {
    var all = indexed
    if all.count <= ContentClock.places {
      let most = all.isEmpty ? Self.mostClusters : Self.fewClusters
      let found = steppedOver(before: last, atMost: most)
      if all.isEmpty || found.last?.cluster == last { all = found }
    }
    let named = all.filter { reached <= $0.cluster && $0.cluster < last }
    var places: [Int64] = []
    if zip(named, named.dropFirst()).contains(where: { $0.time > $1.time }) {
      // If the times start anew, a time does not identify a place.
      let step = Double(named.count) / Double(ContentClock.places)
      places = (0..<ContentClock.places).map { named[Int(Double($0) * step)].cluster }
    } else if let first = named.first?.time, let end = all.last?.time, end > first {
      let span = Double(end - first)
      places = (0..<ContentClock.places).compactMap { window in
        let moment = Double(first) + span * (Double(window) + 0.5) / Double(ContentClock.places)
        return named.last { Double($0.time) <= moment }?.cluster
      }
    } else if all.isEmpty, let begin = foundCluster(from: reached), let end = mark(last) {
      places = SpreadPlaces.between(begin, end, count: ContentClock.places) { foundCluster(from: $0) }
    }
    places = Set(places).sorted()
    var hasReachedNext = false
    for (place, limit) in zip(places, places.dropFirst() + [last]) {
      guard EBMLElement(file, at: place)?.id == MatroskaID.cluster else { continue }
      if !hasReachedNext {
        clock.beginWindow(atEnd: false)
        lasts = [:]
      }
      blocks = 0
      hasReachedNext = walk(from: place, blocks: Self.mostBetween / places.count, before: limit) == nil
    }
    lasts = [:]
  }

  /// Returns the times and positions of the clusters after the one in which the blocks at the beginning end.
  private func steppedOver(before last: Int64, atMost most: Int) -> [(time: UInt64, cluster: Int64)] {
    var found: [(time: UInt64, cluster: Int64)] = []
    var next = nextCluster
    for _ in 0..<most {
      guard let place = next, place <= last, let element = EBMLElement(file, at: place) else { break }
      if let mark = mark(place) { found.append((UInt64(mark.time), place)) }
      next = element.end
    }
    return found
  }

  /// The end of the cluster that was read last; nil if its size is unknown.
  private var nextCluster: Int64?

  /// Returns the mark of a cluster that begins with its time, as it must (RFC 9559, 5.1.3.1), or with a checksum and
  /// its time.
  private func mark(_ cluster: Int64) -> SpreadPlaces.Mark? {
    guard let element = EBMLElement(file, at: cluster), element.id == MatroskaID.cluster,
      var first = EBMLElement(file, at: element.contents)
    else { return nil }
    if first.id == MatroskaID.checksum, let end = first.end, let next = EBMLElement(file, at: end) {
      first = next
    }
    guard first.id == MatroskaID.timestamp, let number = first.number(in: file) else { return nil }
    return SpreadPlaces.Mark(time: Int64(clamping: number), place: cluster)
  }

  /// Returns the mark of the first cluster from `start` on.
  private func foundCluster(from start: Int64, in parts: Int = Self.searchedParts) -> SpreadPlaces.Mark? {
    for part in 0..<parts {
      let place = start + Int64(part * Self.searched)
      // The identifier may extend across the border of two parts.
      let bytes = file.bytes(at: place, count: Self.searched + Self.identifier.count - 1)
      let found = bytes.indices.lazy
        .filter { bytes[$0] == 0x1F && bytes[$0...].starts(with: Self.identifier) }
        .compactMap { mark(place + Int64($0)) }
      if let first = found.first { return first }
    }
    return nil
  }

  /// The number of parts, each of `searched` bytes, that are searched for a cluster: a browser's recorder begins a
  /// cluster only with each key frame.
  private static var searchedParts: Int { 4 }

  /// The identifier of a cluster.
  private static var identifier: [UInt8] { [0x1F, 0x43, 0xB6, 0x75] }

  /// Reads clusters from `start` on, up to `most` blocks or the first cluster at or after `limit`. Returns the position
  /// where it stopped; nil at the end of these.
  private mutating func walk(from start: Int64, blocks most: Int, before limit: Int64? = nil) -> Int64? {
    let end = min(segment.end ?? file.size, file.size, limit ?? file.size)
    var next = start
    before = [:]
    while next < end {
      guard let element = self.element(at: next, among: MatroskaID.inSegment, before: end) else {
        guard let beyond = beyondLost(next) else { return nil }
        next = beyond
        continue
      }
      // A segment of unknown size ends where another file begins.
      if segment.end == nil, [MatroskaID.header, MatroskaID.segment].contains(element.id) {
        segmentEnd = next
        return nil
      }
      if element.id == MatroskaID.cluster {
        // Without a limit, read more of a cluster, because its rest can be reached from nowhere else.
        if let stopped = walk(cluster: element, limit == nil ? 4 * most : most) { return stopped }
        next = clusterEnd
        if blocks >= most { return next }
      } else {
        guard let elementEnd = element.end else { return nil }
        next = elementEnd
      }
      if isSpent { return next }
    }
    return nil
  }

  /// Returns the element at a place; nil if there can be none. An element of an unknown kind counts only if one of a
  /// known kind begins where it ends.
  private func element(at place: Int64, among known: Set<UInt32>, before end: Int64) -> EBMLElement? {
    guard let found = EBMLElement(file, at: place) else { return nil }
    if known.contains(found.id) { return found }
    guard let next = found.end, next < end else { return found.end == end ? found : nil }
    return EBMLElement(file, at: next).map { known.contains($0.id) } == true ? found : nil
  }

  /// Returns the position where clusters continue after something that is neither a cluster nor an element within one;
  /// nil if none follows.
  ///
  /// - Parameter isCut: whether the file may end there.
  private mutating func beyondLost(_ place: Int64, isCut: Bool = false) -> Int64? {
    if !file.isFar, let found = foundCluster(from: place, in: partsBehindLost) {
      partsBehindLost -= 1 + Int((found.place - place) / Int64(Self.searched))
      clock.isUnclear = true
      return found.place
    }
    partsBehindLost = 0
    // Space that was allocated and never written is not lost.
    let isEnd = isCut || file.bytes(at: place, count: 4096).dropFirst(12).allSatisfy { $0 == 0 }
    if !isEnd { clock.isEndLost = true }
    return nil
  }

  /// The number of parts, each of `searched` bytes, that may still be searched for a cluster after damaged places.
  private var partsBehindLost = 64

  /// The end of the cluster that was walked through, or the position of the next one if the rest is damaged.
  private var clusterEnd: Int64 = 0
  /// The end of the segment; nil if it is not known.
  private var segmentEnd: Int64?
  /// The position up to which a remote file is read from its beginning, and the number of bytes that are read at its
  /// end.
  private var farLimit: Int64 = 0
  private static var mostFar: Int64 { 1 << 20 }

  private mutating func walk(cluster: EBMLElement, _ most: Int) -> Int64? {
    let end = min(cluster.end ?? file.size, file.size)
    var (next, time) = (cluster.contents, Int64(0))
    clusterEnd = end
    nextCluster = cluster.end
    let known = cluster.end == nil ? MatroskaID.inEndlessCluster : MatroskaID.inCluster
    while next < end {
      let found = element(at: next, among: known, before: end)
      // A cluster of unknown size ends where another element of its level begins.
      if cluster.end == nil, let found, found.id >= 0x1000_0000 {
        clusterEnd = next
        return nil
      }
      let isComplete = found?.end.map { $0 <= end } ?? false
      if !isComplete {
        let isCut = end == file.size && found?.end != nil
        clusterEnd = beyondLost(found?.contents ?? next, isCut: isCut) ?? file.size
      }
      // The time of a block that is cut off can still be read.
      guard let element = found, isComplete || clusterEnd == file.size else { return nil }
      switch element.id {
      case MatroskaID.timestamp: time = Int64(clamping: element.number(in: file) ?? 0)
      case MatroskaID.simpleBlock: take(element, time, lasting: 0, isAlone: false)
      case MatroskaID.blockGroup:
        let parts = element.children(in: file)
        let duration = parts.first { $0.id == MatroskaID.blockDuration }.flatMap { $0.number(in: file) } ?? 0
        parts.first { $0.id == MatroskaID.block }.map {
          take(
            $0, time, lasting: Int64(clamping: duration),
            isAlone: !parts.contains { $0.id == MatroskaID.reference })
        }
      default: break
      }
      guard isComplete, let elementEnd = element.end else { return nil }
      next = elementEnd
      if blocks >= most || isSpent || file.isFar && clock.windows.isEmpty && next > farLimit { return next }
    }
    return nil
  }

  /// - Parameter isAlone: whether it is in a group that refers to no other block.
  private mutating func take(
    _ block: EBMLElement, _ cluster: Int64, lasting duration: Int64, isAlone: Bool
  ) {
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
    // Frames that share a block (RFC 9559, 10.3) follow a table of their sizes.
    let isShared = head[width + 2] & 6 != 0
    if isShared { clock.noteShared(number) }
    let own = isShared && head.count > width + 3 ? Int64(head[width + 3]) + 1 : 1
    let duration = duration > 0 ? duration : lasting(number, time, frames: own)
    let bytes = !isShared && start < end ? start..<end : nil
    // The flag of a key frame exists only for a block that is in no group (RFC 9559, 10.2).
    let mayTell = texts.contains(number) || pictures.contains(number) && (isAlone || head[width + 2] >= 0x80)
    if mayTell, start < end { clock.note(number, place: start..<end) }
    // Clusters are in order, while pictures within one are in decoding order: use the cluster's time as decoding time.
    let anew = clock.add(number, at: time, decoded: cluster, lasting: duration, bytes: bytes)
    if anew { lasts[number] = nil }
    note(number, time, cluster)
  }

  /// The time of the last block of each track, and its number of frames.
  private var before: [Int: (time: Int64, frames: Int64)] = [:]

  /// Returns the duration of a block that has fewer frames than the one before, as the last one may; 0 if that is not
  /// known.
  private mutating func lasting(_ track: Int, _ time: Int64, frames: Int64) -> Int64 {
    defer { before[track] = (time, frames) }
    guard let before = before[track] else { return 0 }
    let (step, overflow) = time.subtractingReportingOverflow(before.time)
    if !overflow { clock.note(track, step: step, of: before.frames) }
    guard frames < before.frames else { return 0 }
    return !overflow && (0..<1 << 32).contains(step) ? step * frames / before.frames : 0
  }

  /// The last block of each track: its time, its cluster, and whether the times of all blocks before it rose within
  /// their clusters.
  private var lasts: [Int: Last] = [:]

  private struct Last {
    var time: Int64
    var cluster: Int64
    var isOrdered = true
    /// The number of the track's blocks in that cluster.
    var blocks = 1
    /// The latest time so far, and the latest before it.
    var latest: Int64
    var latestBefore: Int64?
  }

  /// Notes a block, and whether its cluster overlaps the one before: if the blocks of a cluster are in order, those of
  /// the next must come after them.
  private mutating func note(_ track: Int, _ time: Int64, _ cluster: Int64) {
    guard var last = lasts[track] else {
      lasts[track] = Last(time: time, cluster: cluster, latest: time)
      return
    }
    let isBack = time < last.time
    let isWithin = cluster == last.cluster
    // A picture alone in its cluster may be one on which those shown before it depend.
    let isReordered = last.blocks == 1 && last.latestBefore.map { time > $0 } ?? false
    if isBack, !isWithin, last.isOrdered, !isReordered { overlapping.insert(track) }
    last.blocks = isWithin ? last.blocks + 1 : 1
    last.isOrdered = last.isOrdered && !(isBack && isWithin)
    if !(isBack && isWithin) { last.time = time }
    last.cluster = cluster
    if time > last.latest { (last.latest, last.latestBefore) = (time, last.latest) }
    lasts[track] = last
  }

  private var overlapping: Set<Int> = []

  /// Whether two clusters overlap in a track whose blocks are in order from the first to the last.
  private var overlaps: Bool { overlapping.contains { lasts[$0]?.isOrdered == true } }

  /// Returns the position of a cluster near the end: the last of those that the index names or that follow these,
  /// otherwise one that is found in the last bytes.
  private func lastCluster(_ indexed: Int64?, beyond reached: Int64) -> Int64? {
    let named = indexed.map { max($0, reached) }
    var last = named.flatMap { EBMLElement(file, at: $0)?.id == MatroskaID.cluster ? $0 : nil }
    if last == nil { last = found(beyond: reached, in: Self.searched) }
    if last == nil, !file.isFar { last = found(beyond: reached, in: Self.searchedParts * Self.searched) }
    guard var cluster = last else { return nil }
    // Only the very last cluster is walked through.
    let end = min(segment.end ?? file.size, file.size)
    var next = cluster
    for _ in 0..<Self.mostClusters where next < end {
      guard let element = EBMLElement(file, at: next), let elementEnd = element.end else { break }
      if element.id == MatroskaID.cluster { cluster = next }
      next = elementEnd
    }
    return cluster
  }

  /// The times and positions of the clusters that the index names: the last of them, and some before it.
  private var indexed: [(time: UInt64, cluster: Int64)] {
    let cues =
      outer.first { $0.id == MatroskaID.cues } ?? segment.sought(MatroskaID.cues, from: outer, in: file)
    guard let cues, let end = cues.end, end <= file.size else { return [] }
    var next = cues.contents
    var points: [EBMLElement] = []
    while next < end, let element = EBMLElement(file, at: next), let elementEnd = element.end {
      if element.id == MatroskaID.cuePoint { points.append(element) }
      next = elementEnd
    }
    // Use as many as it takes to find times that are spread evenly over the file.
    let step = max(1, points.count / (16 * ContentClock.places))
    return stride(from: (points.count - 1) % step, to: points.count, by: step).compactMap {
      let parts = points[$0].children(in: file)
      guard let time = parts.first(where: { $0.id == MatroskaID.cueTime })?.number(in: file),
        let position = position(parts)
      else { return nil }
      return (time, position)
    }
  }

  private func position(_ point: [EBMLElement]) -> Int64? {
    let positions =
      point.first { $0.id == MatroskaID.cueTrackPositions }?.children(in: file) ?? []
    return positions.first { $0.id == MatroskaID.cueClusterPosition }.flatMap { $0.number(in: file) }.flatMap
    {
      $0 < UInt64(file.size) ? segment.contents + Int64($0) : nil
    }
  }

  /// Returns the position of the first cluster in the last bytes from which elements follow one another to the end;
  /// otherwise the last cluster of unknown size.
  private func found(beyond reached: Int64, in searched: Int) -> Int64? {
    let end = min(segment.end ?? file.size, file.size)
    let start = max(reached, end - Int64(searched))
    guard start < end else { return nil }
    let tail = file.bytes(at: start, count: Int(end - start))
    var last: Int64?
    // The end is reached from none of these, so no element is stepped over twice.
    var passed: Set<Int64> = []
    for at in tail.indices where tail[at] == 0x1F && tail[at...].starts(with: Self.identifier) {
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

  /// Whether a cluster of unknown size begins here.
  private func isEndless(at place: Int64) -> Bool {
    EBMLElement(file, at: place).map { $0.end == nil } == true && mark(place) != nil
  }
}
