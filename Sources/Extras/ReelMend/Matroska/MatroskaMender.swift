import ReelCore
import ReelProbe

/// Writes what a Matroska or WebM file does not state about itself: its duration, where it ends, and where playback may
/// begin. Blocks are copied as they are.
///
/// The mended file states the sizes of the Segment and of each cluster. The index (Cues) comes before the first
/// cluster, so that a player that loads the file over a network need not search for it.
struct MatroskaMender {
  private let source: BoundedSource
  private(set) var done: Set<Mend> = []

  init(_ source: BoundedSource) {
    self.source = source
  }

  /// Returns the parts of the mended file. Afterwards, ``done`` says what was mended. It is empty if nothing needed
  /// mending.
  /// - Throws: `notMendable`, `corrupt`, and the error that stops the reading.
  mutating func mend(_ mends: Set<Mend>) throws(MendError) -> MendedFile {
    guard mends.isSubset(of: [.duration, .salvage, .faststart, .unfragment, .credentials]) else {
      throw MendError(
        .notMendable,
        "what was asked for can be mended only in MP4 and related formats, not in Matroska and WebM")
    }
    let head = try MatroskaHead(source)
    let credentials = MatroskaCredentials(in: head.segment, of: source)
    let drops = mends.contains(.credentials) && !credentials.places.isEmpty
    let layout = try searchable(mends, head)
    guard !done.isEmpty || drops else { return MendedFile() }
    guard drops || credentials.places.isEmpty else { throw MovieMender.wouldVoidCredentials }
    if drops { done.insert(.credentials) }
    if var layout {
      if drops { layout.dropped = credentials }
      return try layout.mended()
    }
    return MendedFile(parts: credentials.dropped(from: 0..<source.size))
  }

  /// Returns the layout of the file with its duration and an index; nil if none is to be written.
  private mutating func searchable(
    _ mends: Set<Mend>, _ head: MatroskaHead
  ) throws(MendError) -> MatroskaLayout? {
    // The other mends have no effect: a Matroska file can be streamed as it is, because its clusters hold what an MP4
    // has in its index.
    let mends = mends.intersection([.duration, .salvage])
    let mayBeCut = head.segment.end.map { $0 > source.size } ?? true
    guard !mends.isEmpty, mayBeCut || mends.contains(.duration) && !head.isSearchable(ofSize: source.size)
    else {
      return nil
    }
    let file = try MatroskaFile(source, head)
    guard !file.isCut || mends.contains(.salvage) else { throw MovieMender.cutOff }
    guard file.isCut || mends.contains(.duration) else { return nil }
    let isStated = head.segment.end != nil && head.statesDuration(ofSize: source.size)
    // Without a key frame, an index would have nothing to lead to.
    guard file.isCut || !isStated || file.cues != nil else { return nil }
    guard let duration = file.duration, duration > 0 else {
      throw MendError(.notMendable, "none of its pictures or sound is present; get a complete copy")
    }
    if file.isCut { done.insert(.salvage) }
    if mends.contains(.duration) { done.insert(.duration) }
    return try MatroskaLayout(file, duration: duration, source)
  }
}
