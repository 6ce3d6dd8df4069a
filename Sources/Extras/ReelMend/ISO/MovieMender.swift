import ReelCore
import ReelProbe

/// Mends an MP4 or a related file by changing its index. Pictures and sound are copied as they are.
///
/// libavformat's own muxer would write a different index: other timescales, edit lists, brands and durations, and only
/// the tags that it knows.
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

  /// Returns the parts of the mended file. Afterwards, ``done`` says what was mended. It is empty if nothing needed
  /// mending.
  /// - Throws: `notMendable`, `corrupt`, and the error that stops the reading.
  mutating func mend() throws(MendError) -> MendedFile {
    let drops = options.mends.contains(.credentials)
    let carriesCredentials = drops ? false : try withoutCredentials() != nil
    try refuseUnreadable()
    try salvageOrUnfragment()
    try removeTracks()
    if drops, let file = try withoutCredentials() {
      self.file = file
      done.insert(.credentials)
    }
    for (mend, stripping) in [(Mend.location, Stripping.location), (.privateTags, .everything)]
    where options.mends.contains(mend) {
      let rules = MetadataStripping(stripping: stripping, dropsCredentials: drops)
      if try file.strip(rules, source) { done.insert(mend) }
    }
    try blankUnused()
    if let rotation = options.rotation, file.movie.setRotation(rotation) { done.insert(.rotation) }
    if let ratio = options.sampleAspectRatio?.ratio, try file.movie.setSampleAspectRatio(ratio) {
      done.insert(.sampleAspectRatio)
    }
    if options.mends.contains(.faststart), !file.isFragmented || done.contains(.unfragment),
      file.moveMovieFirst()
    {
      done.insert(.faststart)
    }
    guard done.isEmpty || !carriesCredentials else { throw Self.wouldVoidCredentials }
    return try file.mended(source)
  }

  /// Returns the file without its Content Credentials; nil if it has none.
  private func withoutCredentials() throws(MendError) -> MovieFile? {
    var file = file
    let isChanged = try file.strip(MetadataStripping(stripping: nil, dropsCredentials: true), source)
    return isChanged ? file : nil
  }

  static let wouldVoidCredentials = MendError(
    .notMendable,
    "it carries Content Credentials (C2PA), which are valid only while no byte of the file changes; mending it would "
      + "mean removing them",
    remedy: .credentials)

  /// Refuses a compressed index, from which nothing can be removed.
  private func refuseUnreadable() throws(MendError) {
    let strips: Set<Mend> = [.location, .privateTags, .credentials]
    guard file.movie["cmov"] == nil || options.mends.isDisjoint(with: strips) else {
      throw MendError(
        .notMendable, "its index is compressed (cmov), so nothing can be removed from it")
    }
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
    } else {
      // Space for media that was never written is no loss.
      let lacksIndex = file.boxes.last.map { $0.end > file.size && $0.type != "mdat" } ?? true
      if lacksIndex || tables.contains(where: { $0.samples.contains { $0.end > file.size } }) {
        throw Self.cutOff
      }
    }
    guard tables.contains(where: { !$0.samples.isEmpty }) else {
      throw MendError(.notMendable, "its index announces fragments, but it has none with pictures or sound")
    }
    try install(tables, starts: try trackNumbers().map { fragments.starts[$0] ?? 0 })
    file.movie["mvex"] = nil
    joinMediaData()
    // If the index only announced fragments, the file was in one piece already in all but its index.
    done.insert(.unfragment)
  }

  static let cutOff = MendError(
    .notMendable, "it was cut off; what is left of it can be salvaged", remedy: .salvage)

  /// Whether a box extends beyond the end of the file.
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
      throw MendError(.notMendable, "none of its pictures or sound is present; get a complete copy")
    }
    try install(tables, starts: nil)
    // The last box now ends with the file.
    if let last = file.boxes.last, last.end > file.size,
      let place = file.items.lastIndex(where: { $0.type == last.type })
    {
      let length = file.size - last.start
      let isWide = last.contents - last.start == 16
      if isWide || length <= UInt32.max, last.contents <= file.size {
        let header = MovieBox.header(last.type, size: length, isWide: isWide)
        file.items[place].parts = [.bytes(header), .source(last.contents..<file.size)]
      }
    }
    done.insert(.salvage)
  }

  /// Ends each track before its first incomplete sample.
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
      throw MendError(.corrupt, "two of its tracks have the same ID; get a complete copy")
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

  /// Joins all media data into one box after the index.
  private mutating func joinMediaData() {
    let gone: Set<FourCharacterCode> = [
      "moof", "mdat", "sidx", "ssix", "styp", "mfra", "prft", "emsg", "moov",
    ]
    let media = file.boxes.filter { $0.type == "mdat" && $0.contents < min($0.end, file.size) }
    let payload = media.map { MendedFile.Part.source($0.contents..<min($0.end, file.size)) }
    let count = payload.reduce(Int64(0)) { $0 + $1.count }
    let isWide = count + 8 > UInt32.max
    let header = MovieBox.header("mdat", size: count + (isWide ? 16 : 8), isWide: isWide)
    let movie = file.items.filter(\.isMovie)
    let others = file.items.filter { !gone.contains($0.type) }
    // Bytes that are no box stay after all boxes.
    file.items =
      others.filter { $0.type != MovieFile.Item.noBox } + movie
      + [MovieFile.Item(type: "mdat", parts: [.bytes(header)] + payload)]
      + others.filter { $0.type == MovieFile.Item.noBox }
    file.joinsFragments()
  }

  private func refuseEncrypted() throws(MendError) {
    let marks: Set<FourCharacterCode> = ["encv", "enca", "enct", "encs", "drmi", "drms"]
    for track in file.movie.boxes where track.type == "trak" {
      let entries = track[["mdia", "minf", "stbl", "stsd"]]?.bytes ?? []
      if MovieBox.children(of: entries.dropFirst(8)).0.contains(where: { marks.contains($0.type) }) {
        throw MendError(
          .notMendable, "it is encrypted, so its index can't be rebuilt; get an unencrypted copy")
      }
    }
  }

  // MARK: Metadata and tracks

  /// The handler types of tracks that players show.
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
        "its data tracks are in fragments; merge its fragments as well", remedy: .unfragment)
    }
    let numbers = Set(gone.compactMap(\.trackID))
    try leaveOut(gone)
    file.movie.boxes.removeAll { $0.type == "trak" && isGone($0) }
    file.movie.changeEach("trak") { $0.forgetReferences(to: numbers) }
    if removesAll { done.insert(.data) }
    for mend in [Mend.location, .privateTags] where options.mends.contains(mend) { done.insert(mend) }
  }

  /// Writes zeros over the samples of removed tracks, unless another track has them, too.
  private mutating func leaveOut(_ gone: [MovieBox]) throws(MendError) {
    var (dropped, kept): ([Range<Int64>], [Range<Int64>]) = ([], [])
    for track in file.movie.boxes where track.type == "trak" {
      let ranges = try track.sampleRanges()
      if gone.contains(track) { dropped += ranges } else { kept += ranges }
    }
    zero(SourceRanges.merged(dropped, without: kept))
  }

  private mutating func zero(_ ranges: [Range<Int64>]) {
    for place in file.items.indices {
      file.items[place].parts = file.items[place].parts.flatMap { part -> [MendedFile.Part] in
        guard case .source(let range) = part else { return [part] }
        return SourceRanges.split(range, zeroing: ranges)
      }
    }
  }

  /// Writes zeros over media data that belongs to no sample and no item.
  private mutating func blankUnused() throws(MendError) {
    let mends = options.mends.intersection([.location, .privateTags])
    guard !mends.isEmpty else { return }
    let tracks = file.movie.boxes.filter { $0.type == "trak" }
    var (ranges, tables): ([[Range<Int64>]], [UInt32: SampleTable]) = ([], [:])
    for track in tracks { ranges.append(try track.sampleRanges()) }
    if file.isFragmented {
      tables = try Fragments(of: file, source).tables
      for (number, track) in tracks.enumerated() {
        ranges[number] = track.trackID.flatMap { tables[$0]?.ranges } ?? ranges[number]
      }
    }
    let hidden = HiddenPlaces(file: file, source: source, tracks: tracks, fragments: tables)
    try hidden.refuseText()
    try hidden.refusePictures(mends.contains(.privateTags) ? .everything : .location)
    // What is needed to decrypt samples (`saio`) belongs to no sample, so nothing is blanked.
    guard !tracks.contains(where: { $0[["mdia", "minf", "stbl", "saio"]] != nil }) else { return }
    let kept = ranges.flatMap(\.self) + (try NamedPlaces(file: file, source: source).itemRanges())
    let unused = hidden.unused(kept)
    guard unused.contains(where: { !source.isBlank($0) }) else { return }
    zero(unused)
    done.formUnion(mends)
  }
}

extension MovieBox {
  /// For a track: removes its references to the tracks in `numbers` (ISO/IEC 14496-12, 8.3.3).
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

extension SourceRanges {
  /// Returns a part of the source with zeros in place of `ranges`, which are in order.
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
