import ReelCore
import ReelProbe

/// Mends an MP4 or one of its kin by changing its index; pictures and sound are copied as they are.
///
/// libavformat's own muxer would write another index: other timescales, edit lists, brands and durations, and only those
/// tags that it knows.
struct MovieMender {
  private let source: BoundedSource
  private let options: MendOptions
  private var file: MovieFile
  private(set) var done: Set<Mend> = []

  /// - Throws: as ``MovieFile/init(_:)``.
  init(_ source: BoundedSource, _ options: MendOptions) throws(MendError) {
    self.source = source
    self.options = options
    file = try MovieFile(source)
  }

  /// What the mended file is made of. ``done`` says then what was to be mended; nothing, where it is well.
  /// - Throws: `notMendable`, `corrupt`, and what stops the reading.
  mutating func mend() throws(MendError) -> MendedFile {
    try salvageOrUnfragment()
    try removeTracks()
    for (mend, removal) in [(Mend.location, MetadataRemoval.location), (.privateTags, .privateTags)]
    where options.mends.contains(mend) {
      if try remove(removal) { done.insert(mend) }
    }
    if let rotation = options.rotation, file.movie.setRotation(rotation) { done.insert(.rotation) }
    if let ratio = options.sampleAspectRatio?.ratio, try file.movie.setSampleAspectRatio(ratio) {
      done.insert(.sampleAspectRatio)
    }
    if options.mends.contains(.faststart), !file.isFragmented || done.contains(.unfragment),
      file.moveMovieFirst()
    {
      done.insert(.faststart)
    }
    return try file.mended()
  }

  // MARK: Fragments, and files that were cut off

  private mutating func salvageOrUnfragment() throws(MendError) {
    let salvages = options.mends.contains(.salvage)
    guard file.isFragmented else {
      if salvages { try salvage() }
      return
    }
    let isCut = file.isCutOff || lacksData
    guard options.mends.contains(.unfragment) || salvages && isCut else { return }
    try refuseEncrypted()
    let fragments = try Fragments(of: file, source)
    var tables = try trackNumbers().map { fragments.tables[$0] ?? SampleTable() }
    if salvages {
      if cut(&tables) || isCut { done.insert(.salvage) }
    } else if isCut || tables.contains(where: { $0.samples.contains { $0.end > file.size } }) {
      throw Self.cutOff
    }
    guard tables.contains(where: { !$0.samples.isEmpty }) else {
      throw MendError(.notMendable, "it has no fragment with pictures or sound, only an index of later ones")
    }
    try install(tables, starts: try trackNumbers().map { fragments.starts[$0] ?? 0 })
    file.movie["mvex"] = nil
    joinMediaData()
    // It was one already in all but its index, where that only promised fragments.
    done.insert(.unfragment)
  }

  static let cutOff = MendError(
    .notMendable, "it was cut off; what is there of it can be salvaged", remedy: .salvage)

  /// Whether the last box that holds data ends beyond the file.
  private var lacksData: Bool { file.boxes.contains { $0.end > file.size } }

  private mutating func salvage() throws(MendError) {
    var tables: [SampleTable] = []
    for track in file.movie.boxes where track.type == "trak" {
      let table = try track[["mdia", "minf", "stbl"]].map { box throws(MendError) in
        try SampleTable(box)
      }
      tables.append(table ?? SampleTable())
    }
    guard cut(&tables) || lacksData else { return }
    try refuseEncrypted()
    guard tables.contains(where: { !$0.samples.isEmpty }) else {
      throw MendError(.notMendable, "nothing of its pictures and sound is there; get a complete copy")
    }
    try install(tables, starts: nil)
    // The data ends with the file.
    if let last = file.boxes.last, last.end > file.size,
      let place = file.items.lastIndex(where: { $0.type == last.type })
    {
      let length = file.size - last.start
      var header: [UInt8] = []
      if last.contents - last.start == 16 {
        header.appendBigEndian(UInt32(1))
        header.appendBigEndian(last.type.value)
        header.appendBigEndian(UInt64(length))
      } else if let short = UInt32(exactly: length) {
        header.appendBigEndian(short)
        header.appendBigEndian(last.type.value)
      }
      if !header.isEmpty, last.contents <= file.size {
        file.items[place].parts = [.bytes(header), .source(last.contents..<file.size)]
      }
    }
    done.insert(.salvage)
  }

  /// Ends each track before its first sample that is not all there.
  /// - Returns: whether there was one.
  private func cut(_ tables: inout [SampleTable]) -> Bool {
    var isCut = false
    for place in tables.indices {
      guard let first = tables[place].samples.firstIndex(where: { $0.end > file.size }) else { continue }
      tables[place].samples.removeSubrange(first...)
      isCut = true
    }
    return isCut
  }

  private func trackNumbers() throws(MendError) -> [UInt32] {
    let numbers = file.movie.boxes.filter { $0.type == "trak" }.map { $0.trackID ?? 0 }
    guard Set(numbers).count == numbers.count else {
      throw MendError(.corrupt, "two tracks of it have one number; get a complete copy")
    }
    return numbers
  }

