import ReelProbe

/// What is taken out of the metadata of an MP4 or one of its kin.
enum MetadataRemoval {
  /// What names the place of the recording.
  case location
  /// All that is not known to be meant for whoever plays it.
  case privateTags

  /// User data of QuickTime and 3GPP, and iTunes' items, that say what a file is: names, people, words, dates, chapters,
  /// and how it is to be played.
  private static let known: Set<FourCharacterCode> = Set(
    [
      "nam", "ART", "alb", "day", "cmt", "des", "gen", "wrt", "grp", "lyr", "cpy", "dir", "prd", "inf", "key",
      "prf",
      "com", "aut", "too", "trk", "dis", "st3", "dsk", "isr",
    ].map { FourCharacterCode([0xA9] + Array($0.utf8)) } + [
      "titl", "dscp", "cprt", "perf", "auth", "gnre", "albm", "yrrc", "kywd", "rtng", "clsf", "name", "chpl",
      "hnti", "hinf", "tsel", "kind", "strk", "ludt", "elng", "meta", "aART", "desc", "ldes", "covr", "trkn",
      "disk",
      "tmpo", "cpil", "pgap", "tvsh", "tven", "tvsn", "tves", "tvnn", "stik", "hdvd", "keyw", "catg", "sonm",
      "soar",
      "soaa", "soal", "soco", "sosn", "data", "WLOC", "LOOP", "SelO", "AllF",
    ])
  /// Names of QuickTime's keys, without `com.apple.quicktime.`, and of those that FFmpeg writes.
  private static let knownKeys: Set<String> = [
    "title", "artist", "author", "album", "album_artist", "comment", "copyright", "creationdate",
    "creation_time",
    "date", "year", "description", "synopsis", "director", "displayname", "genre", "information", "keywords",
    "producer", "publisher", "composer", "performer", "language", "lyrics", "track", "disc", "encoder",
    "major_brand", "minor_version", "compatible_brands", "rating.user", "collection.user",
  ]
  /// How the sphere of a video is laid out (Spherical Video V1).
  private static let sphere: [UInt8] = [
    0xFF, 0xCC, 0x82, 0x63, 0xF8, 0x55, 0x4A, 0x93, 0x88, 0x14, 0x58, 0x7A, 0x02, 0x52, 0x1F, 0xDD,
  ]
  /// How many bytes of a box decide whether it goes.
  static let looked = 1 << 20

  /// Whether a box of user data, or of metadata's items, goes.
  func takes(_ box: MovieBox) -> Bool {
    if box.type == FourCharacterCode([0xA9] + Array("xyz".utf8)) || box.type == "loci" { return true }
    if box.type == "uuid" || box.type == "XMP_" { return takesExtension(box.bytes.prefix(Self.looked)) }
    if box.type == "----" { return takes(key: Self.name(of: box.bytes)) }
    switch self {
    case .location: return box.type == "GPS " || box.type == "gps "
    case .privateTags: return !Self.known.contains(box.type)
    }
  }

  /// Whether a `meta` box of the file goes as a whole: what it says in XML (Sony's cameras: model, serial number, places)
  /// is not taken apart, nor what items it lists.
  func takesAll(of metadata: MovieBox) -> Bool {
    self == .privateTags || metadata["xml "] != nil || metadata["bxml"] != nil
  }

  /// Whether metadata of this name goes.
  func takes(key: String) -> Bool {
    let key = key.lowercased()
    if key == "location" || key.hasPrefix("location-") || key.contains("location.")
      || key == "recording_location" || key.contains("gps")
    {
      return true
    }
    guard self == .privateTags else { return false }
    let apple = "com.apple.quicktime."
    return !Self.knownKeys.contains(key.hasPrefix(apple) ? String(key.dropFirst(apple.count)) : key)
  }

  /// Whether a box goes whose type is in its first 16 bytes (`uuid`), or XMP.
  func takesExtension(_ bytes: ArraySlice<UInt8>) -> Bool {
    if self == .privateTags { return !bytes.starts(with: Self.sphere) }
    let names = ["GPS", "Location", "City"].map { Array($0.utf8) }
    return names.contains { name in
      bytes.indices.contains { bytes[$0] == name[0] && bytes[$0...].starts(with: name) }
    }
  }

  /// The name of an iTunes item that has one of its own (`----` with `mean`, `name` and `data`).
  private static func name(of bytes: [UInt8]) -> String {
    let name = MovieBox.children(of: bytes[...]).0.first { $0.type == "name" }
    return String(decoding: name?.bytes.dropFirst(4) ?? [], as: UTF8.self)
  }
}

extension MovieBox {
  /// Of an index: takes metadata out.
  /// - Returns: whether there was any.
  mutating func remove(_ removal: MetadataRemoval) -> Bool {
    let before = self
    removeMetadata(removal)
    changeEach("trak") { $0.removeMetadata(removal) }
    return self != before
  }

  /// Of an index or a track.
  private mutating func removeMetadata(_ removal: MetadataRemoval) {
    let hadEmpty = self["udta"]?.boxes.isEmpty ?? false
    // A dashcam's table of places is one of the index's own boxes.
    let own: Set<FourCharacterCode> = ["uuid", "XMP_", "gps ", "GPS "]
    boxes.removeAll { own.contains($0.type) && removal.takes($0) }
    changeEach("udta") { data in
      data.boxes.removeAll { removal.takes($0) }
      data.changeEach("meta") { $0.removeItems(removal) }
    }
    changeEach("meta") { $0.removeItems(removal) }
    if !hadEmpty { boxes.removeAll { $0.type == "udta" && $0.boxes.isEmpty } }
  }

  /// Of metadata: items by their type (iTunes), or by the key that their type is the number of (QuickTime).
  mutating func removeItems(_ removal: MetadataRemoval) {
    guard let keys = self["keys"]?.bytes, keys.count >= 8 else {
      change(["ilst"]) { list in list.boxes.removeAll { removal.takes($0) } }
      return
    }
    let (all, _) = Self.children(of: keys.dropFirst(8))
    // The number of each key from then on; those that go have none.
    var (numbers, kept): ([UInt32: UInt32], [MovieBox]) = ([:], [])
    for (index, key) in all.enumerated()
    where !removal.takes(key: String(decoding: key.bytes, as: UTF8.self)) {
      kept.append(key)
      numbers[UInt32(index + 1)] = UInt32(kept.count)
    }
    guard kept.count < all.count else { return }
    change(["keys"]) { box in
      var bytes = Array(keys.prefix(4))
      bytes.appendBigEndian(UInt32(kept.count))
      box.bytes = bytes + kept.flatMap(\.serialized)
    }
    change(["ilst"]) { list in
      list.boxes = list.boxes.compactMap { item in
        guard let number = numbers[item.type.value] else { return nil }
        var item = item
        item.type = FourCharacterCode(withUnsafeBytes(of: number.bigEndian) { Array($0) })
        return item
      }
    }
  }
}
