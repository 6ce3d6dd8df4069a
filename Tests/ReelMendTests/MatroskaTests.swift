import Foundation
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

@testable import ReelMend

/// WebM and Matroska: adding a duration and an index, and salvaging files that were cut off.
@Suite(.shortTime) struct MatroskaTests {
  private static let recorded = MendSample.named("clips/recorded-in-a-browser.webm")
  private static let samples = [recorded, .named("clips/vp9.webm"), .named("clips/matroska.mkv")]
  private static let duration = MendOptions([.duration])

  /// The mended copy of `bytes`; nil if there was nothing to mend.
  private func mended(
    _ bytes: some Collection<UInt8>, _ options: MendOptions = duration
  ) throws -> MendedCopy? {
    let folder = try TemporaryFolder()
    try folder.write(bytes, to: "a.webm")
    let copy = try MendedCopy(of: folder.path(of: "a.webm"), as: .webm, options)
    return copy.done.isEmpty ? nil : copy
  }

  // MARK: Duration

  @Test(.needsFFmpeg) func aRecordingOfABrowserStatesHowLongItIs() throws {
    let sample = Self.recorded
    let before = try facts(of: sample.path, as: .webm)
    #expect(before.durationSource == .packets)
    let copy = try MendedCopy(of: sample.path, as: .webm, Self.duration)
    #expect(copy.done == [.duration])
    let old = try digests(of: sample.path, as: .webm)
    #expect(try digests(of: copy.path, as: .webm) == old)
    let after = try facts(of: copy.path, as: .webm)
    let end = try #require(old.compactMap(\.end).max())
    #expect(after.durationSource == .container && after.truncated == false)
    #expect(abs(try #require(after.duration) - Double(end) / 1e9) <= 0.01)
    #expect(abs(try #require(after.duration) - #require(before.duration)) < 0.05)
    #expect(after.video?.codec == before.video?.codec && after.audio == before.audio)
    try MendingTests.expectNoNewMessages(sample.path, copy.path)
    // A mended file needs no further mending.
    #expect(try MendedCopy(of: copy.path, as: .webm, MendOptions([.duration, .salvage])).done.isEmpty)
    try Self.expectWellMade(contents(of: copy.path))
  }

