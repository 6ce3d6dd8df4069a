import ReelProbe
import ReelTestSupport
import Testing

@testable import ReelMend

@Suite struct MovieBoxTests {
  /// What is taken apart and put together again is what it was.
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

  /// A box whose size does not fit, or a terminator, stays where it is.
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
          isSync: Bool.random(using: &random), description: UInt32.random(in: 1...2, using: &random)))
      offset = table.samples[table.samples.count - 1].end
    }
    let old = MovieBox("stbl", .boxes(head: [], [MovieBox("stsd", [1, 2, 3])], tail: []))
    let box = table.box(insteadOf: old)
    #expect(box["stsd"]?.bytes == [1, 2, 3])
    #expect(try SampleTable(MovieBox(parsing: "stbl", box.serialized.dropFirst(8))) == table)
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
  /// Where `part` begins.
  fileprivate func range(of part: [UInt8]) -> Int? {
    indices.first { self[$0...].starts(with: part) }
  }
}
