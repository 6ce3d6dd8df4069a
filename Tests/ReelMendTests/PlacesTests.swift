import Foundation
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

@testable import ReelMend

/// A place in an MP4 or related file where a program may write arbitrary data.
struct Place: CustomTestStringConvertible, Sendable {
  /// The bytes written there, which the mended file must not contain.
  static let marker = "SERIAL-4711-MARKER"
  /// The marker with a position that a fact reports.
  static let text = Array("\(marker) GPSLatitude=48.123456 GPSLongitude=11.567890".utf8)

  let testDescription: String
  var sample = "clips/moov-at-end.mp4"
  /// Whether the data names a location, so that `--strip-location` removes it.
  var isLocation = true
  /// Whether the fact reports it.
  var isTold = true
  let write: @Sendable (inout TestMovie) -> Void

  init(_ name: String, _ write: @escaping @Sendable (inout TestMovie) -> Void) {
    testDescription = name
    self.write = write
  }

  /// A separate box inside a box of the index.
  static func box(_ path: [FourCharacterCode], _ type: FourCharacterCode, _ contents: [UInt8] = text) -> Place
  {
    Place("\((path + [type]).map(\.text).joined(separator: "/"))") { movie in
      movie.add(MovieBox(type, contents), to: path)
    }
  }

  func not(told isTold: Bool = false, location isLocation: Bool = true) -> Place {
    var place = self
    (place.isTold, place.isLocation) = (isTold, isLocation)
    return place
  }
}

/// A sample with its index at the end, so that nothing else moves.
struct TestMovie {
  var movie: MovieBox
  var before: [UInt8]
  var behind: [UInt8] = []

  init(_ bytes: [UInt8]) throws {
    let boxes = MovieBox.children(of: bytes[...]).0
    let last = try #require(boxes.last)
    if last.type == "moov" {
      (movie, before) = (last, Array(bytes.dropLast(last.size)))
    } else {
      // The whole file; only its fragments are changed.
      (movie, before) = (MovieBox("moov", []), bytes)
    }
  }

  var bytes: [UInt8] { before + (movie.size > 8 ? movie.serialized : []) + behind }

  mutating func add(_ box: MovieBox, to path: [FourCharacterCode]) {
    for place in path.indices.dropFirst() {
      let parent = Array(path[1..<place])
      movie.change(parent[...]) { outer in
        guard outer[path[place]] == nil else { return }
        let head: [UInt8] = path[place] == "meta" ? [0, 0, 0, 0] : []
        outer.boxes.append(MovieBox(path[place], .boxes(head: head, [], tail: [])))
      }
    }
    movie.change(path.dropFirst()) { $0.boxes.append(box) }
  }
}

extension Place {
  private static let xyz = FourCharacterCode([0xA9] + Array("xyz".utf8))
  private static let xmp: [UInt8] =
    [0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC]
    + Array("<x:xmpmeta exif:GPSLatitude=\"48,7.4N\" x=\"\(marker)\"/>".utf8)
  private static let anyExtension = [UInt8](repeating: 0x77, count: 16) + text
  private static func full(_ contents: [UInt8]) -> [UInt8] { [0, 0, 0, 0] + contents }
  private static func handler(_ kind: String, _ name: String = "") -> MovieBox {
    MovieBox(
      "hdlr",
      [UInt8](repeating: 0, count: 8) + Array(kind.utf8) + [UInt8](repeating: 0, count: 12)
        + Array(name.utf8) + [0])
  }
  private static func keys(_ names: [String]) -> [MovieBox] {
    var head: [UInt8] = [0, 0, 0, 0]
    head.appendBigEndian(UInt32(names.count))
    let items = names.indices.map { place in
      MovieBox(
        FourCharacterCode([0, 0, 0, UInt8(place + 1)]),
        .boxes(
          head: [],
          [MovieBox("data", [0, 0, 0, 1, 0, 0, 0, 0] + Array("\(marker) +48.1234+011.5678/".utf8))], tail: [])
      )
    }
    return [
      handler("mdta"), MovieBox("keys", head + names.flatMap { MovieBox("mdta", Array($0.utf8)).serialized }),
      MovieBox("ilst", .boxes(head: [], items, tail: [])),
    ]
  }
  private static func metadata(_ path: [FourCharacterCode], _ boxes: [MovieBox]) -> Place {
    Place((path.map(\.text) + boxes.map(\.type.text)).joined(separator: "/")) { movie in
      for box in boxes { movie.add(box, to: path) }
    }
  }

