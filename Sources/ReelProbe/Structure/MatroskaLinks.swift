/// What a Matroska file says of other files that are played with it (RFC 9559, 17, "Linked Segments").
struct MatroskaLinks: Hashable {
  /// Whether it names a file before or after it, or a family that it belongs to (5.1.2.3 to 5.1.2.7).
  private(set) var isLinked = false
  /// Whether a chapter plays a part of another file (5.1.7.1.4, ChapterSegmentUUID).
  private(set) var chaptersPointOutside = false

  private enum ID {
    static let seekHead: UInt32 = 0x114D_9B74
    static let seek: UInt32 = 0x4DBB
    static let seekID: UInt32 = 0x53AB
    static let seekPosition: UInt32 = 0x53AC
    static let info: UInt32 = 0x1549_A966
    static let segmentUUID: UInt32 = 0x73A4
    static let others: Set<UInt32> = [0x3CB923, 0x3C83AB, 0x3EB923, 0x3E83BB, 0x4444]
    static let chapters: UInt32 = 0x1043_A770
    static let edition: UInt32 = 0x45B9
    static let chapter: UInt32 = 0xB6
    static let chapterSegment: UInt32 = 0x6E67
  }
  /// Elements that are looked at among the chapters, on all levels.
  private static let mostElements = 65_536

  init() {}

  init(in segment: EBMLElement, of file: some ByteReading) {
    let outermost = segment.children(in: file)
    let info = outermost.first { $0.id == ID.info }.map { $0.children(in: file) } ?? []
    isLinked = info.contains { ID.others.contains($0.id) }
    let own = info.first { $0.id == ID.segmentUUID }.flatMap { Self.identifier($0, in: file) }
    let chapters =
      outermost.first { $0.id == ID.chapters } ?? Self.soughtChapters(outermost, in: segment, of: file)
    chaptersPointOutside = chapters.map { Self.pointOutside($0, own: own, in: file) } ?? false
  }

  /// About "it"; nil when all of it is here.
  var sentence: String? {
    if chaptersPointOutside { return "its chapters play parts of other files, which are not in it" }
    return isLinked ? "it is one of several linked files; what lies in the others is not in it" : nil
  }

  /// Chapters that were added later stand behind the clusters; the seek head tells where (5.1.1).
  private static func soughtChapters(
    _ outermost: [EBMLElement], in segment: EBMLElement, of file: some ByteReading
  ) -> EBMLElement? {
    let seeks = outermost.first { $0.id == ID.seekHead }.map { $0.children(in: file) } ?? []
    for seek in seeks where seek.id == ID.seek {
      let parts = seek.children(in: file)
      guard parts.contains(where: { $0.id == ID.seekID && number($0, in: file) == UInt64(ID.chapters) }),
        let position = parts.first(where: { $0.id == ID.seekPosition }).flatMap({ number($0, in: file) }),
        position < UInt64(file.size)
      else { continue }
      let found = EBMLElement(file, at: segment.contents + Int64(position))
      return found?.id == ID.chapters ? found : nil
    }
    return nil
  }

  /// Editions and chapters, which lie in one another, are entered; everything else is stepped over.
  private static func pointOutside(
    _ chapters: EBMLElement, own: [UInt8]?, in file: some ByteReading
  ) -> Bool {
    let end = min(chapters.end ?? file.size, file.size)
    var next = chapters.contents
    for _ in 0..<mostElements where next < end {
      guard let element = EBMLElement(file, at: next) else { return false }
      switch element.id {
      case ID.edition, ID.chapter: next = element.contents
      case ID.chapterSegment where identifier(element, in: file) != own: return true
      default:
        guard let elementEnd = element.end else { return false }
        next = elementEnd
      }
    }
    return false
  }

  /// The 16 bytes that name a segment; nil for anything else.
  private static func identifier(_ element: EBMLElement, in file: some ByteReading) -> [UInt8]? {
    guard let end = element.end, end - element.contents == 16 else { return nil }
    let bytes = file.bytes(at: element.contents, count: 16)
    return bytes.count == 16 ? bytes : nil
  }

  private static func number(_ element: EBMLElement, in file: some ByteReading) -> UInt64? {
    guard let end = element.end, (1...8).contains(end - element.contents) else { return nil }
    return file.bigEndian(at: element.contents, width: Int(end - element.contents))
  }
}
