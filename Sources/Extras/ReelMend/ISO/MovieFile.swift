import ReelCore
import ReelProbe

/// An MP4 or a related file, taken apart: its index, which can be changed, and the positions of everything else.
struct MovieFile {
  /// A box on the outermost level, or bytes there that are no box.
  struct Item: Hashable {
    let type: FourCharacterCode
    var parts: [MendedFile.Part]

    /// The type of bytes that are no box.
    static let noBox = FourCharacterCode([])
    /// Whether this is the index.
    var isMovie: Bool { type == "moov" }
  }
  var items: [Item]
  var movie: MovieBox
  /// The size of the index in the source, in bytes.
  let movieSize: Int64
  /// The boxes of the source.
  let boxes: [ISOBox]
  /// The size of the source in bytes.
  let size: Int64

  /// The largest index, in bytes. It is held in memory, several times over.
  private static let largestMovie: Int64 = 48 << 20
  private static let mostBoxes = 1_000_000

  /// - Throws: `indexMissing`, `notMendable`, `corrupt`, and the error that stops the reading.
  init(_ source: BoundedSource) throws(MendError) {
    size = source.size
    boxes = ISOBoxes(source, in: 0..<source.size, atMost: Self.mostBoxes)
      .prefix { $0.isPart(ofFileOf: source.size) }
    let damaged = TextTransfer.hasChanged(source) ? MendError(.corrupt, TextTransfer.sentence) : nil
    guard let index = boxes.firstIndex(where: { $0.type == "moov" }) else {
      throw damaged
        ?? MendError(
          .indexMissing, "its index (moov) is missing and can't be reconstructed; get a complete copy")
    }
    let box = boxes[index]
    guard box.end <= source.size, box.end - box.start <= Self.largestMovie else {
      throw box.end > source.size
        ? damaged ?? MendError(.indexMissing, "it was cut off within its index (moov); get a complete copy")
        : MendError(.notMendable, "its index is larger than Reel can mend (\(Self.largestMovie >> 20) MiB)")
    }
    guard boxes.count(where: { $0.type == "moov" }) == 1 else {
      throw MendError(.notMendable, "it has more than one index (moov)")
    }
    let bytes = source.bytes(at: box.contents, count: Int(box.end - box.contents))
    guard bytes.count == Int(box.end - box.contents) else {
      throw MendError(.unreadable, "its index could not be read; check the disk it is on")
    }
    movie = MovieBox(parsing: "moov", bytes[...])
    movieSize = box.end - box.start
    // Phones announce fragments while they record, and then write a single index after all.
    isFragmented = boxes.contains { $0.type == "moof" } || movie["mvex"] != nil && !movie.hasSamples
    let size = source.size
    items = boxes.map { box in
      Item(type: box.type, parts: [.source(box.start..<min(box.end, size))])
    }
    // Bytes after the last box that are no box are part of the file, too.
    let end = boxes.last.map { min($0.end, size) } ?? 0
    if end < size { items.append(Item(type: Item.noBox, parts: [.source(end..<size)])) }
  }

  /// Whether it is made of movie fragments, or has an index without samples that announces them.
  private(set) var isFragmented: Bool

  /// Whether its last box extends beyond the end of the file.
  var isCutOff: Bool { boxes.last.map { $0.end > size } ?? true }

  /// Notes that its index now includes its fragments.
  mutating func joinsFragments() { isFragmented = false }

  /// Puts the index before the first media data.
  /// - Returns: whether it was not there before.
  mutating func moveMovieFirst() -> Bool {
    guard let place = items.firstIndex(where: \.isMovie),
      let media = items.firstIndex(where: { $0.type == "mdat" }), media < place
    else { return false }
    items.insert(items.remove(at: place), at: media)
    return true
  }

  /// Returns the mended file, in which the index names every position correctly.
  /// - Throws: `notMendable`, `corrupt`.
  func mended(_ source: BoundedSource) throws(MendError) -> MendedFile {
    var movie = movie
    // Positions that need 64 bits make the index larger, which moves them once more.
    for _ in 0..<4 {
      let file = laidOut(movie.serialized)
      var moved = movie
      let move = moved.moveChunks(to: file.places)
      if move.isLost, move.isMoved {
        throw MendError(
          .notMendable,
          "its index refers to positions outside its media data: it is damaged or was cut off",
          remedy: .salvage)
      }
      if move.needsMore {
        movie = try movie.withWideChunkOffsets()
        continue
      }
      // The list of fragments names their positions. If those moved, the proof would fail.
      if isFragmented, boxes.contains(where: { $0.type == "mfra" }), movesFragments(file) {
        throw MendError(
          .notMendable,
          "its index would grow, and its list of fragments (mfra) can't be adjusted; merge its fragments as well",
          remedy: .unfragment)
      }
      let whole = laidOut(moved.serialized)
      try NamedPlaces(file: self, source: source).check(whole)
      return whole
    }
    throw MendError(.notMendable, "no consistent layout was found for its index")
  }

  private func movesFragments(_ file: MendedFile) -> Bool {
    let places = file.places
    return boxes.contains { $0.type == "moof" && places.place(of: $0.start) != $0.start }
  }

  private func laidOut(_ movie: [UInt8]) -> MendedFile {
    var file = MendedFile()
    guard let place = items.firstIndex(where: \.isMovie) else { return file }
    // If the index comes before the data to which it refers and has become smaller, everything else keeps its position.
    let left = movieSize - Int64(movie.count)
    let wasAt = boxes.firstIndex { $0.type == "moov" } ?? 0
    let isInPlace = items[..<place].map(\.type) == boxes[..<wasAt].map(\.type)
    let keepsPlaces =
      left >= 8 && isInPlace && items[place...].contains { $0.type == "mdat" || $0.type == "moof" }
    for item in items {
      guard item.isMovie else {
        file.parts += item.parts
        continue
      }
      file.parts.append(.bytes(movie))
      if keepsPlaces { file.parts += Self.free(left) }
    }
    return file
  }
}