  /// Exif with a position, in TIFF format.
  static let tiff: [UInt8] = {
    var bytes: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
    bytes += [0, 1, 0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 26, 0, 0, 0, 0]
    bytes += [0, 1, 0, 2, 0, 5, 0, 0, 0, 3, 0, 0, 0, 44, 0, 0, 0, 0]
    return bytes + [UInt8](repeating: 1, count: 24) + Array(marker.utf8)
  }()
  private static func cover(_ kind: UInt8, _ picture: [UInt8]) -> MovieBox {
    MovieBox(
      "ilst",
      .boxes(
        head: [], [MovieBox("covr", MovieBox("data", [0, 0, 0, kind, 0, 0, 0, 0] + picture).serialized)],
        tail: []))
  }
  private static func jpeg(_ name: String, _ segment: [UInt8], behind: [UInt8] = []) -> Place {
    let length = [UInt8((segment.count + 1) >> 8), UInt8((segment.count + 1) & 255)]
    let added: [UInt8] = segment.isEmpty ? [] : [0xFF, segment[0]] + length + Array(segment.dropFirst())
    var picture = Array(TestPictures.jpeg[..<2]) + added
    picture += TestPictures.jpeg[2...] + behind
    let cover = Self.cover(13, picture)
    return Place("cover \(name)") { movie in
      for box in [handler("mdir"), cover] {
        movie.add(box, to: ["moov", "udta", "meta"])
      }
    }
  }
  private static func png(_ type: String, _ contents: [UInt8]) -> Place {
    var chunk: [UInt8] = []
    chunk.appendBigEndian(UInt32(contents.count))
    let end = TestPictures.png.count - 12
    var picture = Array(TestPictures.png[..<end])
    picture += chunk + Array(type.utf8) + contents + [1, 2, 3, 4]
    picture += TestPictures.png[end...]
    let cover = Self.cover(14, picture)
    return Place("cover \(type)") { movie in
      for box in [handler("mdir"), cover] {
        movie.add(box, to: ["moov", "udta", "meta"])
      }
    }
  }

  private static let track: [FourCharacterCode] = ["moov", "trak"]

