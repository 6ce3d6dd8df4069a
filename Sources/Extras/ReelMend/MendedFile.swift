/// A file to be written, as a sequence of parts: bytes of the source, and bytes of its own.
struct MendedFile {
  enum Part: Hashable {
    /// Bytes of the source.
    case source(Range<Int64>)
    case bytes([UInt8])
    case zeros(Int64)

    var count: Int64 {
      switch self {
      case .source(let range): range.upperBound - range.lowerBound
      case .bytes(let bytes): Int64(bytes.count)
      case .zeros(let count): count
      }
    }
  }
  var parts: [Part] = []

  var size: Int64 { parts.reduce(0) { $0 + $1.count } }

  /// The positions of the source's bytes in it.
  var places: SourcePlaces { SourcePlaces(self) }
}

/// The positions of the source's bytes in a file that is to be written.
struct SourcePlaces {
  private struct Place {
    let source: Range<Int64>
    let start: Int64
  }
  /// Ordered by their position in the source.
  private let places: [Place]

  fileprivate init(_ file: MendedFile) {
    var (places, start): ([Place], Int64) = ([], 0)
    for part in file.parts {
      if case .source(let range) = part, !range.isEmpty { places.append(Place(source: range, start: start)) }
      start += part.count
    }
    self.places = places.sorted { $0.source.lowerBound < $1.source.lowerBound }
  }

  /// Whether every byte that is kept is at its old position.
  var areThoseOfTheSource: Bool { places.allSatisfy { $0.source.lowerBound == $0.start } }

  /// Returns the new position of the byte at `offset` of the source; nil if it is left out.
  ///
  /// - Parameter orEnd: whether the end of a part counts, too, as needed for something empty.
  func place(of offset: Int64, orEnd: Bool = false) -> Int64? {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].source.lowerBound <= offset { low = middle + 1 } else { high = middle }
    }
    guard low > 0, offset < places[low - 1].source.upperBound + (orEnd ? 1 : 0) else { return nil }
    return places[low - 1].start + offset - places[low - 1].source.lowerBound
  }
}
