import Foundation
import ReelCore
import Testing
import ReelTestSupport

@testable import ReelProbe

/// Whether a movie's samples are in the file itself or in others that it only names.
struct ExternalMediaTests {
  private func read(_ bytes: [UInt8]) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: .mp4).media
  }

  struct Example: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let movie: SmallMovie
    let external: Bool?

    init(_ name: String, _ movie: SmallMovie, _ external: Bool?) {
      (testDescription, self.movie, self.external) = (name, movie, external)
    }
  }

  private static let own = SmallMovie.reference("url ", flags: 1)
  private static let other = SmallMovie.reference("url ", flags: 0, Array("file:///media/a.mov\0".utf8))

  static let examples = [
    Example("an address that is this file", SmallMovie(references: [own]), false),
    Example("an address of another file", SmallMovie(references: [other]), true),
    Example("no address", SmallMovie(references: [SmallMovie.reference("url ", flags: 0)]), false),
    Example(
      "no address, and other flags", SmallMovie(references: [SmallMovie.reference("url ", flags: 2)]), false),
    Example("an empty address", SmallMovie(references: [SmallMovie.reference("url ", flags: 0, [0])]), false),
    Example(
      "a name", SmallMovie(references: [SmallMovie.reference("urn ", flags: 0, Array("urn:a\0".utf8))]), true),
    Example("an alias", SmallMovie(references: [SmallMovie.alias("/media/a.mov")]), true),
    Example(
      "an alias that is this file", SmallMovie(references: [SmallMovie.reference("alis", flags: 1)]), false),
    Example(
      "a resource", SmallMovie(references: [SmallMovie.reference("rsrc", flags: 0, [1, 2, 3])]), true),
    Example(
      "identified media data",
      SmallMovie(references: [SmallMovie.reference("imdt", flags: 0, [0, 0, 0, 1])]), false),
    Example("of two the first", SmallMovie(references: [own, other], reference: 1), false),
    Example("of two the second", SmallMovie(references: [own, other], reference: 2), true),
    Example("references behind the table", SmallMovie(references: [other], referencesLast: true), true),
    Example("one that is not there", SmallMovie(references: [own], reference: 2), nil),
    Example("number 0", SmallMovie(references: [other], reference: 0), nil),
    Example("no references", SmallMovie(references: nil), nil),
    Example(
      "sound alone", SmallMovie(extra: SmallMovie(handler: "soun", references: [other]).track(2, dataAt: 0)),
      true),
    Example(
      "timecode", SmallMovie(extra: SmallMovie(handler: "tmcd", references: [other]).track(2, dataAt: 0)),
      false),
    Example("a track without a handler", SmallMovie(handler: nil, references: [other]), true),
    Example("another movie as well", SmallMovie(extra: SmallMovie.otherMovie), true),
    Example("fragments", SmallMovie(declaresFragments: true, references: [other]), true),
  ]

  @Test(arguments: examples) func aReferenceSaysWhereTheSamplesLie(_ example: Example) throws {
    let media = try read(example.movie.bytes)
    #expect(media.external == example.external)
    #expect(media.video?.width == 64)
    // An index of another file says nothing about the end of this one.
    if example.external == true { #expect(media.truncated == nil && media.bitRate == nil) }
  }

  @Test func anIndexWithoutItsDataIsNotCutOff() throws {
    let movie = SmallMovie.external
    let bytes = Array(movie.bytes.dropLast(8 + movie.samples * movie.sampleSize))
    let media = try read(bytes)
    #expect(media.external == true && media.truncated == nil)
    #expect(media.warnings == [])
  }

  /// QuickTime may compress its index, which only FFmpeg reads then; it reports the tracks that it leaves out.
  @Test func aCompressedIndexIsSeenToPointElsewhere() throws {
    var movie = SmallMovie(fastStart: false, references: [SmallMovie.alias("/media/a.mov")])
    #expect(try read(movie.withCompressedIndex).external == true)
    movie.references = [Self.own]
    let media = try read(movie.withCompressedIndex)
    #expect(media.external == nil && media.video?.width == 64)
  }

  @Test func aMovieThatOnlyNamesAnotherIsNotRead() throws {
    let file = try #require(
      OpenFile(holding: SmallMovie(brand: "qt  ", extra: SmallMovie.otherMovie, tracks: 0).bytes))
    let error = #expect(throws: ProbeError.self) { try file.read(as: .mov) }
    #expect(error == .externalMedia)
  }

  @Test func thousandsOfReferencesAreAllRead() throws {
    var references = Array(repeating: Self.own, count: 65_534)
    #expect(try read(SmallMovie(references: references, reference: 65_534).bytes).external == false)
    references.append(Self.other)
    #expect(try read(SmallMovie(references: references, reference: 65_535).bytes).external == true)
  }

  @Test func aCountThatIsALieCostsNothing() throws {
    var bytes = SmallMovie.external.bytes
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("dref".utf8)) })
    bytes.replaceSubrange((place + 8)..<(place + 12), with: [0xFF, 0xFF, 0xFF, 0xFF])
    // FFmpeg does not open it.
    #expect(throws: ProbeError.self) { try read(bytes) }
  }

  /// Real clips with changed data references only: the bytes are all there, but are not what a player shows.
  @Test(arguments: ["faststart.mp4", "phone-portrait.mov", "fragmented.mp4", "hdr10.mov"])
  func bothWaysSayIt(name: String) throws {
    let samples = Checkout.root.appending(path: "Samples/clips")
    let whole = try Data(contentsOf: samples.appending(path: name))
    let file = try #require(OpenFile(holding: SmallMovie.elsewhere(Array(whole))))
    let container = try #require(file.sniffed)
    let quick = try file.read(as: container)
    let full = try file.read(as: container, alwaysFull: true)
    #expect(quick.media.external == true && full.media.external == true)
    #expect(differences(quick.media, full.media) == [])
    let original = try #require(OpenFile(holding: Array(whole)))
    #expect(try original.read(as: container).media.external == false)
    #expect(try original.read(as: container, alwaysFull: true).media.external == false)
  }

  // MARK: Matroska

  private static let uuid = [UInt8](repeating: 7, count: 16)

  private static func chapters(_ segment: [UInt8], depth: Int = 1) -> [UInt8] {
    let inner = SmallMatroska.element(0x6E67, segment)
    let chapter = (0..<depth).reduce(inner) { inner, _ in SmallMatroska.element(0xB6, inner) }
    return SmallMatroska.element(0x1043_A770, SmallMatroska.element(0x45B9, chapter))
  }

  private static let foreign = [UInt8](repeating: 9, count: 16)

  @Test(arguments: [0x3CB923, 0x3EB923, 0x4444, 0x3C83AB] as [UInt32]) func aLinkedSegmentIsSaid(id: UInt32)
    throws
  {
    let media = try read(matroska: SmallMatroska(information: SmallMatroska.element(id, Self.uuid)))
    #expect(media.warnings.map(\.code) == [.linkedSegments])
    #expect(media.external == nil)
  }

  @Test func chaptersOfAnotherFileAreSaid() throws {
    let own = SmallMatroska.element(0x73A4, Self.uuid)
    let examples: [(SmallMatroska, [MediaWarning.Code])] = [
      (SmallMatroska(information: own, beforeClusters: Self.chapters(Self.foreign)), [.linkedSegments]),
      (SmallMatroska(information: own, beforeClusters: Self.chapters(Self.uuid)), []),
      (
        SmallMatroska(information: own, beforeClusters: Self.chapters(Self.foreign, depth: 40)),
        [.linkedSegments]
      ),
      (SmallMatroska(information: own, behindClusters: Self.chapters(Self.foreign)), [.linkedSegments]),
      (SmallMatroska(information: own, behindClusters: Self.chapters(Self.uuid)), []),
      (SmallMatroska(beforeClusters: Self.chapters(Self.foreign)), [.linkedSegments]),
      (SmallMatroska(information: own), []),
    ]
    for (number, (file, codes)) in examples.enumerated() {
      #expect(try read(matroska: file).warnings.map(\.code) == codes, "\(number)")
    }
  }

  private func read(matroska: SmallMatroska) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: matroska.bytes))
    let quick = try file.read(as: .matroska)
    #expect(differences(quick.media, try file.read(as: .matroska, alwaysFull: true).media) == [])
    return quick.media
  }
}