  /// Video for Windows has its own kind of track.
  @Test(.needsFFmpeg, arguments: ["ffv1", "huffyuv", "mpeg4"])
  func everyCodecStatesHowLongItIs(_ codec: String) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=2", "-c:v", codec]
    try FFmpegProgram.make("a.mkv", picture + ["-live", "1"]) {
      let copy = try MendedCopy(of: $0, as: .matroska, Self.duration)
      #expect(copy.done == [.duration])
      let end = try #require(try digests(of: copy.path, as: .matroska).compactMap(\.end).max())
      let stated = try #require(try facts(of: copy.path, as: .matroska).duration)
      #expect(abs(Double(end) / 1e9 - stated) <= 0.01 && abs(stated - 2) < 0.01)
    }
  }

  @Test func whatStatesItIsNotWritten() throws {
    for sample in Self.samples.dropFirst() {
      let copy = try MendedCopy(
        of: sample.path, as: sample.container, MendOptions([.duration, .salvage, .faststart, .unfragment]))
      #expect(copy.done.isEmpty && fileSize(copy.path) == 0)
    }
    #expect(throws: MendError.self) {
      try MendedCopy(of: Self.recorded.path, as: .webm, MendOptions([.data]))
    }
  }

  /// An absurd duration counts as none: more than a year, negative, or so short that no disk could read the file in
  /// it.
  @Test(arguments: [1e15, -5, .nan, .infinity, 1e-9])
  func aDurationThatCannotBeMeantIsSetRight(_ stated: Double) throws {
    let whole = contents(of: Self.samples[1].path)
    let place = try #require(Data(whole).range(of: Data([0x44, 0x89, 0x88]))).upperBound
    var bytes = whole
    for byte in 0..<8 {
      bytes[place + byte] = UInt8(truncatingIfNeeded: stated.bitPattern >> (56 - 8 * byte))
    }
    let copy = try #require(try mended(bytes))
    let (before, after) = (
      try facts(of: Self.samples[1].path, as: .webm), try facts(of: copy.path, as: .webm)
    )
    #expect(after.durationSource == .container && after.warnings.isEmpty)
    #expect(abs(try #require(after.duration) - #require(before.duration)) <= 0.05)
    try Self.expectWellMade(contents(of: copy.path))
  }

  /// The duration of the last block is its own, its track's, or the most frequent one of the blocks before it,
  /// multiplied by the number of frames in the block, minus the codec delay.
  @Test(arguments: [
    (TestMatroska(), 0.090), (TestMatroska(defaultDuration: 40_000_000), 0.100),
    (TestMatroska(defaultDuration: 40_000_000, lastDuration: 500), 0.560),
    (TestMatroska(lastDuration: 7), 0.067), (TestMatroska(defaultDuration: 10_000_000, lacing: 3), 0.090),
    (TestMatroska(codecDelay: 20_000_000), 0.070), (TestMatroska(scale: 500_000, lastDuration: 8), 0.034),
    (TestMatroska(start: 5000), 5.090), (TestMatroska(blocks: 20, pause: 25_000), 25.6),
    (TestMatroska(defaultDuration: 40_000_000, blocks: 20, pause: 25_000), 25.61),
  ])
  func theLastBlockCounts(_ file: TestMatroska, _ seconds: Double) throws {
    let copy = try #require(try mended(file.bytes))
    let after = try facts(of: copy.path, as: .webm)
    #expect(abs(try #require(after.duration) - seconds) < 0.0001)
    #expect(after.durationSource == .container && !after.warnings.contains { $0.code == .durationMismatch })
    let end = try #require(try digests(of: copy.path, as: .webm).compactMap(\.end).max())
    #expect(abs(Double(end) / 1e9 - seconds) <= 0.001)
    try Self.expectWellMade(contents(of: copy.path))
  }

  /// Everything else stays byte for byte; what would become wrong is blanked or rewritten.
  @Test func allElseStays() throws {
    let tags = TestEBML.element(0x1254_C367, TestEBML.element(0x7373, [0xEC, 0x83, 1, 2, 3]))
    let unknown = TestEBML.element(0x4DAF, Array("of a later version".utf8))
    let position = TestEBML.element(0xA7, [0x12, 0x34]) + TestEBML.element(0xAB, [0x56, 0x78])
    var file = TestMatroska()
    file.before = unknown + [0xEC, 0x84, 9, 9, 9, 9]
    file.inCluster = position + TestEBML.element(0x58D7, Array("silent".utf8))
    file.behind = tags
    for hasChecksum in [false, true] {
      file.infoChecksum = hasChecksum
      let copy = try #require(try mended(file.bytes))
      let bytes = Data(contents(of: copy.path))
      for kept in [unknown, tags, [0xEC, 0x84, 9, 9, 9, 9], Array("silent".utf8)] {
        #expect(bytes.range(of: Data(kept)) != nil)
      }
      #expect(bytes.range(of: Data([0xA7, 0x82, 0x12, 0x34])) == nil)
      try Self.expectWellMade(Array(bytes))
    }
  }

  /// FFmpeg finds every key frame by the index. A cluster whose size field has one byte has room for only eight bytes.
  @Test func theIndexLeadsToKeyFrames() throws {
    var file = TestMatroska()
    file.clusters = 300
    file.sizeWidth = 1
    let copy = try #require(try mended(file.bytes))
    let bytes = contents(of: copy.path)
    try Self.expectWellMade(bytes)
    // One entry per half second, for clusters of 90 ms.
    #expect((45...50).contains(TestEBML.children(of: 0xBB, in: bytes).count))
  }

  // MARK: Cut off

  @Test(arguments: samples)
  func whatIsThereOfACutFileIsPlayed(_ sample: MendSample) throws {
    let whole = contents(of: sample.path)
    let all = try digests(of: sample.path, as: sample.container)
    let folder = try TemporaryFolder()
    let cut = folder.path(of: "cut.webm")
    var kept: [Int64] = []
    for share in stride(from: 5, to: 100, by: TestForm.isLong ? 1 : 6) {
      try folder.write(whole.prefix(whole.count * share / 100), to: "cut.webm")
      guard let copy = try? MendedCopy(of: cut, as: sample.container, MendOptions([.salvage])),
        !copy.done.isEmpty
      else { continue }
      #expect(copy.done == [.salvage])
      #expect(throws: MendError.self) { try MendedCopy(of: cut, as: sample.container, Self.duration) }
      let new = try digests(of: copy.path, as: sample.container)
      #expect(try digests(of: sample.path, as: sample.container, most: new.map(\.packets)) == new)
      #expect(zip(new, all).allSatisfy { $0.packets <= $1.packets })
      let after = try facts(of: copy.path, as: sample.container)
      #expect(after.truncated == false && after.durationSource == .container)
      // The pictures between the first ones may have been stored after the cut, so these few come at another rate.
      #expect(after.warnings.isEmpty || new[0].packets < 5, "\(share) %: \(after.warnings)")
      try Self.expectWellMade(contents(of: copy.path))
      kept.append(new[0].packets)
    }
    #expect(kept.count >= 5 && kept == kept.sorted())
  }

  /// A file cut at any byte, even within a header, is intact, salvaged or refused, also if zeros follow the cut.
  @Test func everyPlaceToCutAt() throws {
    let whole = TestMatroska().bytes
    var salvaged = 0
    for count in 1..<whole.count {
      for zeros in [0, 100] {
        let bytes = whole.prefix(count) + [UInt8](repeating: 0, count: zeros)
        guard let copy = try? mended(bytes, MendOptions([.salvage, .duration])) else { continue }
        try Self.expectWellMade(contents(of: copy.path))
        salvaged += copy.done.contains(.salvage) ? 1 : 0
      }
    }
    #expect(salvaged > 20)
  }

  // MARK: Hostile files

  private static func tags(_ tag: [UInt8]) -> [UInt8] {
    TestEBML.element(0x1254_C367, TestEBML.element(0x7373, tag))
  }

  private static func attachments(_ file: [UInt8]) -> [UInt8] {
    TestEBML.element(0x1941_A469, TestEBML.element(0x61A7, file))
  }

  @Test(arguments: [
    ("two files", TestMatroska().bytes + TestMatroska().bytes),
    ("nothing shown", TestMatroska(blocks: 0).bytes),
    ("no tracks", TestMatroska(hasTracks: false).bytes), ("no clock", TestMatroska(scale: 0).bytes),
    ("own clock", TestMatroska(ownClock: true).bytes),
    ("unknown size in a group", TestMatroska(inCluster: [0xA0, 0xFF, 0xA1, 0x84, 0x81, 0, 0, 0]).bytes),
    ("largest size", TestMatroska(inCluster: [0xA3, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE]).bytes),
    ("times without end", TestMatroska(start: .max - 9).bytes),
    ("block of nothing", TestMatroska(inCluster: [0xA3, 0x80]).bytes),
    ("lacing of nothing", TestMatroska(inCluster: [0xA3, 0x84, 0x81, 0, 0, 6]).bytes),
    ("group of nothing", TestMatroska(inCluster: [0xA0, 0x80]).bytes),
    ("more than its group", TestMatroska(inCluster: [0xA0, 0x83, 0xA1, 0x90, 0x81]).bytes),
    ("unknown size of tags", TestMatroska(before: [0x12, 0x54, 0xC3, 0x67, 0xFF]).bytes),
    ("unknown size in a tag", TestMatroska(behind: tags([0x63, 0xC0, 0x84, 0x63, 0xC5, 0xFF, 1])).bytes),
    ("more than its tag", TestMatroska(behind: tags([0x63, 0xC0, 0x84, 0x63, 0xC5, 0x82, 1])).bytes),
    ("no element in a tag", TestMatroska(before: tags([0x63, 0xC0, 0x80, 0])).bytes),
    ("more than its attachment", TestMatroska(before: attachments([0x46, 0x5C, 0x88, 1])).bytes),
  ])
  func refuses(_ what: String, _ bytes: [UInt8]) {
    #expect(throws: MendError.self, "\(what)") { try mended(bytes) }
  }

  /// With one byte changed, whatever is written can be parsed and holds what FFmpeg found before.
  @Test(arguments: 0..<(TestForm.isLong ? 2000 : 60) as Range<UInt64>)
  func damage(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var bytes = seed % 2 == 0 ? TestMatroska().bytes : contents(of: Self.recorded.path)
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let place = Int.random(in: 0..<min(bytes.count, 1200), using: &random)
      bytes[place] = UInt8.random(in: 0...255, using: &random)
    }
    guard let copy = try? mended(bytes, MendOptions([.duration, .salvage])) else { return }
    try Self.expectWellMade(contents(of: copy.path))
  }

  /// Each of a million elements costs no more than one look.
  @Test func manyElements() throws {
    var file = TestMatroska()
    file.before = (0..<50_000).flatMap { _ in [0xEC, 0x80] as [UInt8] }
    file.inCluster = file.before
    let copy = try #require(try mended(file.bytes))
    try Self.expectWellMade(contents(of: copy.path))
    file.before = (0..<200_000).flatMap { _ in [0x42, 0x86, 0x80] as [UInt8] }
    #expect(throws: MendError.self) { try mended(file.bytes) }
  }

  // MARK: The corpus

  /// Every file of the corpus without a duration or an index, if the corpus is installed.
  @Test(.needsFFmpeg, .enabled(if: MendCorpus.matroska.count > 0, "needs ../shared/corpus or REEL_CORPUS"))
  func everyFileOfTheCorpusHoldsTheSameMended() throws {
    var mended = 0
    for path in MendCorpus.matroska {
      guard let copy = try? MendedCopy(of: path, as: .matroska, MendOptions([.duration, .salvage])),
        !copy.done.isEmpty
      else { continue }
      let new = try digests(of: copy.path, as: .matroska)
      let isCut = copy.done.contains(.salvage)
      #expect(try digests(of: path, as: .matroska, most: isCut ? new.map(\.packets) : nil) == new, "\(path)")
      try Self.expectWellMade(contents(of: copy.path))
      if !isCut { try MendingTests.expectNoNewMessages(path, copy.path) }
      mended += 1
    }
    #expect(mended >= 5)
  }

  // MARK: Structure

  /// Checks that all sizes are known and fit, and that every reference points to its element.
  private static func expectWellMade(_ bytes: [UInt8]) throws {
    let header = try #require(TestEBML.element(at: 0, in: bytes))
    let segment = try #require(TestEBML.element(at: header.contents.upperBound, in: bytes))
    #expect(segment.id == 0x1853_8067 && segment.contents.upperBound <= bytes.count)
    let top = TestEBML.children(in: segment.contents, of: bytes)
    #expect(top.last?.contents.upperBound == segment.contents.upperBound)
    let at = Dictionary(
      top.map { ($0.start - segment.contents.lowerBound, $0.id) }, uniquingKeysWith: { first, _ in first })
    // If the header of a SeekHead was damaged, its contents refer to nothing.
    let lists = top.filter { $0.id == 0x114D_9B74 }
    for seek in lists.flatMap({ TestEBML.children(in: $0.contents, of: bytes) }) where seek.id == 0x4DBB {
      let parts = TestEBML.children(in: seek.contents, of: bytes)
      let id = try #require(parts.first { $0.id == 0x53AB }).number(in: bytes)
      let place = try #require(parts.first { $0.id == 0x53AC }).number(in: bytes)
      #expect(at[Int(place)] == UInt32(id))
    }
    for place in TestEBML.children(of: 0xF1, in: bytes) {
      #expect(at[Int(place.number(in: bytes))] == 0x1F43_B675)
    }
    #expect(top.contains { $0.id == 0x114D_9B74 })
    for info in top where info.id == 0x1549_A966 {
      let parts = TestEBML.children(in: info.contents, of: bytes)
      #expect(parts.count { $0.id == 0x4489 } == 1)
      guard let sum = parts.first, sum.id == 0xBF else { continue }
      let rest = Array(bytes[sum.contents.upperBound..<info.contents.upperBound])
      #expect(EBMLWriter.checksum(of: rest).suffix(4) == bytes[sum.contents])
    }
  }

  @Test func checksumsAreThoseOfTheStandard() {
    // The check value of CRC-32 (ISO 3309), little-endian.
    #expect(EBMLWriter.checksum(of: Array("123456789".utf8)) == [0xBF, 0x84, 0x26, 0x39, 0xF4, 0xCB])
  }

  @Test func sizesAreAsShortAsTheyCanBe() {
    #expect(EBMLWriter.header(0xEC, size: 126) == [0xEC, 0xFE])
    // All ones would mean an unknown size.
    #expect(EBMLWriter.header(0xEC, size: 127) == [0xEC, 0x40, 0x7F])
    #expect(EBMLWriter.header(0xEC, size: 5, sizeWidth: 8) == [0xEC, 0x01, 0, 0, 0, 0, 0, 0, 5])
    for count in [2, 3, 128, 129, 5000] as [Int64] {
      #expect(MendedFile(parts: EBMLWriter.void(count)).size == count)
    }
  }
}