  /// Unused space, everywhere.
  private static let unused: [Place] =
    (["free", "skip", "wide"] as [FourCharacterCode]).flatMap { type in
      ([
        ["moov"], track, track + ["mdia"], track + ["mdia", "minf"], track + ["mdia", "minf", "stbl"],
        track + ["edts"],
        ["moov", "udta"], track + ["udta"], ["moov", "meta"], ["moov", "udta", "meta", "ilst"],
      ] as [[FourCharacterCode]]).map { box($0, type) }
    }
  private static let index: [Place] = [
    box(["moov"], "gps "), box(["moov"], "abcd"), box(track, "abcd"), box(track + ["mdia"], "abcd"),
    box(["moov"], "uuid", xmp), box(track, "uuid", xmp), box(["moov"], "uuid", anyExtension),
    box(["moov"], "XMP_"),
    box(track + ["mdia", "minf"], "uuid", xmp), box(["moov", "udta"], "uuid", xmp),
    box(["moov", "udta"], xyz), box(track + ["udta"], xyz),
    box(
      ["moov", "udta"], "loci", full([0x15, 0xC7] + Array(marker.utf8) + [UInt8](repeating: 0, count: 16))),
    box(["moov", "udta"], "GPS "), box(["moov", "udta"], "gps "), box(["moov", "udta"], "GPMF"),
    box(["moov", "udta"], "CNTH", TestPictures.jpeg + Array("Exif\0\0".utf8) + tiff),
    box(["moov", "udta"], "Xtra"),
    box(track + ["udta"], "abcd"), box(track + ["mdia", "udta"], "abcd"), box(["moov", "udta"], "XMP_"),
    box(["moov", "udta"], "manu", Array(marker.utf8)).not(told: false),
    box(["moov", "udta"], FourCharacterCode([0xA9] + Array("mak".utf8)), Array(marker.utf8)).not(
      location: false),
    box(["moov", "udta"], FourCharacterCode([0xA9] + Array("mak".utf8))),
    metadata(["moov", "meta"], [handler("nrtm"), MovieBox("xml ", full(text))]),
    metadata(track + ["meta"], [handler("nrtm"), MovieBox("bxml", full(text))]),
    metadata(["moov", "udta", "meta"], [MovieBox("xml ", full(text))]),
    metadata(["moov", "meta"], [handler("ID32"), MovieBox("ID32", full(text))]),
    metadata(["moov", "meta"], [handler("abcd"), MovieBox("abcd", text)]),
    metadata(["moov", "meco", "meta"], [handler("nrtm"), MovieBox("xml ", full(text))]),
    metadata(track + ["meco", "meta"], [MovieBox("bxml", full(text))]), box(["moov", "meco"], "mere"),
    metadata(["moov", "meta"], keys(["com.apple.quicktime.location.ISO6709"])),
    metadata(track + ["meta"], keys(["com.apple.quicktime.title", "com.apple.quicktime.location.ISO6709"])),
    metadata(["moov", "udta", "meta"], keys(["com.example.place"])),
    metadata(
      ["moov", "udta", "meta"],
      [
        handler("mdir"),
        MovieBox(
          "ilst",
          .boxes(
            head: [],
            [
              MovieBox(
                "----",
                MovieBox("mean", full(Array("com.example".utf8))).serialized
                  + MovieBox("name", full(Array("gps".utf8))).serialized
                  + MovieBox("data", full(full(Array(marker.utf8)))).serialized)
            ], tail: [])),
      ]),
    jpeg("Exif", [0xE1] + Array("Exif\0\0".utf8) + tiff),
    jpeg("XMP", [0xE1] + Array("http://ns.adobe.com/xap/1.0/\0".utf8) + text),
    jpeg(
      "IPTC",
      [0xED] + Array("Photoshop 3.0\0".utf8) + Array("8BIM".utf8) + [
        4, 4, 0, 0, 0, 0, 0, 22, 0x1C, 2, 90, 0, 18,
      ] + Array(marker.utf8)),
    jpeg("comment", [0xFE] + text), jpeg("what follows its end", [], behind: text),
    png("eXIf", tiff), png("tEXt", text), png("iTXt", text),
    Place("the tail of udta") { movie in
      movie.movie.boxes.append(MovieBox("udta", .boxes(head: [], [], tail: text)))
    },
    Place("handler's name") { movie in
      movie.movie.change((track + ["mdia"]).dropFirst()) { $0["hdlr"] = handler("vide", marker) }
    }.not(location: false),
    Place("coder's name") { movie in
      movie.movie.change((track + ["mdia", "minf", "stbl", "stsd"]).dropFirst()) { box in
        var bytes = box.bytes
        bytes.replaceSubrange(58..<90, with: [18] + Array(marker.utf8) + [UInt8](repeating: 0, count: 13))
        box.bytes = bytes
      }
    }.not(location: false),
  ]
  private static let media = track + ["mdia", "minf"]
  private static let table = media + ["stbl"]

  /// Boxes that are unknown to every reader, or known only elsewhere or in QuickTime.
  private static let misplaced: [Place] =
    ([
      ["moov"], track, track + ["mdia"], media, table, media + ["dinf"], track + ["edts"],
      ["moov", "mvex"], track + ["tapt"], media + ["gmhd"],
    ] as [[FourCharacterCode]]).flatMap { path in
      ([
        "abcd", "name", "cprt", "pnot", "PICT", "imap", "load", "clip", "matt", "ctab", "prfl", "mfra",
        "XMP_",
        "gps ", "emsg",
      ] as [FourCharacterCode]).map { box(path, $0) }
    } + [
      behind("/pnot", MovieBox("pnot", text).serialized), behind("/PICT", MovieBox("PICT", text).serialized),
    ]

