/// The layout of an ISO base media file, and what its boxes tell without its media.
struct ISOFileMap: Hashable {
  /// The major brand of `ftyp`; nil when there is none, as in old QuickTime files.
  private(set) var majorBrand: FourCharacterCode?
  /// The `moov` box, the index.
  private(set) var movie: ISOBox?
  /// Where the first `mdat` begins.
  private(set) var firstMediaData: Int64?
  /// The number of `moof` boxes. An `mvex` in `moov` only promises them.
  private(set) var fragments = 0
  /// Whether it announces fragments (`mvex`).
  private(set) var promisesFragments = false
  /// The duration in `mvhd`, and the unit in which it is counted.
  private(set) var movieHeader: MovieHeader?
  /// Its tracks, in the order of the file.
  private(set) var tracks: [ISOTrack] = []
  /// The duration that `mehd` claims for all fragments, in ticks of the movie; nil if it claims none.
  private(set) var fragmentsTicks: UInt64?
  /// The title and the artist in the movie's own user data.
  private(set) var texts = MovieTexts()
  /// The formats of the sample entries of all tracks, in the order of the file.
  private(set) var sampleFormats: [FourCharacterCode] = []
  /// What its boxes disclose.
  private(set) var disclosures = Disclosures()
  /// What its fragments hold by their own tables; nil without fragments, and if these are too many to be read.
  private(set) var fragmentTable: MovieFragments?
  /// Whether the last box ends beyond the file; nil if not all of them were looked at.
  private(set) var endsBeyondFile: Bool? = false
  /// The contents of the media data boxes, as far as they are in the file; of many boxes, the first ones and the
  /// last.
  private(set) var media: [Range<Int64>] = []
  /// Where the last box that was looked at ends.
  private(set) var end: Int64 = 0
  /// Where the media ends to which segment indexes refer; 0 without such an index.
  private var indexedEnd: Int64 = 0
  /// Whether a segment index, or the last fragment, refers to bytes beyond the end of the file.
  private(set) var refersBeyondFile = false
  /// Whether bytes that are no known box follow the last one that is.
  private(set) var hasRest = false
  /// Whether bytes that are no box come before other fragments, so that players stop there.
  private(set) var losesFragments = false
  /// Whether another file with samples of its own was appended to this one; players stop before it.
  private(set) var hasAnother = false
  /// Whether another file begins after the media.
  private var beginsAnew = false
  /// Whether `moov` ends beyond the file.
  private(set) var movieIsCut = false

  /// The ranges of boxes on the outermost level that hold no samples, and of the headers of those that do.
  private var withoutMedia: [Range<Int64>] = []
  /// The kinds of boxes that hold no samples.
  private static let kindsWithoutMedia: Set<FourCharacterCode> = [
    "ftyp", "moov", "free", "skip", "udta", "uuid",
  ]

  /// The track whose boxes are being read.
  private var track = ISOTrack()
  /// Its sample entries.
  private var entries: [ISOBox] = []
  /// Where its samples are.
  private var references = DataReferences()
  /// Whether the samples of each track of pictures or sound are in another file; nil for one that does not say.
  private var tracksAreExternal: [Bool?] = []
  private var hasUnnamed = false
  /// Whether `moov` names other movies to be played in its place (QuickTime File Format, "Reference movies").
  private var namesOtherMovies = false

  /// The most boxes to look at on the outermost level. Two hours of fragments of a second each have 14400.
  static let mostBoxes = 65_536
  /// The bytes to search for fragments behind bytes that are no box.
  private static let searched: Int64 = 16 << 20
  /// The most boxes to look at within another one.
  private static let mostInnerBoxes = 1024
  /// The most fragments whose tables are read; in a remote file each takes a request.
  private static let mostFragmentsAfar = 16
  private static let mostFragments = 20_000
  /// The fragments to search for disclosures: what they contain besides samples is the same in each.
  private static let searchedFragments = 4
  /// The most sample entries to look at in a track, as many as FFmpeg reads.
  private static let mostEntries = 1024

