import ReelCore
import ReelProbe

/// The elements before the first cluster of a Matroska file.
struct MatroskaHead {
  let segment: EBMLElement
  /// The number of nanoseconds in a tick of the Segment.
  private(set) var scale: UInt64 = 1_000_000
  /// The stated duration, in ticks of the Segment.
  private(set) var duration: Double?
  private(set) var clocks: [TrackClock] = []
  /// Whether there is an index, or at most one cluster to which it could lead.
  private(set) var hasCues = false

  private static let mostElements = 100_000

  /// - Throws: `corrupt`, `notMendable`.
  init(_ source: BoundedSource) throws(MendError) {
    guard let header = EBMLElement(source, at: 0), header.id == MatroskaID.header, let end = header.end,
      let segment = EBMLElement(source, at: end), segment.id == MatroskaID.segment
    else { throw MatroskaCluster.damaged }
    for element in header.elements(in: source) {
      let most: UInt64 =
        element.id == MatroskaID.longestID ? 4 : element.id == MatroskaID.longestSize ? 8 : .max
      guard element.number(in: source) ?? 0 <= most || most == .max else {
        throw MendError(.notMendable, "its element IDs or sizes may be longer than Matroska allows")
      }
    }
    self.segment = segment
    try readElements(source)
    guard !clocks.isEmpty else {
      throw MendError(.notMendable, "it does not describe its tracks before its pictures and sound begin")
    }
    guard !clocks.contains(where: \.hasOwnScale) else {
      throw MendError(.notMendable, "one of its tracks has a timescale of its own (TrackTimestampScale)")
    }
  }

  private mutating func readElements(_ source: BoundedSource) throws(MendError) {
    let end = min(segment.end ?? source.size, source.size)
    var (next, hasInfo, clusters) = (segment.contents, false, 0)
    for _ in 0..<Self.mostElements where next < end {
      guard let element = EBMLElement(source, at: next) else { break }
      switch element.id {
      case MatroskaID.info:
        hasInfo = true
        for part in element.elements(in: source) {
          if part.id == MatroskaID.timestampScale { scale = part.number(in: source) ?? 0 }
          if part.id == MatroskaID.duration { duration = part.real(in: source) }
        }
      case MatroskaID.tracks:
        for entry in element.elements(in: source) where entry.id == MatroskaID.entry {
          if let clock = TrackClock(entry, in: source) { clocks.append(clock) }
        }
      case MatroskaID.cues: hasCues = true
      case MatroskaID.cluster: clusters += 1
      default: break
      }
      // If a file states where its clusters end, step over all of them to what follows.
      guard let elementEnd = element.end, element.id != MatroskaID.cluster || !hasCues else { break }
      next = elementEnd
    }
    if clusters <= 1, next >= end { hasCues = true }
    guard hasInfo, (1...1_000_000_000).contains(scale) else { throw MatroskaCluster.damaged }
  }

  /// The track at whose key frames playback may begin: video, otherwise sound.
  var cueTrack: UInt64? {
    (clocks.first { $0.kind == .video } ?? clocks.first { $0.kind == .audio })?.number
  }

  /// Returns whether it states a duration that a file of `size` bytes may have.
  func statesDuration(ofSize size: Int64) -> Bool {
    duration.map { FoundDuration.isPlausible($0 * Double(scale) / 1e9, size: size) } ?? false
  }

  /// Returns whether it states its size and its duration, and has an index.
  func isSearchable(ofSize size: Int64) -> Bool {
    segment.end != nil && hasCues && statesDuration(ofSize: size)
  }
}
