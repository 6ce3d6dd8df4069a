import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

@testable import ReelMend

@Suite struct MovieBoxTests {
  /// A box that is parsed and serialized again is unchanged.
  @Test func keepsEveryByte() throws {
    for sample in MendSample.all {
      let bytes = contents(of: sample.path)
      for box in MovieBox.children(of: bytes[...]).0 where box.type == "moov" {
        let place = try #require(bytes.range(of: Array("moov".utf8)))
        let size = Int(bytes.bigEndian32(at: place - 4))
        #expect(box.serialized == Array(bytes[(place - 4)..<(place - 4 + size)]), "\(sample.path)")
      }
    }
  }

  /// A box with a wrong size, or a terminator, stays where it is.
  @Test func keepsWhatIsNoBox() {
    let name = MovieBox("name", Array("x".utf8)).serialized
    for tail in [[0, 0, 0, 0], [0, 0, 0, 99] + Array("free".utf8), [0, 0, 0, 4] + Array("free".utf8)]
      as [[UInt8]]
    {
      let box = MovieBox(parsing: "udta", (name + tail)[...])
      #expect(box.boxes.count == 1)
      #expect(box.serialized.dropFirst(8).elementsEqual(name + tail))
    }
  }

  @Test(arguments: 0..<50 as Range<UInt64>)
  func samplesAreWrittenAsTheyAreRead(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var offset: Int64 = 40
    var table = SampleTable()
    for _ in 0..<Int.random(in: 1...200, using: &random) {
      if Bool.random(using: &random) { offset += Int64.random(in: 0...1000, using: &random) }
      table.samples.append(
        Sample(
          offset: offset, size: UInt32.random(in: 0...50, using: &random),
          duration: UInt32.random(in: 0...2, using: &random), shift: Int32.random(in: -1...1, using: &random),
          description: UInt16.random(in: 1...2, using: &random), isSync: Bool.random(using: &random)))
      offset = table.samples[table.samples.count - 1].end
    }
    let old = MovieBox("stbl", .boxes(head: [], [MovieBox("stsd", [1, 2, 3])], tail: []))
    let box = table.box(insteadOf: old)
    #expect(box["stsd"]?.bytes == [1, 2, 3])
    #expect(try SampleTable(MovieBox(parsing: "stbl", box.serialized.dropFirst(8))) == table)
  }

  /// The byte ranges are the same, whether computed by sample or by chunk.
  @Test func rangesAreThoseOfTheSamples() throws {
    for sample in MendSample.all {
      let bytes = contents(of: sample.path)
      for movie in MovieBox.children(of: bytes[...]).0 where movie.type == "moov" {
        for track in movie.boxes where track.type == "trak" {
          let table = try #require(track[["mdia", "minf", "stbl"]])
          #expect(try track.sampleRanges() == SampleTable(table).ranges, "\(sample.path)")
        }
      }
    }
  }

  /// An hour of uncompressed audio takes no more work than its chunks; in QuickTime the sample description gives the
  /// size in bytes.
  @Test func uncompressedSoundHasNoLimit() throws {
    func track(size: UInt32, count: UInt32) -> MovieBox {
      var entry = [UInt8](repeating: 0, count: 28)
      entry.setBigEndian(UInt16(2), at: 16)
      entry.setBigEndian(UInt16(16), at: 18)
      var (stsz, stsc, stco): ([UInt8], [UInt8], [UInt8]) = ([0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0])
      for number in [size, count] { stsz.appendBigEndian(number) }
      for number in [1, 1, count / 2, 1] as [UInt32] { stsc.appendBigEndian(number) }
      for number in [2, 1000, 3_000_000_000] as [UInt32] { stco.appendBigEndian(number) }
      let handler = [UInt8](repeating: 0, count: 8) + Array("soun".utf8)
      let table = MovieBox(
        "stbl",
        .boxes(
          head: [],
          [
            MovieBox("stsd", [0, 0, 0, 0, 0, 0, 0, 1] + MovieBox("sowt", entry).serialized),
            MovieBox("stsz", stsz), MovieBox("stsc", stsc), MovieBox("stco", stco),
          ], tail: []))
      let information = MovieBox("minf", .boxes(head: [], [table], tail: []))
      return MovieBox(
        "trak",
        .boxes(
          head: [], [MovieBox("mdia", .boxes(head: [], [MovieBox("hdlr", handler), information], tail: []))],
          tail: []))
    }
    let hour: UInt32 = 3600 * 48_000
    let half = Int64(hour) / 2 * 4
    for size in [1, 4] as [UInt32] {
      #expect(
        try track(size: size, count: hour).sampleRanges() == [
          1000..<1000 + half, 3_000_000_000..<3_000_000_000 + half,
        ])
    }
    #expect(throws: MendError.self) { try track(size: .max, count: .max).sampleRanges() }
  }

  @Test func itemsAreFoundWhereTheyAre() {
    // Version 1 with 4-byte offsets and lengths; one item in the file, one in the box.
    let list: [UInt8] =
      [1, 0, 0, 0, 0x44, 0x00, 0, 2] + [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 9]
      + [0, 2, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 5]
    #expect(ItemLocations.ranges(of: list) == [256..<265])
    for count in 0..<list.count { #expect(ItemLocations.ranges(of: Array(list[..<count])) == nil) }
    #expect(ItemLocations.ranges(of: [3] + list.dropFirst()) == nil)
  }

  @Test(arguments: [
    ("GPS(-122.0312,37.3318,12)", true), ("$GPRMC,081836,A,3751.6512,S", true),
    ("latitude: 37.3318", true), ("GPS is broken, 12.5 km", false), ("3.14159 is a number", false),
    ("", false),
  ])
  func textThatTellsAPlace(_ text: String, _ expected: Bool) {
    #expect(PlaceSearch.findsInText(Array(text.utf8)[...]) == expected)
  }

  @Test(
    arguments: [
      ([0..<10], [], [0..<10]),
      ([0..<10, 10..<20], [5..<7], [0..<5, 7..<20]),
      ([10..<20], [0..<12, 18..<30], [12..<18]),
      ([10..<20], [0..<30], []),
      ([30..<40, 0..<10], [3..<4, 33..<34, 36..<50], [0..<3, 4..<10, 30..<33, 34..<36]),
    ] as [([Range<Int64>], [Range<Int64>], [Range<Int64>])])
  func whatIsInOneAndNotInOthers(_ ranges: [Range<Int64>], _ others: [Range<Int64>], _ left: [Range<Int64>]) {
    #expect(SourceRanges.merged(ranges, without: others) == left)
    let parts = SourceRanges.split(0..<100, zeroing: left)
    #expect(parts.reduce(0) { $0 + $1.count } == 100)
    let zeros = parts.reduce(Int64(0)) { if case .zeros(let count) = $1 { $0 + count } else { $0 } }
    #expect(zeros == left.reduce(0) { $0 + $1.upperBound - $1.lowerBound })
  }

  @Test func placesFollowTheirParts() {
    let file = MendedFile(parts: [.bytes([1, 2, 3]), .source(100..<200), .zeros(7), .source(0..<50)])
    #expect(file.size == 160)
    #expect(file.places.place(of: 100) == 3)
    #expect(file.places.place(of: 199) == 102)
    #expect(file.places.place(of: 0) == 110)
    #expect(file.places.place(of: 60) == nil)
    #expect(file.places.place(of: 300) == nil)
  }
}

extension [UInt8] {
  /// The range of `part`.
  fileprivate func range(of part: [UInt8]) -> Int? {
    indices.first { self[$0...].starts(with: part) }
  }
}