extension SmallMatroska {
  /// A segment that continues in another file, as do its chapters.
  static let linked = SmallMatroska(
    information: element(0x3EB923, [UInt8](repeating: 7, count: 16)),
    beforeClusters: element(
      0x1043_A770, element(0x45B9, element(0xB6, element(0x6E67, [UInt8](repeating: 9, count: 16))))))
}

extension SmallMovie {
  /// A movie whose samples are in another file.
  static let external = SmallMovie(
    extra: otherMovie,
    references: [alias("/media/a.mov"), reference("url ", flags: 0, Array("a.mov\0".utf8))],
    reference: 2)

  /// A reference movie (QuickTime File Format, "Reference movies").
  static let otherMovie = box(
    "rmra", box("rmda", box("rdrf", u32(0) + Array("url ".utf8) + u32(6) + Array("a.mov\0".utf8))))

  /// A file alias as classic Mac OS stored it, with the absolute path `path`, as far as FFmpeg reads it.
  static func alias(_ path: String) -> [UInt8] {
    let zeros = { [UInt8](repeating: 0, count: $0) }
    let volume = [0] + zeros(27)
    let file = [0] + zeros(63)
    let text = Array(path.utf8) + (path.utf8.count % 2 == 1 ? [0] : [])
    let record = zeros(10) + volume + zeros(12) + file + zeros(16) + u16(0xFFFF) + u16(0xFFFF) + zeros(16)
    return reference("alis", flags: 0, record + u16(2) + u16(text.count) + text + u16(0xFFFF) + u16(0))
  }