  /// Data in the first sample entry, after its boxes.
  private static func entry(_ name: String, _ bytes: [UInt8]) -> Place {
    Place("sample entry/\(name)") { movie in
      movie.movie.change((table + ["stsd"]).dropFirst()) { box in
        var all = box.bytes
        let size = all.bigEndian32(at: 8)
        all.insert(contentsOf: bytes, at: 8 + Int(size))
        all.setBigEndian(size + UInt32(bytes.count), at: 8)
        box.bytes = all
      }
    }
  }
  /// Data after the entries that a table counts.
  private static func tail(_ path: [FourCharacterCode], _ name: String, _ bytes: [UInt8]) -> Place {
    Place("behind the entries of \(path.last?.text ?? "")/\(name)") { movie in
      movie.movie.change(path.dropFirst()) { $0.bytes += bytes }
    }
  }
  private static let tables: [Place] =
    (["free", "abcd", "uuid", "gps ", "XMP_", "udta", "name", "clip"] as [FourCharacterCode]).flatMap {
      type in
      let bytes = MovieBox(type, type == "uuid" ? anyExtension : text).serialized
      return [
        entry(type.text, bytes), tail(table + ["stsd"], type.text, bytes),
        tail(media + ["dinf", "dref"], type.text, bytes),
      ]
    } + [
      entry("no box", text), tail(table + ["stsd"], "no box", text),
      tail(media + ["dinf", "dref"], "no box", text),
      // The file's own name, and the names of its original disk and folders.
      Place("dref/alis") { movie in
        movie.movie.change((media + ["dinf"]).dropFirst()) {
          $0["dref"] = MovieBox(
            "dref", [0, 0, 0, 0, 0, 0, 0, 1] + MovieBox("alis", [0, 0, 0, 1] + text).serialized)
        }
      }.not(told: false),
      Place("tref") { movie in
        movie.add(MovieBox("tref", .boxes(head: [], [MovieBox("cdsc", text)], tail: [])), to: track)
      }.not(told: false),
    ]
  private static let fragments: [Place] = [
    behind("/mfra", MovieBox("mfra", text).serialized),
    behind("/mfra/abcd", MovieBox("mfra", MovieBox("abcd", text).serialized).serialized),
  ]
  private static func behind(_ name: String, _ bytes: [UInt8]) -> Place { Place(name) { $0.behind = bytes } }
  private static let file: [Place] = [
    behind("/free", MovieBox("free", text).serialized), behind("/skip", MovieBox("skip", text).serialized),
    behind("/free/gps ", MovieBox("free", MovieBox("gps ", Array(marker.utf8)).serialized).serialized),
    behind("/uuid XMP", MovieBox("uuid", xmp).serialized),
    behind("/uuid", MovieBox("uuid", anyExtension).serialized),
    behind("/abcd", MovieBox("abcd", text).serialized), behind("/gps0", MovieBox("gps0", text).serialized),
    behind("/udta", MovieBox("udta", MovieBox(xyz, text).serialized).serialized),
    behind("/meta/xml", MovieBox("meta", full(MovieBox("xml ", full(text)).serialized)).serialized),
    behind(
      "/meta/ilst",
      MovieBox("meta", full(MovieBox("ilst", MovieBox(xyz, text).serialized).serialized)).serialized),
    behind(
      "/meco",
      MovieBox("meco", MovieBox("meta", full(MovieBox("xml ", full(text)).serialized)).serialized).serialized),
    behind("/emsg", MovieBox("emsg", text).serialized),
    behind("no box", [0, 0, 0, 2] + text),
  ]

  static let all = unused + index + file + misplaced + tables + fragments
}

