import ReelProbe

/// A track, and the times of its blocks as they are read.
struct TrackClock: Hashable {
  enum Kind: Hashable { case video, audio, other }
  let number: UInt64
  let kind: Kind
  /// The duration of a frame that does not state its own, in nanoseconds.
  let defaultDuration: UInt64
  /// The codec delay, which its times include, in nanoseconds (RFC 9559, 5.1.4.1.26).
  let delay: UInt64
  /// Whether its ticks are not those of the Segment (RFC 9559, 5.1.4.1.17: deprecated).
  let hasOwnScale: Bool

  private var last: Int64?
  /// The duration of the block at ``last``, in ticks; nil if nothing states it.
  private var lastDuration: Double?
  private var step = PacketStep()

  /// - Parameter entry: a TrackEntry.
  /// - Returns: nil for one without a number.
  init?(_ entry: EBMLElement, in source: BoundedSource) {
    var (number, type): (UInt64?, UInt64) = (nil, 0)
    var (defaultDuration, delay, hasOwnScale): (UInt64, UInt64, Bool) = (0, 0, false)
    for element in entry.elements(in: source) {
      switch element.id {
      case MatroskaID.trackNumber: number = element.number(in: source)
      case MatroskaID.trackType: type = element.number(in: source) ?? 0
      case MatroskaID.defaultDuration: defaultDuration = element.number(in: source) ?? 0
      case MatroskaID.codecDelay: delay = element.number(in: source) ?? 0
      case MatroskaID.trackTimestampScale: hasOwnScale = element.real(in: source) != 1
      default: break
      }
    }
    guard let number else { return nil }
    self.number = number
    kind = type == 1 ? .video : type == 2 ? .audio : .other
    (self.defaultDuration, self.delay, self.hasOwnScale) = (defaultDuration, delay, hasOwnScale)
  }

  /// - Parameters:
  ///   - time: the block's time in ticks of the Segment.
  ///   - duration: the block's duration in ticks, if it is stated.
  ///   - frames: the number of frames in the block.
  ///   - scale: the number of nanoseconds in a tick.
  mutating func add(_ time: Int64, lasting duration: UInt64?, frames: Int, scale: UInt64) {
    let usual = defaultDuration > 0 ? Double(defaultDuration) * Double(frames) / Double(scale) : nil
    let own = duration.map { Double($0) } ?? usual
    step.add(time)
    if let last, time <= last {
      if time == last { lastDuration = [lastDuration, own].compactMap(\.self).max() }
    } else {
      (last, lastDuration) = (time, own)
    }
  }

  /// Returns the end of its last block, in ticks; nil without blocks.
  func end(scale: UInt64) -> Double? {
    guard let last else { return nil }
    let duration = lastDuration ?? step.ticks ?? 0
    return Double(last) + duration - Double(delay) / Double(scale)
  }
}

extension EBMLElement {
  /// Returns the elements of known size within it, up to a fixed number. The first bytes that are no element end the
  /// list.
  func elements(in source: BoundedSource) -> [EBMLElement] {
    var (found, next): ([EBMLElement], Int64) = ([], contents)
    guard let end else { return [] }
    while next < end, found.count < 4096, let element = EBMLElement(source, at: next),
      let elementEnd = element.end, elementEnd <= end
    {
      found.append(element)
      next = elementEnd
    }
    return found
  }

  /// Returns its unsigned integer (RFC 8794, 7.2); nil for one of more than 8 bytes.
  func number(in source: BoundedSource) -> UInt64? {
    guard let end, end - contents <= 8 else { return nil }
    return end == contents ? 0 : source.bigEndian(at: contents, width: Int(end - contents))
  }

  /// Returns its float (RFC 8794, 7.3).
  func real(in source: BoundedSource) -> Double? {
    guard let end, let bits = number(in: source) else { return nil }
    switch end - contents {
    case 0: return 0
    case 4: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case 8: return Double(bitPattern: bits)
    default: return nil
    }
  }
}