  private mutating func install(_ tables: [SampleTable], starts: [UInt64]?) throws(MendError) {
    var number = 0
    let timescale = file.movie.movieTimescale
    try file.movie.changeEach("trak") { track throws(MendError) in
      defer { number += 1 }
      let table = tables[number]
      track.change(["mdia", "minf", "stbl"]) { $0 = table.box(insteadOf: $0) }
      if let start = starts?[number], start > 0, !table.samples.isEmpty {
        try track.setDelay(start, movieTimescale: timescale)
      }
    }
    try file.movie.setDurations(tables.map(\.duration))
  }

  /// All media data as one box, behind the index.
  private mutating func joinMediaData() {
    let gone: Set<FourCharacterCode> = [
      "moof", "mdat", "sidx", "ssix", "styp", "mfra", "prft", "emsg", "moov",
    ]
    let media = file.boxes.filter { $0.type == "mdat" && $0.contents < min($0.end, file.size) }
    let payload = media.map { MendedFile.Part.source($0.contents..<min($0.end, file.size)) }
    let count = payload.reduce(Int64(0)) { $0 + $1.count }
    var header: [UInt8] = []
    if let short = UInt32(exactly: count + 8) {
      header.appendBigEndian(short)
      header.appendBigEndian(FourCharacterCode("mdat").value)
    } else {
      header.appendBigEndian(UInt32(1))
      header.appendBigEndian(FourCharacterCode("mdat").value)
      header.appendBigEndian(UInt64(count + 16))
    }
    let movie = file.items.filter(\.isMovie)
    file.items =
      file.items.filter { !gone.contains($0.type) } + movie + [
        MovieFile.Item(type: "mdat", parts: [.bytes(header)] + payload)
      ]
    file.joinsFragments()
  }

  private func refuseEncrypted() throws(MendError) {
    let marks: Set<FourCharacterCode> = ["encv", "enca", "enct", "encs", "drmi", "drms"]
    for track in file.movie.boxes where track.type == "trak" {
      let entries = track[["mdia", "minf", "stbl", "stsd"]]?.bytes ?? []
      if MovieBox.children(of: entries.dropFirst(8)).0.contains(where: { marks.contains($0.type) }) {
        throw MendError(
          .notMendable, "it is encrypted, and its index can't be made anew; get an unencrypted copy")
      }
    }
  }

  // MARK: Metadata and tracks

  private mutating func remove(_ removal: MetadataRemoval) throws(MendError) -> Bool {
    var isChanged = file.movie.remove(removal)
    for place in file.items.indices where !Self.media.contains(file.items[place].type) {
      let item = file.items[place]
      guard case .source(let range)? = item.parts.first, range.upperBound - range.lowerBound >= 8 else {
        continue
      }
      if Self.unused.contains(item.type) {
        // What was freed by other programs may be what they were to take out, and cameras hide their way there.
        guard !isBlank(range.lowerBound + 8..<range.upperBound) else { continue }
        file.items[place].parts = Self.free(range)
        isChanged = true
        continue
      }
      let length = min(range.upperBound - range.lowerBound, Int64(MetadataRemoval.looked) + 1)
      let bytes = source.bytes(at: range.lowerBound, count: Int(length))
      let box = length > MetadataRemoval.looked ? nil : MovieBox.children(of: bytes[...]).0.first
      switch item.type {
      case "uuid":
        // One that is too large to be looked through is no profile and no mark of a sphere.
        guard box.map(removal.takes) ?? true else { continue }
        file.items[place].parts = Self.free(range)
      case "meta":
        guard let box, !removal.takesAll(of: box) else {
          file.items[place].parts = Self.free(range)
          break
        }
        var changed = box
        changed.removeItems(removal)
        // It names places in the file: it keeps its size.
        guard changed != box, box.size - changed.size >= 8 else { continue }
        let left = Int64(box.size - changed.size)
        file.items[place].parts = [.bytes(changed.serialized)] + Self.free(0..<left)
      // What no player knows: that is where cameras keep what is their own.
      default: file.items[place].parts = Self.free(range)
      }
      isChanged = true
    }
    return isChanged
  }

  /// Boxes of a file that hold no metadata.
  private static let media: Set<FourCharacterCode> = [
    "ftyp", "styp", "moov", "moof", "mdat", "mfra", "sidx", "ssix", "prft", "emsg", "pdin",
  ]
  /// Those that stand for nothing.
  private static let unused: Set<FourCharacterCode> = ["free", "skip", "wide"]

  /// Whether there is nothing but zeros; of more than 64 MiB nobody looks.
  private func isBlank(_ range: Range<Int64>) -> Bool {
    guard range.upperBound - range.lowerBound <= 64 << 20 else { return false }
    var start = range.lowerBound
    while start < range.upperBound {
      let bytes = source.bytes(at: start, count: Int(min(1 << 20, range.upperBound - start)))
      guard !bytes.isEmpty, bytes.allSatisfy({ $0 == 0 }) else { return false }
      start += Int64(bytes.count)
    }
    return true
  }