  /// The movie with all data references pointing to another file.
  static func elsewhere(_ bytes: [UInt8]) -> [UInt8] {
    let own = Array("url ".utf8) + [0, 0, 0, 1]
    var bytes = bytes
    for place in bytes.indices where bytes[place] == own[0] && bytes[place...].starts(with: own) {
      bytes.replaceSubrange(place..<place + 8, with: Array("urn ".utf8) + [0, 0, 0, 0])
    }
    return bytes
  }

  /// The movie with its index in a `cmov`, not really compressed: one stored block of a zlib stream (RFC 1950, 1951).
  var withCompressedIndex: [UInt8] {
    guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: Array("moov".utf8)) }) else {
      return []
    }
    let index = Array(bytes[(place - 4)...])
    let length = UInt16(truncatingIfNeeded: index.count)
    let block = [
      UInt8(truncatingIfNeeded: length), UInt8(length >> 8), UInt8(truncatingIfNeeded: ~length),
      UInt8(~length >> 8),
    ]
    var (low, high) = (UInt32(1), UInt32(0))
    for byte in index {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    let stream = [0x78, 0x01, 0x01] + block + index + Self.u32(high << 16 | low)
    let compressed =
      Self.box("dcom", Array("zlib".utf8)) + Self.box("cmvd", Self.u32(UInt32(index.count)) + stream)
    return Array(bytes[..<(place - 4)]) + Self.box("moov", Self.box("cmov", compressed))
  }

  /// Chapters to be played in order and nothing else: a part of the file, the file twice, the whole file, or one with
  /// an invalid end.
  @Test(
    arguments: [([(0.5, 1.5)], 1.0), ([(0, 2), (0, 2)], 4), ([(0, 2)], nil), ([(0, 1), (1, 1)], nil)]
      as [([(Double, Double)], Double?)])
  func orderedChapters(chapters: [(Double, Double)], stated: Double?) throws {
    func warnings(isOrdered: Bool) throws -> [MediaWarning] {
      let atoms = chapters.flatMap { start, end in
        SmallMatroska.element(
          0xB6, SmallMatroska.number(0x91, Int(start * 1e9)) + SmallMatroska.number(0x92, Int(end * 1e9)))
      }
      let disabled = SmallMatroska.element(
        0xB6,
        SmallMatroska.number(0x91, 0) + SmallMatroska.number(0x92, 1_000_000_000)
          + SmallMatroska.number(0x4598, 0))
      let edition = SmallMatroska.element(
        0x45B9, SmallMatroska.number(0x45DD, isOrdered ? 1 : 0) + atoms + disabled)
      let file = SmallMatroska(beforeClusters: SmallMatroska.element(0x1043_A770, edition))
      return try #require(OpenFile(holding: file.bytes)).read(as: .matroska).media.warnings
    }
    #expect(try warnings(isOrdered: true).map(\.stated) == [stated].compactMap { $0.map { .number($0) } })
    #expect(try warnings(isOrdered: false).isEmpty)
  }
}
