/// What the outermost elements of a Matroska file tell (RFC 9559).
struct MatroskaFileMap: Hashable {
  /// `matroska` or `webm`.
  private(set) var docType: String?
  /// Whether the file ends before its own account says; nil when it gives no account.
  private(set) var truncated: Bool?
  /// Where the segment ends by its own account; nil without one.
  private(set) var segmentEnd: Int64?
  private var segmentStart: Int64?
  /// Its video tracks, in their order; none if they are behind the first cluster.
  private(set) var videoTracks: [MatroskaVideoTrack] = []
  /// Its tracks by number and type; none if they are behind the first cluster.
  private(set) var trackList: MatroskaTrackList?
  /// The files with which a player would continue.
  private(set) var links = MatroskaLinks()

  /// The most clusters of a live recording to look at: of a second each, those of five hours.
  private static let mostElements = 20_000

  init(_ file: some ByteReading) {
    guard let header = EBMLElement(file, at: 0), header.id == MatroskaID.header, let headerEnd = header.end
    else {
      return
    }
    docType = Self.docType(in: header, until: headerEnd, of: file)
    guard let segment = EBMLElement.segment(in: file, from: headerEnd) else { return }
    videoTracks = MatroskaVideoTrack.all(in: segment, of: file)
    trackList = MatroskaTrackList(in: segment, of: file)
    links = MatroskaLinks(in: segment, of: file)
    (segmentStart, segmentEnd) = (segment.contents, segment.end)
    if let end = segment.end {
      truncated = end > file.size
    } else {
      truncated = Self.lastElementIsCut(in: segment, of: file)
    }
  }

  /// Returns where the outermost element at `place` ends; nil for a cluster.
  func endWithoutMedia(at place: Int64, in file: some ByteReading) -> Int64? {
    guard var next = segmentStart else { return nil }
    for _ in 0..<Self.mostElements where next <= place {
      guard let element = EBMLElement(file, at: next), let end = element.end else { return nil }
      if end > place {
        return element.id != MatroskaID.cluster && MatroskaID.inSegment.contains(element.id) ? end : nil
      }
      next = end
    }
    return nil
  }

  private static func docType(
    in header: EBMLElement, until end: Int64, of file: some ByteReading
  ) -> String? {
    var next = header.contents
    for _ in 0..<32 where next < end {
      guard let element = EBMLElement(file, at: next), let elementEnd = element.end else { return nil }
      if element.id == MatroskaID.docType {
        let length = Int(min(16, elementEnd - element.contents))
        return String(
          validating: file.bytes(at: element.contents, count: length).filter { $0 != 0 }, as: UTF8.self)
      }
      next = elementEnd
    }
    return nil
  }

  /// Whether an element of a segment of unknown size is cut off. True if one of known size ends beyond the file,
  /// false if the last one ends with it, nil if one of unknown size, or something that is not an element, comes
  /// before.
  private static func lastElementIsCut(in segment: EBMLElement, of file: some ByteReading) -> Bool? {
    var next = segment.contents
    for _ in 0..<mostElements {
      if next == file.size { return false }
      guard let element = EBMLElement(file, at: next), MatroskaID.inSegment.contains(element.id),
        let end = element.end
      else { return nil }
      if end > file.size { return true }
      next = end
    }
    return nil
  }
}
