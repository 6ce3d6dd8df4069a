/// What a Matroska file says about other files that are played with it (RFC 9559, 17, "Linked Segments").
struct MatroskaLinks: Hashable {
  /// Whether it names a file before or after it, or a family to which it belongs (5.1.2.3 to 5.1.2.7).
  private(set) var isLinked = false
  /// Whether a chapter plays a part of another file (5.1.7.1.4, ChapterSegmentUUID).
  private(set) var chaptersPointOutside = false
  /// The seconds that its chapters last, if only these are to be played, in their own order (20.1.3,
  /// "Ordered-Edition").
  private(set) var orderedSeconds: Double?

  /// The most elements to look at among the chapters, on all levels.
  private static let mostElements = 65_536

  init() {}

  init(in segment: EBMLElement, of file: some ByteReading) {
    let outermost = segment.children(in: file)
    let info = outermost.first { $0.id == MatroskaID.info }.map { $0.children(in: file) } ?? []
    isLinked = info.contains { MatroskaID.linkedFiles.contains($0.id) }
    let own = info.first { $0.id == MatroskaID.segmentUUID }.flatMap { Self.identifier($0, in: file) }
    // Chapters that were added later are behind the clusters.
    let chapters =
      outermost.first { $0.id == MatroskaID.chapters }
      ?? segment.sought(MatroskaID.chapters, from: outermost, in: file)
    chaptersPointOutside = chapters.map { Self.pointOutside($0, own: own, in: file) } ?? false
    if !chaptersPointOutside { orderedSeconds = chapters.flatMap { Self.orderedSeconds($0, in: file) } }
  }

  /// A sentence about "it"; nil if all of it is in this file.
  var sentence: String? {
    if chaptersPointOutside { return "its chapters play parts of other files, which are not in it" }
    return isLinked ? "it is one of several linked files; it does not contain what is in the others" : nil
  }

  /// Whether a chapter plays another segment than `own`. Enters editions and chapters, which are nested, and skips
  /// everything else.
  private static func pointOutside(
    _ chapters: EBMLElement, own: [UInt8]?, in file: some ByteReading
  ) -> Bool {
    let end = min(chapters.end ?? file.size, file.size)
    var next = chapters.contents
    for _ in 0..<mostElements where next < end {
      guard let element = EBMLElement(file, at: next) else { return false }
      switch element.id {
      case MatroskaID.edition, MatroskaID.chapter: next = element.contents
      case MatroskaID.chapterSegmentUUID where identifier(element, in: file) != own: return true
      default:
        guard let elementEnd = element.end else { return false }
        next = elementEnd
      }
    }
    return false
  }

  /// Returns the duration in seconds of the ordered chapters of the default edition, otherwise of the first.
  private static func orderedSeconds(_ chapters: EBMLElement, in file: some ByteReading) -> Double? {
    func number(_ id: UInt32, _ parts: [EBMLElement]) -> UInt64? {
      parts.first { $0.id == id }.flatMap { $0.number(in: file) }
    }
    func parts(_ id: UInt32, of all: [EBMLElement]) -> [[EBMLElement]] {
      all.filter { $0.id == id }.prefix(mostChapters).map { $0.children(in: file) }
    }
    let editions = parts(MatroskaID.edition, of: chapters.children(in: file))
    let shown = editions.first { number(MatroskaID.editionFlagDefault, $0) == 1 } ?? editions.first
    guard let shown, number(MatroskaID.editionFlagOrdered, shown) == 1 else { return nil }
    let all = parts(MatroskaID.chapter, of: shown)
    guard all.count < mostChapters else { return nil }
    var sum = 0.0
    for chapter in all where number(MatroskaID.chapterEnabled, chapter) != 0 {
      // A chapter whose end is not known makes the total unknown.
      guard let start = number(MatroskaID.chapterStart, chapter),
        let end = number(MatroskaID.chapterEnd, chapter), end > start
      else { return nil }
      sum += Double(end - start) / 1e9
    }
    return sum > 0 ? sum : nil
  }

  private static let mostChapters = 4096

  /// Returns the 16 bytes that identify a segment; nil for anything else.
  private static func identifier(_ element: EBMLElement, in file: some ByteReading) -> [UInt8]? {
    guard let end = element.end, end - element.contents == 16 else { return nil }
    let bytes = file.bytes(at: element.contents, count: 16)
    return bytes.count == 16 ? bytes : nil
  }
}