  /// A free box as large as `range`, which has at least 8 bytes.
  private static func free(_ range: Range<Int64>) -> [MendedFile.Part] {
    let count = range.upperBound - range.lowerBound
    var header: [UInt8] = []
    if let short = UInt32(exactly: count) {
      header.appendBigEndian(short)
      header.appendBigEndian(FourCharacterCode("free").value)
    } else {
      header.appendBigEndian(UInt32(1))
      header.appendBigEndian(FourCharacterCode("free").value)
      header.appendBigEndian(UInt64(count))
    }
    return [.bytes(header), .zeros(count - Int64(header.count))]
  }

  /// What players show, and what says when.
  private static let shown: Set<FourCharacterCode> = [
    "vide", "soun", "subt", "sbtl", "text", "clcp", "auxv", "pict", "subp",
  ]

  private mutating func removeTracks() throws(MendError) {
    let removesAll = options.mends.contains(.data)
    let removesPlaces = !options.mends.isDisjoint(with: [.location, .privateTags])
    guard removesAll || removesPlaces else { return }
    let isGone = { (track: MovieBox) -> Bool in
      guard let handler = track.handler, !Self.shown.contains(handler) else { return false }
      // A time code says when, not where.
      return removesAll || handler != "tmcd"
    }
    let gone = file.movie.boxes.filter { $0.type == "trak" && isGone($0) }
    guard !gone.isEmpty else { return }
    guard !file.isFragmented || done.contains(.unfragment) else {
      throw MendError(
        .notMendable,
        "its data tracks are in fragments; have it put into one piece as well", remedy: .unfragment)
    }
    let numbers = Set(gone.compactMap(\.trackID))
    try leaveOut(gone)
    file.movie.boxes.removeAll { $0.type == "trak" && isGone($0) }
    file.movie.changeEach("trak") { $0.forgetReferences(to: numbers) }
    if removesAll { done.insert(.data) }
    for mend in [Mend.location, .privateTags] where options.mends.contains(mend) { done.insert(mend) }
  }

  /// Writes zeros over the samples of tracks that go, where no other track has them, too.
  private mutating func leaveOut(_ gone: [MovieBox]) throws(MendError) {
    var (dropped, kept): ([Range<Int64>], [Range<Int64>]) = ([], [])
    for track in file.movie.boxes where track.type == "trak" {
      guard let box = track[["mdia", "minf", "stbl"]] else { continue }
      let ranges = try SampleTable(box).ranges
      if gone.contains(track) { dropped += ranges } else { kept += ranges }
    }
    let ranges = SourceRanges.merged(dropped, without: kept)
    for place in file.items.indices {
      file.items[place].parts = file.items[place].parts.flatMap { part -> [MendedFile.Part] in
        guard case .source(let range) = part else { return [part] }
        return SourceRanges.split(range, zeroing: ranges)
      }
    }
  }
}

extension MovieBox {
  /// Of a track: names no track among `numbers` any more (ISO/IEC 14496-12, 8.3.3).
  fileprivate mutating func forgetReferences(to numbers: Set<UInt32>) {
    change(["tref"]) { references in
      for place in references.boxes.indices {
        let bytes = references.boxes[place].bytes
        var left: [UInt8] = []
        for entry in 0..<bytes.count / 4 where !numbers.contains(bytes.bigEndian32(at: 4 * entry)) {
          left.appendBigEndian(bytes.bigEndian32(at: 4 * entry))
        }
        references.boxes[place].bytes = left
      }
      references.boxes.removeAll { $0.bytes.isEmpty }
    }
    boxes.removeAll { $0.type == "tref" && $0.boxes.isEmpty }
  }
}

/// Arithmetic on ranges of bytes.
enum SourceRanges {
  /// What is in `ranges` and not in `others`, in order.
  static func merged(_ ranges: [Range<Int64>], without others: [Range<Int64>]) -> [Range<Int64>] {
    let others = union(others)
    var (found, next): ([Range<Int64>], Int) = ([], 0)
    for range in union(ranges) {
      var start = range.lowerBound
      while next < others.count, others[next].upperBound <= start { next += 1 }
      var place = next
      while place < others.count, others[place].lowerBound < range.upperBound {
        if others[place].lowerBound > start { found.append(start..<others[place].lowerBound) }
        start = max(start, others[place].upperBound)
        place += 1
      }
      if start < range.upperBound { found.append(start..<range.upperBound) }
    }
    return found
  }

  private static func union(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
    var found: [Range<Int64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = found.last, range.lowerBound <= last.upperBound {
        found[found.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        found.append(range)
      }
    }
    return found
  }

  /// A part of the source, with zeros where `ranges` are, which are in order.
  static func split(_ part: Range<Int64>, zeroing ranges: [Range<Int64>]) -> [MendedFile.Part] {
    var (parts, start): ([MendedFile.Part], Int64) = ([], part.lowerBound)
    for range in ranges {
      let range = range.clamped(to: part)
      guard !range.isEmpty else { continue }
      if range.lowerBound > start { parts.append(.source(start..<range.lowerBound)) }
      parts.append(.zeros(range.upperBound - range.lowerBound))
      start = range.upperBound
    }
    if start < part.upperBound { parts.append(.source(start..<part.upperBound)) }
    return parts
  }
}
