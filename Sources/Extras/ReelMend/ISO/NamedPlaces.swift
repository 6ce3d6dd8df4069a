import ReelCore
import ReelProbe

/// The references to positions in the file that are outside of sample tables: items (ISO/IEC 14496-12, 8.11.3),
/// fragments (8.8.7) and the index of segments (8.16.3). They are not adjusted when data moves, and a file in which one
/// would become wrong is refused.
struct NamedPlaces {
  let file: MovieFile
  let source: BoundedSource

  private static let largest: Int64 = 16 << 20

  /// Checks that these references hold in the mended file.
  /// - Throws: `notMendable`, `corrupt`.
  func check(_ mended: MendedFile) throws(MendError) {
    let places = mended.places
    guard !places.areThoseOfTheSource else { return }
    for range in try itemRanges() {
      if places.place(of: range.lowerBound, orEnd: range.isEmpty) == range.lowerBound { continue }
      throw MendError(
        .notMendable, "it refers to items by their positions in the file (iloc), which would change")
    }
    for box in file.boxes {
      // A box that is left out refers to nothing.
      guard let place = places.place(of: box.start) else { continue }
      if box.type == "sidx" { try checkSegments(box, places) }
      if box.type == "moof", place != box.start { try checkFragment(box) }
    }
  }

  /// Returns the bytes of items that are referred to by their positions in the file.
  func itemRanges() throws(MendError) -> [Range<Int64>] {
    var lists = [file.movie[["meta", "iloc"]]]
    for track in file.movie.boxes where track.type == "trak" { lists.append(track[["meta", "iloc"]]) }
    for item in file.items where item.type == "meta" {
      switch item.parts.first {
      case .bytes(let box)?: lists.append(MovieBox.children(of: box[...]).0.first?["iloc"])
      case .source(let range)?:
        guard let box = ISOBoxes(source, in: range, atMost: 1).first(where: { _ in true }),
          let bytes = bytes(of: box)
        else {
          throw MendError(.notMendable, "its list of items is too large for Reel to read")
        }
        lists.append(MovieBox(parsing: "meta", bytes[...])["iloc"])
      default: break
      }
    }
    var found: [Range<Int64>] = []
    for list in lists {
      guard let list else { continue }
      guard let ranges = ItemLocations.ranges(of: list.bytes) else {
        throw MendError(.corrupt, "its list of items contradicts itself; get a complete copy")
      }
      found += ranges
    }
    return found
  }

  private func bytes(of box: ISOBox) -> [UInt8]? {
    guard box.end - box.contents <= Self.largest else { return nil }
    let bytes = source.bytes(at: box.contents, count: Int(box.end - box.contents))
    return Int64(bytes.count) == box.end - box.contents ? bytes : nil
  }

  private func checkFragment(_ box: ISOBox) throws(MendError) {
    let tracks = bytes(of: box).map { MovieBox.children(of: $0[...]).0.filter { $0.type == "traf" } }
    let names = tracks?.contains { track in
      MovieBox.children(of: track.bytes[...]).0.contains {
        $0.type == "tfhd" && $0.bytes.bigEndian32(at: 0) & 1 != 0
      }
    }
    guard names == false else {
      throw MendError(
        .notMendable,
        "its fragments state their own positions in the file, which would change; merge its fragments as well",
        remedy: .unfragment)
    }
  }

  /// Checks an index of segments. They follow one another, and the first begins at a stated distance after the index.
  private func checkSegments(_ box: ISOBox, _ places: SourcePlaces) throws(MendError) {
    let wrong = MendError(
      .notMendable, "its segment index (sidx) would point to the wrong places; merge its fragments as well",
      remedy: .unfragment)
    guard let bytes = bytes(of: box), let version = bytes.first else { throw wrong }
    let first = version == 0 ? UInt64(bytes.bigEndian32(at: 16)) : bytes.bigEndian64(at: 20)
    let entries = version == 0 ? 20 : 28
    guard first < UInt64(1) << 60, let anchor = places.place(of: box.end, orEnd: true) else { throw wrong }
    var offset = Int64(first)
    for entry in 0...Int(bytes.bigEndian16(at: entries + 2)) {
      let end = box.end + offset
      guard end > source.size || places.place(of: end, orEnd: true) == anchor + offset else { throw wrong }
      offset += Int64(bytes.bigEndian32(at: entries + 4 + 12 * entry) & 0x7FFF_FFFF)
    }
  }
}

/// The locations of items (`iloc`).
enum ItemLocations {
  /// Returns the locations in this file; nil if `bytes` is no such list.
  static func ranges(of bytes: [UInt8]) -> [Range<Int64>]? {
    guard bytes.count >= 8 else { return nil }
    let version = bytes[0]
    let (offset, length) = (Int(bytes[4] >> 4), Int(bytes[4] & 15))
    let (base, index) = (Int(bytes[5] >> 4), version == 0 ? 0 : Int(bytes[5] & 15))
    guard version <= 2, [offset, length, base, index].allSatisfy({ [0, 4, 8].contains($0) }) else {
      return nil
    }
    var place = 6
    var isWhole = true
    func next(_ width: Int) -> UInt64 {
      guard place + width <= bytes.count else {
        isWhole = false
        return 0
      }
      defer { place += width }
      return bytes[place..<place + width].reduce(0) { $0 << 8 | UInt64($1) }
    }
    var found: [Range<Int64>] = []
    var items = next(version < 2 ? 2 : 4)
    while items > 0, isWhole {
      items -= 1
      _ = next(version < 2 ? 2 : 4)
      let method = version == 0 ? 0 : next(2) & 15
      let isHere = next(2) == 0 && method == 0
      let start = next(base)
      var extents = next(2)
      while extents > 0, isWhole {
        extents -= 1
        _ = next(index)
        let (first, count) = (start.addingReportingOverflow(next(offset)), next(length))
        guard isHere, isWhole else { continue }
        guard !first.overflow, first.partialValue < UInt64(1) << 60, count < UInt64(1) << 60 else {
          return nil
        }
        found.append(Int64(first.partialValue)..<Int64(first.partialValue + count))
      }
    }
    return isWhole ? found : nil
  }
}