@Suite(.shortTime) struct PlacesTests {
  @Test(arguments: Place.all) func nothingIsLeftOfWhatStandsThere(_ place: Place) throws {
    let sample = MendSample.named(place.sample)
    var movie = try TestMovie(contents(of: sample.path))
    place.write(&movie)
    let folder = try TemporaryFolder()
    try folder.write(movie.bytes, to: "own.mp4")
    let path = folder.path(of: "own.mp4")
    #expect(Self.marks(movie.bytes) > 0)
    let told = try facts(of: path, as: .mp4)
    #expect(told.hasLocation == (place.isTold && place.isLocation))
    // Data after a table's entries is no entry: the proof of a mend compares all statements about a file.
    #expect(told.external == false && told.encrypted == false)
    for mend in [Mend.location, .privateTags] where mend == .privateTags || place.isLocation {
      let copy = try MendedCopy(of: path, as: .mp4, MendOptions([mend]))
      #expect(copy.done == [mend], "\(mend)")
      #expect(Self.marks(contents(of: copy.path)) == 0, "\(mend)")
      #expect(try facts(of: copy.path, as: .mp4).hasLocation == false)
      #expect(
        try digests(of: copy.path, as: .mp4, metadataCounts: false)
          == digests(of: path, as: .mp4, metadataCounts: false))
      #expect(try MendedCopy(of: copy.path, as: .mp4, MendOptions([mend])).done.isEmpty, "\(mend), once more")
    }
  }

  /// Each fragment may have its own metadata, and keeps its size.
  @Test(arguments: ["moof", "traf"], ["udta", "free", "uuid", "meta", "abcd", "pnot"])
  func nothingIsLeftInFragments(_ parent: String, _ type: String) throws {
    let sample = MendSample.named("clips/fragmented.mp4")
    var bytes = contents(of: sample.path)
    let fragment = try #require(Data(bytes).range(of: Data("moof".utf8))).lowerBound - 4
    let track = try #require(Data(bytes).range(of: Data("traf".utf8))).lowerBound - 4
    let box = MovieBox(FourCharacterCode(Array(type.utf8)), [UInt8](repeating: 0x55, count: 16) + Place.text)
      .serialized
    func grow(_ place: Int) {
      bytes.setBigEndian(bytes.bigEndian32(at: place) + UInt32(box.count), at: place)
    }
    let end =
      parent == "moof"
      ? fragment + Int(bytes.bigEndian32(at: fragment)) : track + Int(bytes.bigEndian32(at: track))
    grow(fragment)
    if parent == "traf" { grow(track) }
    bytes.insert(contentsOf: box, at: end)
    // The offsets of the samples count from the start of the fragment.
    let run = try #require(Data(bytes).range(of: Data("trun".utf8))).lowerBound
    var offsets = 0
    for place in Self.runs(of: bytes, in: fragment..<fragment + Int(bytes.bigEndian32(at: fragment))) {
      bytes.setBigEndian(bytes.bigEndian32(at: place + 12) + UInt32(box.count), at: place + 12)
      offsets += 1
    }
    #expect(run > 0 && offsets > 0)
    let folder = try TemporaryFolder()
    try folder.write(bytes, to: "own.mp4")
    let path = folder.path(of: "own.mp4")
    #expect(try facts(of: path, as: .mp4).hasLocation == true)
    for mend in [Mend.location, .privateTags] {
      let copy = try MendedCopy(of: path, as: .mp4, MendOptions([mend]))
      #expect(copy.done == [mend] && Self.marks(contents(of: copy.path)) == 0, "\(mend)")
      #expect(try facts(of: copy.path, as: .mp4).hasLocation == false)
      #expect(try digests(of: copy.path, as: .mp4) == digests(of: path, as: .mp4))
    }
  }

  /// The positions of the run boxes' types in a fragment.
  private static func runs(of bytes: [UInt8], in range: Range<Int>) -> [Int] {
    let name = Array("trun".utf8)
    return range.filter { $0 + 4 <= bytes.count && bytes[$0..<$0 + 4].elementsEqual(name) }
  }

  /// Items listed in a `meta` box are removed with it, even in the media data.
  @Test func nothingIsLeftOfItems() throws {
    let sample = MendSample.named("clips/moov-at-end.mp4")
    var bytes = contents(of: sample.path)
    let place = try #require(Data(bytes).range(of: Data("mdat".utf8))).lowerBound - 4
    let size = Int(bytes.bigEndian32(at: place))
    bytes.setBigEndian(UInt32(size + Place.tiff.count), at: place)
    bytes.insert(contentsOf: Place.tiff, at: place + size)
    var list: [UInt8] = [0, 0, 0, 0, 0x44, 0x00, 0, 1, 0, 1, 0, 0, 0, 1]
    list.appendBigEndian(UInt32(place + size))
    list.appendBigEndian(UInt32(Place.tiff.count))
    let entry = MovieBox("infe", [2, 0, 0, 0, 0, 1, 0, 0] + Array("Exif".utf8) + [0]).serialized
    let items = MovieBox("iinf", [0, 0, 0, 0, 0, 1] + entry).serialized + MovieBox("iloc", list).serialized
    let folder = try TemporaryFolder()
    try folder.write(bytes + MovieBox("meta", [0, 0, 0, 0] + items).serialized, to: "own.mp4")
    for mend in [Mend.location, .privateTags] {
      let copy = try MendedCopy(of: folder.path(of: "own.mp4"), as: .mp4, MendOptions([mend]))
      #expect(copy.done == [mend] && Self.marks(contents(of: copy.path)) == 0, "\(mend)")
    }
  }

  /// What viewers should see is kept.
  @Test func titlesAndCoversStay() throws {
    var movie = try TestMovie(contents(of: MendSample.named("clips/cover.mp4").path))
    movie.add(MovieBox(FourCharacterCode([0xA9] + Array("xyz".utf8)), Place.text), to: ["moov", "udta"])
    let title = MovieBox("data", [0, 0, 0, 1, 0, 0, 0, 0] + Array("Tide".utf8)).serialized
    movie.add(
      MovieBox(FourCharacterCode([0xA9] + Array("nam".utf8)), title), to: ["moov", "udta", "meta", "ilst"])
    let folder = try TemporaryFolder()
    try folder.write(movie.bytes, to: "own.mp4")
    let before = try facts(of: folder.path(of: "own.mp4"), as: .mp4)
    #expect(before.hasCover == true && before.title == "Tide")
    for mend in [Mend.location, .privateTags] {
      let copy = try MendedCopy(of: folder.path(of: "own.mp4"), as: .mp4, MendOptions([mend]))
      #expect(copy.done == [mend] && Self.marks(contents(of: copy.path)) == 0, "\(mend)")
      let after = try facts(of: copy.path, as: .mp4)
      #expect(after.hasCover == true && after.title == before.title, "\(mend)")
    }
  }

  /// A cover with other pixels is not the same.
  @Test func aCoverIsProvedByItsPixels() throws {
    let pictures = [TestPictures.jpeg, TestPictures.jpeg.map { $0 == 0x43 ? 0x44 : $0 }]
    let found = try pictures.map { picture -> [StreamDigest] in
      var movie = try TestMovie(contents(of: MendSample.named("clips/moov-at-end.mp4").path))
      movie.add(
        MovieBox(
          "hdlr", [UInt8](repeating: 0, count: 8) + Array("mdir".utf8) + [UInt8](repeating: 0, count: 13)),
        to: ["moov", "udta", "meta"])
      movie.add(
        MovieBox(
          "ilst",
          .boxes(
            head: [], [MovieBox("covr", MovieBox("data", [0, 0, 0, 13, 0, 0, 0, 0] + picture).serialized)],
            tail: [])),
        to: ["moov", "udta", "meta"])
      let folder = try TemporaryFolder()
      try folder.write(movie.bytes, to: "own.mp4")
      return try digests(of: folder.path(of: "own.mp4"), as: .mp4, metadataCounts: false)
    }
    #expect(found[0].count == found[1].count && found[0] != found[1])
  }

  private static let avchd: [UInt8] =
    [0x17, 0xEE, 0x8C, 0x60, 0xF8, 0x4D, 0x11, 0xD9, 0x8C, 0xD6, 0x08, 0x00, 0x20, 0x0C, 0x9A, 0x66]
    + Array("MDPM".utf8)
  /// With a position of 37.5 degrees, and without one.
  private static let cars: [[UInt8]] = [
    [6, 5, 15, 0x42, 0x42, 0x42, 0x69, 8, 1, 0x59, 0, 0, 3, 0, 0, 3, 0, 0xC0, 0x42, 0x40, 0x80],
    [6, 5, 6, 0x42, 0x42, 0x42, 0x69, 8, 1, 0x80],
  ]

  /// Cameras write their position into the pictures themselves, some of them only once it is known.
  @Test(
    arguments: [
      (avchd + [1, 0xB2, 0, 48, 0, 1], true), (avchd + [1, 0xE0, 0, 48, 0, 1], false), (cars[0], true),
      (cars[1], false),
    ], [false, true])
  func whatPicturesSayIsNotTakenOut(_ message: (bytes: [UInt8], isLocation: Bool), _ isLate: Bool) throws {
    let sample = MendSample.named("clips/moov-at-end.mp4")
    var bytes = contents(of: sample.path)
    // It overwrites the picture's own bytes: readers of the message do not decode the picture.
    let track = try TestMovie(bytes).movie["trak"]
    let keys = try #require(track?[["mdia", "minf", "stbl"]]?.keySamples).sorted()
    let key = try #require(isLate ? keys.last : keys.first)
    let picture = try #require(try track?.ranges(ofSamples: [key]).first)
    let start = Int(picture.lowerBound) + 8
    bytes.replaceSubrange(start..<start + message.bytes.count, with: message.bytes)
    let folder = try TemporaryFolder()
    try folder.write(bytes, to: "own.mp4")
    let path = folder.path(of: "own.mp4")
    #expect(CameraMessage.disclosure(of: bytes[...]) == (message.isLocation ? .location : .identity))
    #expect(try facts(of: path, as: .mp4).hasLocation == message.isLocation)
    for (mend, isRefused) in [(Mend.location, message.isLocation), (.privateTags, true)] {
      if isRefused {
        let error = #expect(throws: MendError.self) {
          try MendedCopy(of: path, as: .mp4, MendOptions([mend]))
        }
        #expect(error?.code == .notMendable)
      } else {
        #expect(try MendedCopy(of: path, as: .mp4, MendOptions([mend])).done.isEmpty)
      }
    }
  }

  /// A late frame of the audio is turned into visible text.
  @Test(arguments: [("GPS(11.5678,48.1234)", true), ("GPS? Not yet.", false)])
  func whatIsShownLateIsNotTakenOut(_ text: String, _ isLocation: Bool) throws {
    var bytes = contents(of: MendSample.named("clips/moov-at-end.mp4").path)
    let movie = try TestMovie(bytes).movie
    let track = try #require(movie.boxes.last { $0.type == "trak" })
    let count = try #require(track[["mdia", "minf", "stbl"]]?.sampleCount)
    let late = try #require(SampleSearch.numbers(of: count).last { $0 < count - 1 })
    let sample = try #require(try track.ranges(ofSamples: [late]).first)
    for (old, new) in [("soun", "text"), ("mp4a", "text")] {
      let place = try #require(Data(bytes).range(of: Data(old.utf8), options: .backwards)).lowerBound
      bytes.replaceSubrange(place..<place + 4, with: Array(new.utf8))
    }
    let start = Int(sample.lowerBound)
    bytes.replaceSubrange(start..<start + text.utf8.count, with: Array(text.utf8))
    let folder = try TemporaryFolder()
    try folder.write(bytes, to: "own.mp4")
    let path = folder.path(of: "own.mp4")
    #expect(try facts(of: path, as: .mp4).hasLocation == isLocation)
    if isLocation {
      let error = #expect(throws: MendError.self) {
        try MendedCopy(of: path, as: .mp4, MendOptions([.location]))
      }
      #expect(error?.code == .notMendable)
    } else {
      #expect(try MendedCopy(of: path, as: .mp4, MendOptions([.location])).done.isEmpty)
    }
  }

  @Test func samplesAreFoundByTheirNumbers() throws {
    let movie = try TestMovie(contents(of: MendSample.named("clips/moov-at-end.mp4").path)).movie
    for track in movie.boxes where track.type == "trak" {
      let table = try SampleTable(try #require(track[["mdia", "minf", "stbl"]]))
      let all = table.samples.map { $0.offset..<$0.end }
      #expect(try track.ranges(ofSamples: Array(all.indices)) == all)
      let some = [1, 7, all.count - 1]
      #expect(try track.ranges(ofSamples: some) == some.map { all[$0] })
      #expect(
        track[["mdia", "minf", "stbl"]]?.keySamples ?? Set(all.indices)
          == Set(all.indices.filter { table.samples[$0].isSync }))
    }
  }

  private static func marks(_ bytes: [UInt8]) -> Int {
    let (data, marker) = (Data(bytes), Data(Place.marker.utf8))
    var (count, start) = (0, 0)
    while let found = data.range(of: marker, in: start..<data.count) {
      (count, start) = (count + 1, found.upperBound)
    }
    return count
  }
}

