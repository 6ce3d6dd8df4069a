import ReelCore
import ReelProbe

/// A Matroska or WebM file, taken apart: the elements of its Segment, and the times of its blocks (RFC 9559).
struct MatroskaFile {
  enum Item: Hashable {
    /// A cluster, by its number.
    case cluster(Int)
    case info(Range<Int64>)
    /// An element that is copied as it is.
    case other(id: UInt32, Range<Int64>)
  }
  private(set) var items: [Item] = []
  private(set) var clusters: [MatroskaCluster] = []
  private(set) var cues: CueList?
  /// The position of the Segment in the source.
  let segment: Int64
  /// The end of what is kept of the Segment in the source.
  private(set) var end: Int64
  /// Whether the file ends before the Segment does.
  private(set) var isCut: Bool
  /// The duration in ticks of the Segment; nil if no block has a time.
  private(set) var duration: Double?

  private static let mostClusters = 1_000_000
  private static let mostItems = 100_000
  private static let mostNested = 1_000_000
  private static let largestInfo: Int64 = 1 << 20

  /// Reads the header of every block.
  /// - Throws: `corrupt`, `notMendable`, and the error that stops the reading.
  init(_ source: BoundedSource, _ head: MatroskaHead) throws(MendError) {
    let (scale, cueTrack) = (head.scale, head.cueTrack)
    segment = head.segment.start
    end = head.segment.contents
    let segmentEnd = min(head.segment.end ?? source.size, source.size)
    isCut = head.segment.end ?? 0 > source.size
    var clocks = Dictionary(head.clocks.map { ($0.number, $0) }) { first, _ in first }
    var cues = cueTrack.map { CueList(track: $0, scale: scale) }
    while end < segmentEnd {
      guard let element = EBMLElement(source, at: end) else {
        guard try Self.isCut(at: end, in: source) else { throw MatroskaCluster.damaged }
        isCut = true
        break
      }
      guard element.id == MatroskaID.cluster else {
        guard let elementEnd = element.end else { throw MatroskaCluster.damaged }
        guard elementEnd <= segmentEnd else {
          guard segmentEnd == source.size else { throw MatroskaCluster.damaged }
          isCut = true
          break
        }
        try add(element, elementEnd, in: source)
        continue
      }
      var key: Int64?
      let cluster = try MatroskaCluster(element, segmentEnd: segmentEnd, in: source) { block in
        clocks[block.track]?.add(block.time, lasting: block.duration, frames: block.frames, scale: scale)
        if block.isKey, block.track == cueTrack, key == nil { key = block.time }
      }
      end = cluster.end
      if cluster.hasBlocks || !cluster.isCut {
        if let key { cues?.add(key, cluster: clusters.count) }
        items.append(.cluster(clusters.count))
        clusters.append(cluster)
      }
      guard clusters.count <= Self.mostClusters else {
        throw MendError(.notMendable, "it has more than \(Self.mostClusters) clusters")
      }
      guard !cluster.isCut else {
        isCut = true
        break
      }
    }
    if source.isOverdue() || source.stop != nil { throw MatroskaCluster.damaged }
    self.cues = cues.flatMap { $0.points.isEmpty ? nil : $0 }
    let shown = clocks.values.filter { $0.kind != .other }
    duration = (shown.isEmpty ? Array(clocks.values) : shown).compactMap { $0.end(scale: scale) }.max()
    try refuseMore(in: source, behind: segmentEnd)
  }

  private mutating func add(
    _ element: EBMLElement, _ elementEnd: Int64, in source: BoundedSource
  ) throws(MendError) {
    let range = element.start..<elementEnd
    end = elementEnd
    switch element.id {
    // These are written anew.
    case MatroskaID.seekHead, MatroskaID.cues: return
    case MatroskaID.header, MatroskaID.segment: throw Self.several
    case MatroskaID.info:
      guard elementEnd - element.contents <= Self.largestInfo else { throw MatroskaCluster.damaged }
      items.append(.info(range))
    // This was the checksum of the whole Segment.
    case MatroskaID.checksum: return
    default:
      try Self.refuseDamage(within: element, in: source)
      if case .other(MatroskaID.void, let last)? = items.last, element.id == MatroskaID.void,
        last.upperBound == range.lowerBound
      {
        items[items.count - 1] = .other(id: MatroskaID.void, last.lowerBound..<elementEnd)
      } else {
        items.append(.other(id: element.id, range))
      }
    }
    guard items.count - clusters.count <= Self.mostItems else { throw Self.tooMany }
  }

  private static let tooMany = MendError(.notMendable, "it has too many elements besides its clusters")

  /// Refuses an element to be copied if one within it is none, extends beyond the one that holds it, or does not say
  /// where it ends: players lose their place there.
  private static func refuseDamage(within outer: EBMLElement, in source: BoundedSource) throws(MendError) {
    guard MatroskaID.nesting.contains(outer.id), let end = outer.end else { return }
    var (next, ends) = (outer.contents, [end])
    for _ in 0..<mostNested {
      while next == ends.last { ends.removeLast() }
      guard let limit = ends.last else { return }
      guard let element = EBMLElement(source, at: next), let elementEnd = element.end, elementEnd <= limit
      else { throw MatroskaCluster.damaged }
      let nests = MatroskaID.nesting.contains(element.id)
      next = nests ? element.contents : elementEnd
      if nests { ends.append(elementEnd) }
    }
    throw tooMany
  }

  private static let several = MendError(
    .notMendable, "it consists of several files joined together; split it first")

  /// Refuses another Segment after this one. Anything else there is kept.
  private func refuseMore(in source: BoundedSource, behind segmentEnd: Int64) throws(MendError) {
    guard segmentEnd < source.size, let next = EBMLElement(source, at: segmentEnd) else { return }
    if next.id == MatroskaID.header || next.id == MatroskaID.segment { throw Self.several }
  }

  /// Returns whether bytes at `offset` that are no element are the beginning of one, or space that was never written.
  static func isCut(at offset: Int64, in source: BoundedSource) throws(MendError) -> Bool {
    let left = source.size - offset
    if left < 12, source.bytes(at: offset, count: 1).first.map({ $0 >= 0x10 }) ?? false { return true }
    guard left <= 64 << 20 else { return false }
    var next = offset
    while next < source.size {
      let bytes = source.bytes(at: next, count: Int(min(1 << 20, source.size - next)))
      guard !bytes.isEmpty, bytes.allSatisfy({ $0 == 0 }) else { return false }
      next += Int64(bytes.count)
    }
    return true
  }
}
