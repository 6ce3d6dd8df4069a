import ReelCore
import ReelProbe

/// Writes what a Matroska or WebM file does not say of itself: how long it is, where it ends, and where a player may begin.
/// Blocks are copied as they are.
///
/// Sizes are known then, of the Segment and of each cluster; the index (Cues) stands before the first cluster, so that a
/// player that loads the file over a network need not look for it.
struct MatroskaMender {
  private let source: BoundedSource
  private(set) var done: Set<Mend> = []

  init(_ source: BoundedSource) {
    self.source = source
  }

  /// What the mended file is made of. ``done`` says then what was to be mended; nothing, where it is well.
  /// - Throws: `notMendable`, `corrupt`, and what stops the reading.
  mutating func mend(_ mends: Set<Mend>) throws(MendError) -> MendedFile {
    guard mends.isSubset(of: [.duration, .salvage, .faststart, .unfragment, .credentials]) else {
      throw MendError(
        .notMendable, "what was asked for can be mended in MP4 and its kin only, not in Matroska and WebM")
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

  /// The file with its duration and an index; nil where nothing of it is to be written.
  private mutating func searchable(
    _ mends: Set<Mend>, _ head: MatroskaHead
  ) throws(MendError) -> MatroskaLayout? {
    // It is streamed as it is: what stands in an index of MP4 stands in its clusters.
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
    // Without a key frame there is nothing that an index could lead to.
    guard file.isCut || !isStated || file.cues != nil else { return nil }
    guard let duration = file.duration, duration > 0 else {
      throw MendError(.notMendable, "nothing of its pictures and sound is there; get a complete copy")
    }
    if file.isCut { done.insert(.salvage) }
    if mends.contains(.duration) { done.insert(.duration) }
    return try MatroskaLayout(file, duration: duration, source)
  }
}