  init(_ file: some ByteReading) {
    var (boxes, knownEnd): (Int, Int64) = (0, 0)
    var (parts, mediaBefore): ([MovieFragments.Part], Int64) = ([], 0)
    for box in ISOBoxes(file, in: 0..<file.size, atMost: Self.mostBoxes) {
      guard box.isPart(ofFileOf: file.size) else { break }
      note(box, in: file)
      if box.type == "moof" {
        parts.append(MovieFragments.Part(box: box))
      } else if box.type == "mdat", !parts.isEmpty {
        parts[parts.count - 1].media += box.end - box.contents
        parts[parts.count - 1].missing += max(0, box.end - file.size)
        if box.end > box.contents { parts[parts.count - 1].lastMedia = box.contents }
      } else if box.type == "mdat" {
        mediaBefore += box.end - box.contents
      }
      (boxes, end) = (boxes + 1, box.end)
      if box.isKnown { knownEnd = box.end }
    }
    refersBeyondFile = indexedEnd > file.size
    if fragments == 0 {
      for place in tracks.indices { tracks[place].present(movieScale: movieHeader?.timescale) }
    } else if let movie, !movieIsCut, fragments <= (file.isFar ? Self.mostFragmentsAfar : Self.mostFragments)
    {
      // Encrypted media data may also hold what a decryptor needs.
      fragmentTable = MovieFragments(
        file, movie: movie, movieScale: movieHeader?.timescale, tracks: tracks, parts: parts,
        mediaBefore: mediaBefore, holdsAll: !encrypted)
      if fragmentTable?.endsBeyondFile == true { refersBeyondFile = true }
      // A writer may have reserved more space than it used.
      if parts.last?.missing ?? 0 > 0, fragmentTable?.endsWithin == true { endsBeyondFile = false }
    }
    hasRest = boxes < Self.mostBoxes && knownEnd < file.size
    if promisesFragments, hasRest, !file.isFar {
      let behind = knownEnd..<min(file.size, knownEnd.addingClamped(Self.searched))
      losesFragments = ISOBox.hasFragment(file, in: behind)
    }
    // In a remote file, this takes another look only if something follows the boxes.
    if !file.isFar || end < file.size, CameraTrailer.tellsPosition(file) { disclosures.note(.location) }
    guard end < file.size else { return }
    if boxes == Self.mostBoxes || losesFragments { endsBeyondFile = nil }
    // What follows the last box and is not a box.
    disclosures.look(into: file.bytes(at: end, count: PlaceSearch.looked)[...])
  }

  /// Whether the index precedes the media data; nil if one of them is missing.
  var fastStart: Bool? {
    guard let movie, let firstMediaData else { return nil }
    return movie.start < firstMediaData
  }

  /// Whether a track's samples are encrypted: common encryption (ISO/IEC 23001-7) or Apple's own.
  var encrypted: Bool {
    let marks: [FourCharacterCode] = ["encv", "enca", "enct", "encs", "drmi", "drms"]
    return sampleFormats.contains { marks.contains($0) }
  }

  /// Whether pictures or sound are in other files; nil if a track does not say, or if there is none.
  var external: Bool? {
    if namesOtherMovies || tracksAreExternal.contains(true) { return true }
    if hasUnnamed, firstMediaData == nil, !hasNoSamples { return true }
    return tracksAreExternal.isEmpty || tracksAreExternal.contains(nil) ? nil : false
  }

  /// Whether `place` can't hold a sample.
  func isWithoutMedia(_ place: Int64) -> Bool { endWithoutMedia(at: place) != nil }

  /// Returns where the box or header at `place` ends; nil if samples may be there.
  func endWithoutMedia(at place: Int64) -> Int64? { withoutMedia.first { $0.contains(place) }?.upperBound }

  /// The track with an id.
  func track(_ id: UInt32) -> ISOTrack? { tracks.first { $0.id == id } }

  /// The seconds that `mehd` claims for all fragments; nil if it claims none.
  var fragmentsSeconds: Double? {
    guard let fragmentsTicks, let scale = movieHeader?.timescale else { return nil }
    return Double(fragmentsTicks) / Double(scale)
  }

  /// Returns the seconds that a track waits before its first sample: an edit list may begin with an empty edit
  /// (8.6.6).
  func emptyEdit(ofTrack id: UInt32) -> Double {
    guard let scale = movieHeader?.timescale, let first = track(id)?.edits?.first, first.start == nil else {
      return 0
    }
    return Double(first.duration) / Double(scale)
  }

  private mutating func note(_ box: ISOBox, in file: some ByteReading) {
    endsBeyondFile = box.end > file.size
    if withoutMedia.count < Self.mostInnerBoxes {
      if Self.kindsWithoutMedia.contains(box.type) { withoutMedia.append(box.start..<box.end) }
      if box.type == "mdat" { withoutMedia.append(box.start..<box.contents) }
    }
    if box.type == "mdat", box.contents < file.size {
      if media.count == Self.mostInnerBoxes { media.removeLast() }
      media.append(box.contents..<min(box.end, file.size))
    }
    switch box.type {
    case "ftyp" where majorBrand == nil:
      let brand = file.bytes(at: box.contents, count: 4)
      if brand.count == 4 { majorBrand = FourCharacterCode(brand) }
    case "ftyp": beginsAnew = firstMediaData != nil
    case "moov" where movie == nil:
      movie = box
      movieIsCut = box.end > file.size
      // FFmpeg reads all of it.
      file.willRead(box.start..<box.end)
      descend(into: box, of: file)
    case "moov":
      // Players use the first one, but what another discloses is in the file all the same.
      var other = self
      other.descend(into: box, of: file)
      disclosures = other.disclosures
      // If an index was replaced, the old one may still be in the file. No other file begins there.
      let more = other.tracks.dropFirst(tracks.count)
      if beginsAnew, more.contains(where: { $0.isSeenOrHeard && $0.counts.sizes ?? 0 > 0 }) {
        hasAnother = true
      }
    case "mdat" where firstMediaData == nil: firstMediaData = box.start
    case "sidx": indexedEnd = max(indexedEnd, Self.indexedEnd(box, of: file) ?? 0)
    case "moof":
      fragments += 1
      if fragments <= Self.searchedFragments { descend(into: box, of: file) }
    default: disclosures.look(into: box, in: nil, of: file)
    }
  }

