import ReelProbe

/// A track, and when its blocks begin and end, as they come.
struct TrackClock: Hashable {
  enum Kind: Hashable { case video, audio, other }
  let number: UInt64
  let kind: Kind
  /// How long a frame lasts that does not say so itself, in nanoseconds.
  let defaultDuration: UInt64
  /// What its times are ahead of when it is heard, in nanoseconds (RFC 9559, 5.1.4.1.26).
  let delay: UInt64
  /// Whether its ticks are not those of the Segment (RFC 9559, 5.1.4.1.17: deprecated).
  let hasOwnScale: Bool

  private var last: Int64?
  /// How long the block at ``last`` lasts, in ticks; nil where nothing tells.
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
  ///   - time: in ticks of the Segment.
  ///   - duration: of the block, in ticks, where it is stated.
  ///   - frames: how many the block holds.
  ///   - scale: nanoseconds in a tick.
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

  /// When its last block ends, in ticks; nil without blocks.
  func end(scale: UInt64) -> Double? {
    guard let last else { return nil }
    let duration = lastDuration ?? step.ticks ?? 0
    return Double(last) + duration - Double(delay) / Double(scale)
  }
}

extension EBMLElement {
  /// The elements within it, of known size, up to a number of them. What is no element ends them.
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

  /// An unsigned integer (RFC 8794, 7.2); nil for one of more than 8 bytes.
  func number(in source: BoundedSource) -> UInt64? {
    guard let end, end - contents <= 8 else { return nil }
    return end == contents ? 0 : source.bigEndian(at: contents, width: Int(end - contents))
  }

  /// A float (RFC 8794, 7.3).
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
