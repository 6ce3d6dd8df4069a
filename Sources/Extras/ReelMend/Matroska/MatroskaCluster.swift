import ReelCore
import ReelProbe

/// A cluster, as the headers of its elements describe it (RFC 9559, 5.1.3).
struct MatroskaCluster: Hashable {
  let start: Int64
  let contents: Int64
  /// The end of what is kept of it.
  private(set) var end: Int64
  /// Whether its header states its size.
  let hasSize: Bool
  /// Whether the file ends before the cluster does.
  private(set) var isCut: Bool
  private(set) var hasBlocks = false
  /// Elements that become wrong when this cluster or the one before it moves or grows. Usually there are none.
  private(set) var moving: [EBMLElement] = []

  /// A block, as its header describes it (RFC 9559, 10).
  struct Block {
    let track: UInt64
    /// In ticks of the Segment.
    let time: Int64
    /// In ticks of the Segment; nil if it is not stated.
    var duration: UInt64?
    let frames: Int
    var isKey: Bool
  }

  static let damaged = MendError(
    .corrupt, "its elements contradict each other; get a complete copy")

  /// - Parameters:
  ///   - segmentEnd: the end of the Segment that contains it, within the file.
  ///   - found: called with each complete block.
  /// - Throws: `corrupt`, and the error that stops the reading.
  init(
    _ element: EBMLElement, segmentEnd: Int64, in source: BoundedSource, _ found: (Block) -> Void
  ) throws(MendError) {
    start = element.start
    contents = element.contents
    end = contents
    if let stated = element.end, stated > segmentEnd, segmentEnd < source.size { throw Self.damaged }
    let limit = min(element.end ?? segmentEnd, segmentEnd)
    hasSize = element.end != nil
    isCut = element.end ?? limit > limit
    var timestamp: Int64?
    while end < limit {
      guard let child = EBMLElement(source, at: end) else {
        guard try MatroskaFile.isCut(at: end, in: source) else { throw Self.damaged }
        isCut = true
        return
      }
      if element.end == nil, MatroskaID.outside.contains(child.id) { return }
      guard let childEnd = child.end else { throw Self.damaged }
      guard childEnd <= limit else {
        guard limit == source.size else { throw Self.damaged }
        isCut = true
        return
      }
      switch child.id {
      case MatroskaID.timestamp:
        guard let number = child.number(in: source), number < UInt64(1) << 60 else { throw Self.damaged }
        timestamp = Int64(number)
      case MatroskaID.position, MatroskaID.previousSize, MatroskaID.checksum: moving.append(child)
      case MatroskaID.simpleBlock, MatroskaID.blockGroup:
        guard let timestamp, let block = try Self.block(child, timestamp, in: source) else {
          throw Self.damaged
        }
        hasBlocks = true
        found(block)
      default: break
      }
      guard moving.count <= 64 else { throw Self.damaged }
      end = childEnd
    }
  }

  /// The number of bytes of its size field.
  var sizeWidth: Int { Int(contents - start) - 4 }

  private static func block(
    _ element: EBMLElement, _ timestamp: Int64, in source: BoundedSource
  ) throws(MendError) -> Block? {
    guard let end = element.end else { return nil }
    if element.id == MatroskaID.simpleBlock {
      return head(element.contents..<end, timestamp, in: source)
    }
    var (block, duration, isKey, next): (Block?, UInt64?, Bool, Int64) = (nil, nil, true, element.contents)
    while next < end {
      guard let child = EBMLElement(source, at: next), let childEnd = child.end, childEnd <= end else {
        throw damaged
      }
      switch child.id {
      case MatroskaID.block: block = head(child.contents..<childEnd, timestamp, in: source)
      case MatroskaID.blockDuration: duration = child.number(in: source)
      case MatroskaID.reference: isKey = false
      default: break
      }
      next = childEnd
    }
    guard var block else { return nil }
    block.isKey = isKey
    block.duration = duration.flatMap { $0 < UInt64(1) << 60 ? $0 : nil }
    return block
  }

  /// Reads a block's header: the track number, the time relative to the cluster's, flags, and with lacing the number of
  /// frames minus one.
  private static func head(
    _ range: Range<Int64>, _ timestamp: Int64, in source: BoundedSource
  ) -> Block? {
    let bytes = source.bytes(at: range.lowerBound, count: Int(min(12, range.upperBound - range.lowerBound)))
    guard let first = bytes.first, first != 0 else { return nil }
    let width = first.leadingZeroBitCount + 1
    guard bytes.count >= width + 3 else { return nil }
    let coded = bytes[..<width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let flags = bytes[width + 2]
    var frames = 1
    if flags & 0x06 != 0 {
      guard bytes.count > width + 3 else { return nil }
      frames += Int(bytes[width + 3])
    }
    return Block(
      track: coded & (UInt64(1) << UInt64(7 * width) - 1),
      time: timestamp + Int64(Int16(bitPattern: bytes.bigEndian16(at: width))), duration: nil, frames: frames,
      isKey: flags & 0x80 != 0)
  }
}