  private mutating func descend(into outer: ISOBox, of file: some ByteReading) {
    for box in outer.children(in: file, atMost: Self.mostInnerBoxes) {
      take(box, in: outer.type, of: file)
      switch (outer.type, box.type) {
      case ("moov", "mvhd"): movieHeader = MovieHeader(box, of: file)
      case ("moov", "trak"):
        (references, track, entries) = (DataReferences(), ISOTrack(), [])
        descend(into: box, of: file)
        track.take(entries: entries, of: file)
        tracks.append(track)
        if references.isSeenOrHeard {
          tracksAreExternal.append(references.isExternal)
          hasUnnamed = hasUnnamed || references.isUnnamed
        }
      case ("moov", "rmra"): namesOtherMovies = true
      case ("trak", "edts"), ("trak", "mdia"), ("mdia", "minf"), ("minf", "dinf"), ("minf", "stbl"),
        ("moov", "mvex"), ("trak", "tapt"), ("minf", "gmhd"):
        descend(into: box, of: file)
      case ("mdia", "hdlr"): references.takeHandler(box, of: file)
      case ("dinf", "dref"):
        references.takeReferences(box, of: file)
        disclosures.look(intoTable: box, of: file)
      case ("stbl", "stsd"): noteFormats(in: box, of: file)
      case ("moof", "traf"): descend(into: box, of: file)
      default: disclosures.look(into: box, in: outer.type, of: file)
      }
    }
  }

  /// Records the entries of a sample description box, which follow a version and a count (8.5.2).
  private mutating func noteFormats(in box: ISOBox, of file: some ByteReading) {
    guard let count = file.bigEndian(at: box.contents + 4, width: 4) else { return }
    // What follows the counted entries is not an entry.
    let most = Int(min(count, UInt64(Self.mostEntries)))
    for entry in box.children(in: file, behind: 8, atMost: most) {
      sampleFormats.append(entry.type)
      if entries.count < Self.mostEntries { entries.append(entry) }
      references.takeEntry(entry, of: file)
      let contents = {
        file.bytes(at: entry.contents, count: Int(min(4096, max(0, entry.end - entry.contents))))[...]
      }
      if MoviePlaces.recordsPositions(entry.type, entry: contents) { disclosures.note(.location) }
    }
    disclosures.look(intoTable: box, of: file, handler: track.handler)
  }

  /// Keeps what is needed of a box, whether or not it is also examined elsewhere.
  private mutating func take(_ box: ISOBox, in outer: FourCharacterCode, of file: some ByteReading) {
    switch (outer, box.type) {
    case ("trak", _), ("edts", _), ("mdia", _), ("stbl", _): track.take(box, of: file)
    case ("moov", "udta"):
      for text in box.children(in: file, atMost: Self.mostInnerBoxes) { texts.take(text, of: file) }
    case ("moov", "mvex"):
      promisesFragments = true
      let extends = box.children(in: file, atMost: Self.mostInnerBoxes).first { $0.type == "mehd" }
      fragmentsTicks = extends.flatMap { Self.fragmentsTicks($0, of: file) }
    default: break
    }
  }

  /// Returns the end of the last of the items to which a segment index refers. They follow one another from the end
  /// of its box on (8.16.3). What a nested index refers to is counted by that index. Nil if the box is not as long as
  /// it says.
  private static func indexedEnd(_ box: ISOBox, of file: some ByteReading) -> Int64? {
    guard let version = file.bigEndian(at: box.contents, width: 1), version <= 1 else { return nil }
    let width = version == 0 ? 4 : 8
    let table = box.contents + 12 + 2 * Int64(width)
    guard let offset = file.bigEndian(at: table - Int64(width), width: width),
      let count = file.bigEndian(at: table + 2, width: 2),
      box.end - table - 4 >= 12 * Int64(count)
    else { return nil }
    let references = file.bytes(at: table + 4, count: 12 * Int(count))
    guard references.count == 12 * Int(count) else { return nil }
    let sizes = stride(from: 0, to: references.count, by: 12).compactMap {
      references.number(at: $0, bytes: 4).map { Int64($0 & 0x7FFF_FFFF) }
    }
    return sizes.reduce(box.end.addingClamped(Int64(clamping: offset))) { $0.addingClamped($1) }
  }

  /// Returns the duration in an `mehd` box (8.8.2).
  private static func fragmentsTicks(_ box: ISOBox, of file: some ByteReading) -> UInt64? {
    guard let version = file.bigEndian(at: box.contents, width: 1) else { return nil }
    let width = version == 1 ? 8 : 4
    return file.knownTime(at: box.contents + 4, width: width)
  }
}
