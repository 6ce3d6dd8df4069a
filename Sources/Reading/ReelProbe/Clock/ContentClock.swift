import CFFmpeg
import ReelCore

/// When the packets of a file are shown, read from its structure without FFmpeg: all of them in a small file, else those
/// at its beginning and at its end.
struct ContentClock {
  /// The streams by what the container calls them: a track's number, a packet identifier, the kind of a tag.
  typealias Key = Int

  /// The tick of all times.
  let base: AVRational
  private(set) var extents: [Key: PacketExtent] = [:]
  /// When the first packets are shown.
  private(set) var heads: [Key: [Int64]] = [:]
  /// When the last packets are shown, where not all were read.
  private(set) var tails: [Key: [Int64]] = [:]
  /// When these are decoded, where that is known of each.
  private var decodes: [Key: [Int64]] = [:]
  /// Where the first packets lie, without the container's own headers.
  private(set) var firsts: [Key: Range<Int64>] = [:]
  /// Whether every packet was looked at.
  var isWhole = false
  /// Whether the file does not say where its end should be.
  var mayEndAnywhere = false
  /// Whether parts that follow one another are of the same moments.
  var overlaps = false
  /// Whether the times of what comes now are kept: not where packets were left out before it, as those are no steps.
  var keepsTimes = true
  /// From now on packets are from the end of the file.
  var isAtEnd = false
  private let jump: PacketExtent.Jump

  /// Times of a stream that are kept from each end.
  static let mostTimes = 100_000

  /// - Parameter ahead: seconds from one packet to the next that are a jump.
  init(base: AVRational, ahead: Double) {
    self.base = base
    jump = PacketExtent.Jump(back: 0.3, ahead: ahead, in: base)
  }

  mutating func add(
    _ key: Key, at time: Int64, decoded: Int64? = nil, lasting duration: Int64 = 0,
    bytes: Range<Int64>? = nil,
    isFar: Bool = false
  ) {
    extents[key, default: PacketExtent(jump: jump)].add(
      time, decoded: decoded, lasting: duration, isFar: isFar || isAtEnd && tails[key] == nil)
    if isAtEnd {
      tails[key, default: []].append(time)
    } else if keepsTimes, heads[key, default: []].count < Self.mostTimes {
      heads[key, default: []].append(time)
      if let decoded { decodes[key, default: []].append(decoded) }
    }
    if firsts[key] == nil, let bytes { firsts[key] = bytes }
  }

  /// A packet whose time of showing is wrong.
  mutating func note(_ key: Key, decoded: Int64) {
    if !isAtEnd, decodes[key, default: []].count < Self.mostTimes {
      decodes[key, default: []].append(decoded)
    }
  }

  /// How long streams last together, of all where `keys` is nil; nil without times.
  func sum(of keys: Set<Key>? = nil) -> StretchSum? {
    let own = extents.filter { keys?.contains($0.key) ?? true }.values
    return StretchSum(own.sorted { $0.packets > $1.packets }.map { $0.seconds(in: base) })
  }

  /// When the last packet of streams ends, in seconds; of all where `keys` is nil.
  func end(of keys: Set<Key>? = nil) -> Double? {
    extents.filter { keys?.contains($0.key) ?? true }.values.flatMap { $0.seconds(in: base) }.map(
      \.upperBound
    ).max()
  }

  /// How fast the frames of a stream follow one another at the beginning; nil where too few are known.
  func pace(of key: Key) -> FramePace? {
    let isCut = !isWhole || mayEndAnywhere
    guard let shown = heads[key].flatMap({ FramePace($0, in: base, isCut: isCut) }) else { return nil }
    return shown.unless(decodes[key].flatMap { FramePace($0, in: base, isCut: isCut) })
  }

  /// The same at the end; nil where all were read, too.
  func paceAtEnd(of key: Key) -> FramePace? {
    tails[key].flatMap { FramePace($0, in: base, isCut: mayEndAnywhere) }
  }
}
