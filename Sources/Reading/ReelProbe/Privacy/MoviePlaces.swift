/// The places in an MP4 or a related file where a location, a serial number or private text may be.
package enum MoviePlaces {
  typealias Code = FourCharacterCode

  // MARK: Boxes

  /// The boxes that make up a file's structure, by the type of their parent (ISO/IEC 14496-12, 14496-14, -15 and -30,
  /// 23001-7; QuickTime File Format; what FFmpeg reads). No player needs any other box there.
  private static let structure: [Code?: Set<Code>] = [
    nil: ["ftyp", "styp", "moov", "moof", "mdat", "sidx", "ssix", "prft", "pdin"],
    "moov": ["mvhd", "trak", "mvex", "iods", "pssh", "cmov", "rmra", "rmda", "trgr"],
    "mvex": ["mehd", "trex", "leva", "trep"],
    "trak": ["tkhd", "tref", "trgr", "edts", "mdia", "tapt", "txas", "ttyp", "senc"],
    "edts": ["elst"],
    "tapt": ["clef", "prof", "enof"],
    "mdia": ["mdhd", "hdlr", "minf", "elng"],
    "minf": [
      "vmhd", "smhd", "hmhd", "nmhd", "sthd", "gmhd", "mphd", "odhd", "crhd", "sdhd", "m7hd", "ochd", "iphd",
      "vvhd", "hdlr", "dinf", "stbl",
    ],
    "gmhd": ["gmin", "text", "tmcd", "gpmd", "wmhd"],
    "dinf": ["dref"],
    "dref": ["url ", "urn ", "alis", "rsrc", "imdt", "snim"],
    "stbl": [
      "stsd", "stts", "ctts", "cslg", "stsc", "stsz", "stz2", "stco", "co64", "stss", "stps", "stsh", "padb",
      "stdp", "sdtp", "sbgp", "sgpd", "csgp", "subs", "saiz", "saio", "senc",
    ],
    "stsd": sampleEntryParts,
    "moof": ["mfhd", "traf", "pssh"],
    "traf": [
      "tfhd", "tfdt", "trun", "sdtp", "sbgp", "sgpd", "csgp", "subs", "saiz", "saio", "senc", "trik", "avcn",
    ],
    "mfra": ["tfra", "mfro"],
    // The boxes of a list of items where it is kept: the tables of what is shown.
    "meta": ["hdlr", "pitm", "iinf", "iloc", "iprp", "iref", "idat", "ipro", "dinf", "grpl", "ctry", "lang"],
  ]
  /// The boxes of a sample entry: how to decode, and how to show what was decoded.
  private static let sampleEntryParts: Set<Code> = [
    "esds", "glbl", "strf", "wave", "wfex", "SMI ", "jp2h", "m4ds", "avss", "avcC", "avcE", "svcC", "mvcC",
    "mvcg", "hvcC", "hvcE", "lhvC", "vvcC", "vvnC", "evcC", "apvC", "av1C", "vpcC", "dvc1", "d263", "D263",
    "bitr", "damr", "dqcp", "devc", "dsmv", "ccmt", "dmlp", "dac3", "dec3", "dac4", "ddts", "udts", "dfLa",
    "dOps", "alac", "iacb", "mhaC", "mhaP", "pcmC", "cmpd", "uncC", "cpal", "cpat", "splz", "dvcC", "dvvC",
    "dvwC", "pasp", "clap", "colr", "chrm", "fiel", "gama", "btrt", "ccst", "auxi", "SmDm", "CoLL", "mdcv",
    "clli",
    "cclv", "amve", "ndwt", "reve", "st3d", "sv3d", "vexu", "hfov", "stvi", "chan", "chnl", "SA3D", "SAND",
    "srat", "dmix", "ludt", "sinf", "rinf", "frma", "adrm", "ACLR", "APRG", "ARES", "AALP", "ADHR", "AVIN",
    "ALAC", "ftab", "vttC", "vlab", "txtC", "mime", "tims", "tsro", "snro", "keys", "dfxp", "QDCA", "QDCP",
    "mjqt", "mjht", "enda", "cios",
  ]
  /// Boxes that no player has needed since QuickTime: clipping regions, mattes, colour tables, loading hints, input
  /// maps, profiles and previews.
  private static let obsolete: Set<Code> = [
    "clip", "matt", "ctab", "load", "imap", "prfl", "pnot", "PICT",
  ]
  private static let unused: Set<Code> = ["free", "skip", "wide"]

  /// Returns whether a box of this type is unused space, whatever is in it.
  package static func isUnused(_ type: FourCharacterCode) -> Bool { unused.contains(type) }
  /// Boxes that name a location wherever they are: QuickTime's and 3GPP's, and those of dashcams.
  private static let places: Set<Code> = [
    FourCharacterCode([0xA9] + Array("xyz".utf8)), FourCharacterCode([0xA9] + Array("gps".utf8)), "loci",
    "GPS ",
    "gps ", "gps0",
  ]
  /// User data of QuickTime and 3GPP, and iTunes' items, that describe a file: names, people, words, dates, chapters,
  /// and how it is to be played.
  private static let harmless: Set<Code> = Set(
    [
      "nam", "ART", "alb", "day", "cmt", "des", "gen", "wrt", "grp", "lyr", "cpy", "dir", "prd", "inf", "key",
      "prf", "com", "aut", "too", "trk", "dis", "st3", "dsk", "isr",
    ].map { FourCharacterCode([0xA9] + Array($0.utf8)) } + [
      "titl", "dscp", "cprt", "perf", "auth", "gnre", "albm", "yrrc", "kywd", "rtng", "clsf", "name", "chpl",
      "hnti", "hinf", "tsel", "kind", "strk", "ludt", "elng", "aART", "desc", "ldes", "trkn", "disk", "tmpo",
      "cpil", "pgap", "tvsh", "tven", "tvsn", "tves", "tvnn", "stik", "hdvd", "keyw", "catg", "sonm", "soar",
      "soaa", "soal", "soco", "sosn", "data", "WLOC", "LOOP", "SelO", "AllF",
    ])

  /// Returns what a box gives away.
  /// - Parameters:
  ///   - contents: returns the bytes after its header; called only if they matter.
  ///   - parent: the type of the box that contains it; nil for the file.
  package static func disclosure(
    of type: FourCharacterCode, in parent: FourCharacterCode?, _ contents: () -> ArraySlice<UInt8>
  ) -> Disclosure {
    if structure[parent]?.contains(type) ?? false { return .nothing }
    if unused.contains(type) {
      let contents = contents()
      if contents.allSatisfy({ $0 == 0 }) { return .nothing }
      return namesPlace(contents) ? .location : .leftover
    }
    if places.contains(type) { return .location }
    if obsolete.contains(type) { return ofText(contents()) }
    switch type {
    case "uuid": return disclosure(ofExtension: contents())
    case "XMP_": return disclosure(ofXMP: contents())
    case "udta", "meco": return .parts
    case "mfra" where parent == nil: return .parts
    case "meta": return disclosure(ofMetadata: contents())
    case "ID32":
      let contents = contents()
      if ContentCredentials.areAttached(toID3: contents) { return .credentials }
      return PlaceSearch.finds(in: contents) ? .location : .identity
    case "emsg": return PlaceSearch.finds(in: contents()) ? .location : .identity
    case "c2pa" where parent == nil: return .credentials
    case "ilst" where parent == "meta": return .parts
    // Its names are judged one by one (``MetadataKey``).
    case "keys" where parent == "meta": return .nothing
    case "covr": return .picture
    case "----" where parent == "ilst": return MetadataKey.disclosure(of: name(ofItem: contents()))
    default: break
    }
    switch parent {
    // An item whose type is a number has its name among the keys.
    case "ilst" where harmless.contains(type) || type.value < 1 << 24, "udta" where harmless.contains(type):
      return PlaceSearch.findsPosition(in: contents()) ? .location : .nothing
    case "ilst": return ofText(contents())
    // In QuickTime, types that begin with © are text.
    case "udta" where type.value >> 24 == 0xA9: return ofText(contents())
    // The name of a time code's reel.
    case "stsd" where type == "name": return ofText(contents())
    // References to other tracks, whose types are the kinds of reference.
    case "tref": return .nothing
    default: return opaque(contents())
    }
  }

  private static func opaque(_ contents: ArraySlice<UInt8>) -> Disclosure {
    namesPlace(contents) ? .location : .unreadable
  }

  private static func ofText(_ contents: ArraySlice<UInt8>) -> Disclosure {
    PlaceSearch.finds(in: contents) ? .location : .identity
  }

  /// Whether there is a location in data that no player needs, or in a box within it. Dashcams hide locations there.
  private static func namesPlace(_ contents: ArraySlice<UInt8>) -> Bool {
    PlaceSearch.finds(in: contents) || boxes(in: contents).contains { places.contains($0.type) }
  }

  // MARK: Boxes with an identifier

  /// The boxes that are part of a file's structure: the projection of a spherical video (Spherical Video V1), Sony's
  /// profile, and those of PIFF for encrypted files and fragments.
  private static let structuralExtensions: [[UInt8]] = [
    [0xFF, 0xCC, 0x82, 0x63, 0xF8, 0x55, 0x4A, 0x93, 0x88, 0x14, 0x58, 0x7A, 0x02, 0x52, 0x1F, 0xDD],
    Array("PROF".utf8) + [0x21, 0xD2, 0x4F, 0xCE, 0xBB, 0x88, 0x69, 0x5C, 0xFA, 0xC9, 0xC7, 0x40],
    [0x6D, 0x1D, 0x9B, 0x05, 0x42, 0xD5, 0x44, 0xE6, 0x80, 0xE2, 0x14, 0x1D, 0xAF, 0xF7, 0x57, 0xB2],
    [0xD4, 0x80, 0x7E, 0xF2, 0xCA, 0x39, 0x46, 0x95, 0x8E, 0x54, 0x26, 0xCB, 0x9E, 0x46, 0xA7, 0x9F],
    [0xA2, 0x39, 0x4F, 0x52, 0x5A, 0x9B, 0x4F, 0x14, 0xA2, 0x44, 0x6C, 0x42, 0x7C, 0x64, 0x8D, 0xF4],
    [0xD0, 0x8A, 0x4F, 0x18, 0x10, 0xF3, 0x4A, 0x82, 0xB6, 0xC8, 0x32, 0xD8, 0xAB, 0xA1, 0x83, 0xD3],
    [0x89, 0x74, 0xDB, 0xCE, 0x7B, 0xE7, 0x4C, 0x51, 0x84, 0xF9, 0x71, 0x48, 0xF9, 0x88, 0x25, 0x54],
  ]
  /// Extensible Metadata Platform (XMP Specification, part 3).
  private static let xmp: [UInt8] = [
    0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
  ]

  private static func disclosure(ofExtension contents: ArraySlice<UInt8>) -> Disclosure {
    if structuralExtensions.contains(where: contents.starts) { return .nothing }
    if contents.starts(with: ContentCredentials.box) { return .credentials }
    if contents.starts(with: xmp) { return disclosure(ofXMP: contents.dropFirst(xmp.count)) }
    // Canon's box holds boxes, one for each part of Exif.
    let inner = boxes(in: contents.dropFirst(16))
    return inner.contains { PlaceSearch.finds(in: $0.contents) } ? .location : opaque(contents)
  }

  private static func disclosure(ofXMP contents: ArraySlice<UInt8>) -> Disclosure {
    if ContentCredentials.areNamed(inXMP: contents) { return .credentials }
    let names = PlaceSearch.index(of: Array("GPS".utf8), in: contents) != nil
    return names || PlaceSearch.finds(in: contents) ? .location : .identity
  }

  // MARK: Metadata

  /// The types of items that are pictures, or say how pictures are combined. All others are text or Exif.
  private static let pictureItems: Set<Code> = [
    "hvc1", "av01", "avc1", "vvc1", "j2k1", "unci", "grid", "iden", "iovl", "tmap",
  ]

  /// Returns what a `meta` box gives away. A list of tags is judged by its parts. XML (from Sony's cameras: model,
  /// serial number, locations) and items are each judged as a whole.
  private static func disclosure(ofMetadata contents: ArraySlice<UInt8>) -> Disclosure {
    let parts = metadata(contents, isCut: true)
    guard !parts.contains(where: { $0.type == "ilst" || $0.type == "keys" || $0.type == "ID32" }) else {
      return .parts
    }
    for part in parts where part.type == "xml " || part.type == "bxml" { return opaque(part.contents) }
    guard let items = parts.first(where: { $0.type == "iinf" }) else { return .parts }
    let isShort = items.contents.first == 0
    let types = boxes(in: items.contents.dropFirst(isShort ? 6 : 8)).map { itemType($0.contents) }
    if types.allSatisfy({ pictureItems.contains($0) }) { return .identity }
    return opaque(contents)
  }

  /// Returns the type of the item in an `infe` box (ISO/IEC 14496-12, 8.11.6).
  private static func itemType(_ entry: ArraySlice<UInt8>) -> FourCharacterCode {
    FourCharacterCode(entry.dropFirst(entry.first == 3 ? 10 : 8))
  }

  /// Returns the name of an iTunes item that has one of its own (`----` with `mean`, `name` and `data`).
  private static func name(ofItem contents: ArraySlice<UInt8>) -> String {
    let name = boxes(in: contents).first { $0.type == "name" }
    return String(decoding: name?.contents.dropFirst(4) ?? [], as: UTF8.self)
  }

  /// Returns the boxes of a `meta` box. ISO's begins with a version and flags, QuickTime's does not.
  /// - Parameter isCut: as in ``boxes(in:isCut:)``.
  package static func metadata(_ contents: ArraySlice<UInt8>, isCut: Bool = false) -> [BoxInMemory] {
    boxes(in: contents.dropFirst(isFull(metadata: contents) ? 4 : 0), isCut: isCut)
  }

  /// Returns whether a `meta` box begins with a version and flags.
  package static func isFull(metadata contents: ArraySlice<UInt8>) -> Bool {
    !(contents.count >= 8 && FourCharacterCode(contents.dropFirst(4)) == "hdlr")
  }

  // MARK: Tracks

  /// Returns the offsets at which the boxes of a sample entry may begin: after the fields of pictures, of sound
  /// (QuickTime's versions 0, 1 and 2), of time codes, hints and text (3GPP TS 26.245), and of anything else.
  private static func entryFields(of handler: FourCharacterCode?) -> [Int] {
    switch handler {
    case "vide", "auxv", "pict": [78]
    case "soun": [28, 44, 64]
    case "tmcd": [26]
    case "hint": [16]
    case "text", "sbtl": [38]
    default: [8]
    }
  }

  /// Returns the boxes in a sample entry; none if it has none, or other fields than these.
  /// - Parameters:
  ///   - entry: the bytes after its header.
  ///   - handler: the handler type of its track.
  package static func boxes(
    inSampleEntry entry: ArraySlice<UInt8>, of handler: FourCharacterCode?
  ) -> [BoxInMemory] {
    let fields = entryFields(of: handler)
    // If there is only one possible offset, anything may follow the boxes.
    return fields.lazy.map { boxes(in: entry.dropFirst($0)) }.first {
      $0.last.map { $0.rest.count < 8 || fields.count == 1 } ?? false
    } ?? []
  }

  /// Returns the entries of a table that states their number after its version (`stsd`, `dref`), and what follows the
  /// last one.
  /// - Returns: nil if the entries are incomplete.
  package static func entries(
    ofTable contents: ArraySlice<UInt8>
  ) -> (entries: [BoxInMemory], rest: ArraySlice<UInt8>)? {
    guard contents.count >= 8 else { return nil }
    let count = contents.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | Int($1) }
    let entries = Array(boxes(in: contents.dropFirst(8)).prefix(count))
    return entries.count == count ? (entries, entries.last?.rest ?? contents.dropFirst(8)) : nil
  }

  /// The formats of timed metadata with positions: GoPro's, Google's camera motion, DJI's.
  package static let formatsOfPositions: Set<FourCharacterCode> = ["gpmd", "camm", "djmd", "dbgi"]
  /// The formats of timed metadata whose sample entry names what is in it: Apple's lists its keys there, ISO's a media
  /// type or an address.
  private static let namedFormats: Set<Code> = ["mebx", "mett", "metx", "urim"]

  /// Returns whether a track with such a sample entry records positions.
  /// - Parameter entry: returns the bytes after the entry's header.
  package static func recordsPositions(_ format: FourCharacterCode, entry: () -> ArraySlice<UInt8>) -> Bool {
    if formatsOfPositions.contains(format) { return true }
    guard namedFormats.contains(format) else { return false }
    let (entry, more) = (entry(), ["gps", "GPS", "misb", "KLV", "nmea", "parrot.videometadata"])
    return PlaceSearch.finds(in: entry)
      || more.contains { PlaceSearch.index(of: Array($0.utf8), in: entry) != nil }
  }

  /// Returns whether a sample of a data track gives away a position. Sony's real-time metadata has one for each
  /// picture.
  /// - Parameter format: the format of its sample entry; nil outside of the MP4 family.
  package static func tellsPosition(_ format: FourCharacterCode?, sample: ArraySlice<UInt8>) -> Bool {
    if format == "rtmd" {
      // The reference of a latitude: a tag, its length, north or south.
      return [UInt8(ascii: "N"), UInt8(ascii: "S")].contains {
        PlaceSearch.index(of: [0x85, 0x01, 0x00, 0x01, $0], in: sample) != nil
          || PlaceSearch.index(of: [0x85, 0x01, 0x00, 0x02, $0], in: sample) != nil
      }
    }
    // FFmpeg treats chapters and subtitles in a format unknown to it as data.
    return PlaceSearch.findsInSample(sample)
  }

  /// Returns whether the name of an encoder says nothing about a device: FFmpeg's own, that of a format, and those on
  /// which readers rely.
  package static func isHarmless(coderName field: ArraySlice<UInt8>) -> Bool {
    let name = field.dropFirst().prefix(Int(field.first ?? 0)).prefix { $0 != 0 }
    let known = [
      "Lavc", "AVC Coding", "HEVC Coding", "JVT/AVC Coding", "H.264", "VC Coding", "AOM Coding", "VPC Coding",
      "Planar", "Sorenson", "Apple ProRes", "Photo - JPEG", "MPEG", "DV", "HEVC", "x264", "x265",
    ]
    return field.allSatisfy { $0 == 0 } || known.contains { name.starts(with: $0.utf8) }
  }

  /// Words in the names of handlers that say what a track is, and nothing about who made it.
  private static let handlerWords: Set<String> = [
    "video", "sound", "audio", "subtitle", "subtitles", "text", "data", "time", "code", "timecode", "media",
    "handler",
    "videohandler", "soundhandler", "subtitlehandler", "texthandler", "datahandler", "audiohandler", "apple",
    "core",
    "iso", "alias", "url", "l", "smash", "mainconcept", "mono", "stereo", "surround", "track", "closed",
    "caption",
    "hint", "metadata", "clean", "aperture", "file",
  ]

  /// Returns whether a handler's name says nothing about who made the track.
  package static func isHarmless(handlerName name: ArraySlice<UInt8>) -> Bool {
    // QuickTime's name begins with its length.
    let text = name.drop { $0 < 0x20 }.prefix { $0 != 0 }
    let isLetter = { (byte: UInt8) in (0x61...0x7A).contains(byte | 0x20) && byte < 0x7B }
    guard text.allSatisfy({ isLetter($0) || [0x20, 0x2D, 0x2E].contains($0) }) else { return false }
    return text.split(whereSeparator: { !isLetter($0) }).allSatisfy {
      handlerWords.contains(String(decoding: $0, as: UTF8.self).lowercased())
    }
  }
}

/// A box that was read into memory.
package struct BoxInMemory {
  package let type: FourCharacterCode
  package let contents: ArraySlice<UInt8>
  /// The bytes after it.
  package let rest: ArraySlice<UInt8>
}

extension MoviePlaces {
  /// Returns the boxes at the beginning of `bytes`, one after the other.
  /// - Parameter isCut: whether the last box may extend beyond `bytes`.
  package static func boxes(in bytes: ArraySlice<UInt8>, isCut: Bool = false) -> [BoxInMemory] {
    var (found, rest): ([BoxInMemory], ArraySlice<UInt8>) = ([], bytes)
    func number(_ offset: Int) -> UInt64 {
      rest.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt64($1) }
    }
    while rest.count >= 8 {
      var (header, size) = (8, number(0))
      if size == 1, rest.count >= 16 { (header, size) = (16, number(8) << 32 | number(12)) }
      guard size >= header, size <= rest.count || isCut else { break }
      let box = rest.prefix(Int(clamping: size))
      rest = rest.dropFirst(box.count)
      found.append(
        BoxInMemory(
          type: FourCharacterCode(box.dropFirst(4)), contents: box.dropFirst(header), rest: rest))
    }
    return found
  }
}