/// Pictures of 32 and 16 pixels.
enum TestPictures {
  static let jpeg = decoded(
    """
    /9j/4AAQSkZJRgABAgAAAQABAAD//gAQTGF2YzU5LjM3LjEwMAD/2wBDAAgoKC8oLzc3Nzc3N0E8QUNDQ0FBQUFDQ0NISEhVVVVI
    SEhDQ0hIUFBVVVxfXFdXVVdfX2RkZHh4c3OMjJGsrM//xAB6AAEAAwEBAAAAAAAAAAAAAAAHAwQGCAUBAAEFAQAAAAAAAAAAAAAA
    AAcFAwQCAQYQAAIBAgMIAgMBAAAAAAAAAAECAwARMSEEsYHBcUJB0VFhoZFS4RIRAAIBAwIHAQEAAAAAAAAAAAIBAxEAEhMhkWGB
    BFHhQTEj/8AAEQgAIAAgAwEiAAIRAAMRAP/aAAwDAQACEQMRAD8AwGkiL3OC5Z8B816k0rrazMuOBI2UqRRrHp4bd1/0fksAf5yo
    Zn6d/Cuw7eMG6tJvnveibNSp0/mgQ+Vk6vjbRLGi2sqi98ABsqfSTqxKmwY4D3b14q1P07+Fc8tI0To64qb7Mjbse9BztzJqjJuv
    l1uoCicze+ngx5ZKj429xsG08BH6AbwAD9ihGfp38K2Wm1SAWs34Hmr7zqhzDZ8vNEHt5zR4qJvr6toxKHUYrUUmO/5THbre4n6d
    /CucZVLsijMk2HM2pR1MDXBuv34qaPSyOOkW9nwDSDFBGI5DKjp8S93LgIXqo2gcmGz+YqvXbhf/2Q==
    """)
  static let png = decoded(
    """
    iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAACXBIWXMAAAABAAAAAQBPJcTWAAAAb0lEQVR4nO3SywmAMBAE0OlE
    O9FOtBPtRDvRTrSTkf0kgSAGPXhKWNhM2LenAHqoZY1aFixZt4MM0K90xgRzEGZuQHxKwHc8At/5BYTJMojbKygACSO44yAmopHc
    g6uML0THFpzBU/JGDD+At7/1As7VYK4oz0zvAAAAAElFTkSuQmCC
    """)

  private static func decoded(_ text: String) -> [UInt8] {
    Array(Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data())
  }
}
