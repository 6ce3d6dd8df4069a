import ReelProbe

/// Content Credentials among the attachments of a Matroska file (RFC 9559, 5.1.6).
struct MatroskaCredentials {
  /// The attached files, and the checksums that would be wrong without them, in order.
  private(set) var places: [Range<Int64>] = []

  private static let mostElements = 1_000_000

  /// Finds all attachments except those after clusters of unknown size.
  init(in segment: EBMLElement, of source: BoundedSource) {
    let end = min(segment.end ?? source.size, source.size)
    var next = segment.contents
    for _ in 0..<Self.mostElements where next < end {
      guard let element = EBMLElement(source, at: next), let elementEnd = element.end else { return }
      if element.id == MatroskaID.attachments { take(element.elements(in: source), source) }
      next = elementEnd
    }
  }

  private mutating func take(_ parts: [EBMLElement], _ source: BoundedSource) {
    let manifests = parts.filter { $0.id == MatroskaID.attachedFile && Self.isManifest($0, source) }
    guard !manifests.isEmpty else { return }
    let stale = parts.filter { $0.id == MatroskaID.checksum } + manifests
    places += stale.compactMap { part in part.end.map { part.start..<$0 } }
  }

  private static func isManifest(_ file: EBMLElement, _ source: BoundedSource) -> Bool {
    file.elements(in: source).contains { part in
      guard let end = part.end else { return false }
      let bytes = source.bytes(at: part.contents, count: Int(min(64, end - part.contents)))
      switch part.id {
      case MatroskaID.fileMediaType:
        return ContentCredentials.isManifest(
          mediaType: String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
      case MatroskaID.fileData: return ContentCredentials.isManifest(bytes[...])
      default: return false
      }
    }
  }

  /// Returns a part of the source with Void elements in place of those in ``places``.
  func dropped(from range: Range<Int64>) -> [MendedFile.Part] {
    var (parts, next): ([MendedFile.Part], Int64) = ([], range.lowerBound)
    for place in places where place.lowerBound >= next && place.upperBound <= range.upperBound {
      if place.lowerBound > next { parts.append(.source(next..<place.lowerBound)) }
      parts += EBMLWriter.void(place.upperBound - place.lowerBound)
      next = place.upperBound
    }
    if next < range.upperBound { parts.append(.source(next..<range.upperBound)) }
    return parts
  }
}
