import ReelTestSupport
import Testing

@testable import ReelCore
@testable import ReelProbe

/// In-memory bytes as a file.
struct BytesInMemory: ByteReading {
  let all: [UInt8]
  var isFar = false
  var size: Int64 { Int64(all.count) }

  func bytes(at offset: Int64, count: Int) -> [UInt8] {
    guard offset >= 0, offset < size, count > 0 else { return [] }
    return Array(all[Int(offset)..<min(all.count, Int(offset) + count)])
  }
}

/// In-memory bytes as a file that counts the bytes read.
final class CountedBytes: ByteReading {
  private let bytes: BytesInMemory
  private let half: Int
  private(set) var count = 0
  var size: Int64 { bytes.size }
  var isHalfSpent: Bool { count > half }

  /// - Parameter half: Half the number of bytes that may be read.
  init(_ all: [UInt8], half: Int = .max) { (bytes, self.half) = (BytesInMemory(all: all), half) }

  func bytes(at offset: Int64, count: Int) -> [UInt8] {
    let found = bytes.bytes(at: offset, count: count)
    self.count += found.count
    return found
  }
}

struct StructureTests {
  // MARK: Boxes

  /// Otherwise each of many tracks could claim the same table that follows all of them.
  @Test(arguments: ["trak", "moof"]) func aBoxEndsWithTheOneThatHoldsIt(kind: String) {
    let claimed: UInt32 = 1 << 20
    func head(_ type: String) -> [UInt8] { SmallMovie.u32(claimed) + Array(type.utf8) }
    let scale = SmallMovie.box("mvhd", [UInt8](repeating: 1, count: 100))
    let header = SmallMovie.box("tfhd", SmallMovie.u32(0) + SmallMovie.u32(1))
    let steps = SmallMovie.u32(0) + SmallMovie.u32(claimed / 8 - 2)
    let run = SmallMovie.u32(0x100) + SmallMovie.u32(claimed / 4 - 4)
    let track = SmallMovie.box(
      "trak", head("mdia") + head("minf") + head("stbl") + head("stts") + steps)
    let fragment = SmallMovie.box("moof", SmallMovie.box("traf", header + head("trun") + run))
    let tracks = (0..<50).flatMap { _ in track }
    let movie = SmallMovie.box(
      "moov", scale + (kind == "trak" ? tracks : SmallMovie(samples: 0).track(1, dataAt: 0)))
    let fragments = kind == "trak" ? [] : (0..<50).flatMap { _ in fragment }
    let file = CountedBytes(
      movie + fragments + SmallMovie.box("free", [UInt8](repeating: 1, count: Int(claimed))))
    let map = ISOFileMap(file)
    #expect(map.tracks.count == (kind == "trak" ? 50 : 1))
    #expect(map.fragments == (kind == "trak" ? 0 : 50))
    #expect(file.count < 2 * Int(claimed), "\(file.count) bytes read")
  }

  // MARK: Matroska

  @Test(arguments: [("webm", MediaContainer.webm), ("matroska", .matroska)])
  func theDocTypeDecides(docType: String, container: MediaContainer) {
    let file = BytesInMemory(all: Self.matroska(docType, segment: [0x81, 0]))
    #expect(FileStructure(file, sniffed: .matroska).container == container)
  }

  @Test func aSegmentThatIsLongerThanTheFileIsCut() {
    #expect(
      MatroskaFileMap(BytesInMemory(all: Self.matroska("webm", segment: [0x83, 0, 0, 0]))).truncated == false)
    #expect(
      MatroskaFileMap(BytesInMemory(all: Self.matroska("webm", segment: [0x84, 0, 0, 0]))).truncated == true)
  }

  /// Elements that may be anywhere may also precede the segment (RFC 8794, 11.3).
  @Test func aSegmentBehindAVoidIsCut() {
    var bytes = Self.matroska("webm", segment: [0x84, 0, 0, 0])
    bytes.insert(contentsOf: [0xEC, 0x82, 0, 0], at: 5 + Int(bytes[4] & 0x7F))
    #expect(MatroskaFileMap(BytesInMemory(all: bytes)).truncated == true)
    #expect(MatroskaFileMap(BytesInMemory(all: bytes + [0])).truncated == false)
  }

  @Test func aLiveSegmentIsJudgedByItsLastElement() {
    // A segment of unknown size with one Void element.
    let whole = Self.matroska("webm", segment: [0xFF, 0xEC, 0x82, 0, 0])
    #expect(MatroskaFileMap(BytesInMemory(all: whole)).truncated == false)
    #expect(MatroskaFileMap(BytesInMemory(all: Array(whole.dropLast()))).truncated == true)
    // An element that can't be in a segment is not a truncated one.
    let damaged = Self.matroska("webm", segment: [0xFF, 0xE0, 0x84, 0, 0])
    #expect(MatroskaFileMap(BytesInMemory(all: damaged)).truncated == nil)
    let open = Self.matroska("webm", segment: [0xFF, 0x1F, 0x43, 0xB6, 0x75, 0xFF, 0, 0])
    #expect(MatroskaFileMap(BytesInMemory(all: open)).truncated == nil)
  }

  /// The end of the reading budget is not the end of the file.
  @Test func aReadingOfAllBlocksThatCannotEndTellsNothing() throws {
    let bytes = SmallMatroska(frames: 500).bytes
    let file = CountedBytes(bytes)
    #expect(try #require(MatroskaClock.read(file, isWhole: true)).isWhole)
    // Reading all or most of the file exceeds half the budget.
    for half in [file.count / 4, file.count * 9 / 10] {
      let spent = CountedBytes(bytes, half: half)
      #expect(MatroskaClock.read(spent, isWhole: true) == nil)
      #expect(spent.count < file.count)
    }
    #expect(MatroskaClock.read(CountedBytes(bytes, half: 0), isWhole: false) != nil)
  }

  private static func matroska(_ docType: String, segment: [UInt8]) -> [UInt8] {
    let type = [0x42, 0x82, 0x80 | UInt8(docType.utf8.count)] + Array(docType.utf8)
    return [0x1A, 0x45, 0xDF, 0xA3, 0x80 | UInt8(type.count)] + type + [0x18, 0x53, 0x80, 0x67] + segment
  }

  // MARK: ISO base media files

  @Test(arguments: [SmallMovie.box("url ", []), [0, 0, 0, 9, 1, 2, 3, 4, 0], [], [0xFF]])
  func aReferenceThatIsCutTellsNothing(reference: [UInt8]) {
    let bytes = BytesInMemory(all: SmallMovie(references: [reference]).bytes)
    #expect(ISOFileMap(bytes).external == nil)
  }

  @Test func ofMoreBoxesThanAreLookedAtTheEndIsUnknown() {
    let boxes = [[UInt8]](repeating: SmallMovie.box("free", []), count: ISOFileMap.mostBoxes)
    let full = Array(boxes.joined())
    #expect(ISOFileMap(BytesInMemory(all: full)).endsBeyondFile == false)
    let cut = Array(full.dropLast(8)) + [0, 0, 0, 9] + Array("mdat".utf8)
    #expect(ISOFileMap(BytesInMemory(all: cut)).endsBeyondFile == true)
    #expect(ISOFileMap(BytesInMemory(all: full + SmallMovie.box("free", []))).endsBeyondFile == nil)
  }

  /// A segment index (ISO/IEC 14496-12, 8.16.3); `offset` is the number of bytes between it and the media.
  private static func segmentIndex(
    _ references: [UInt32], offset: UInt32 = 0, version: UInt8 = 0, count: Int? = nil
  ) -> [UInt8] {
    let wide = version == 0 ? [] : SmallMovie.u32(0)
    let head = [version, 0, 0, 0] + SmallMovie.u32(1) + SmallMovie.u32(1000)
    return SmallMovie.box(
      "sidx",
      head + wide + SmallMovie.u32(0) + wide + SmallMovie.u32(offset) + [0, 0]
        + SmallMovie.u16(count ?? references.count)
        + references.flatMap { SmallMovie.u32($0) + SmallMovie.u32(1) + SmallMovie.u32(0) })
  }

  /// The media after the index has 48 bytes. The highest bit of a reference marks another index.
  @Test(
    arguments: [
      (segmentIndex([24, 24]), false), (segmentIndex([24, 25]), true),
      (segmentIndex([24, 24], version: 1), false),
      (segmentIndex([24, 25], version: 1), true), (segmentIndex([24], offset: 24), false),
      (segmentIndex([24], offset: 25), true), (segmentIndex([]), false), (segmentIndex([7]), false),
      (segmentIndex([0x8000_0030]), false), (segmentIndex([0x8000_0031]), true),
      (segmentIndex([.max, .max], offset: .max, version: 1), true),
      (segmentIndex([24, 25], count: 9), false),
      (segmentIndex([24, 25], version: 2), false),
    ] as [([UInt8], Bool)])
  func anIndexThatRefersBeyondTheFileIsSeen(index: [UInt8], isBeyond: Bool) {
    let media = SmallMovie.box("moof", []) + SmallMovie.box("mdat", [UInt8](repeating: 0, count: 32))
    #expect(ISOFileMap(BytesInMemory(all: index + media)).refersBeyondFile == isBeyond)
  }

  // MARK: Other containers

  @Test func anAVIChunkThatIsLongerThanTheFileIsCut() {
    let riff = Array("RIFF".utf8) + [8, 0, 0, 0] + Array("AVI ".utf8) + [0, 0, 0, 0]
    #expect(AVIFile.isTruncated(BytesInMemory(all: riff)) == false)
    #expect(AVIFile.isTruncated(BytesInMemory(all: Array(riff.dropLast()))) == true)
    #expect(
      AVIFile.isTruncated(BytesInMemory(all: Array("RIFF".utf8) + [0, 0, 0, 0] + Array("AVI ".utf8))) == nil)
  }

  /// A sequence header that ends with its packet continues after the header of the next packet, which must not be
  /// taken for its sides.
  @Test func aSequenceHeaderOfTwoPacketsHasNoSize() {
    func packet(_ counter: UInt8, _ contents: [UInt8], at place: Int) -> [UInt8] {
      var packet = [0x47, 0x40, 0x11, 0x10 | counter] + [UInt8](repeating: 0x20, count: 184)
      packet.replaceSubrange(place..<(place + contents.count), with: contents)
      return packet
    }
    let whole: [UInt8] = [0, 0, 1, 0xB3, 0x16, 0x01, 0x20, 0x13, 0xFF, 0xFF, 0xE0, 0x18]
    let bytes =
      packet(0, whole, at: 4) + packet(1, Array(whole.prefix(4)), at: 184) + packet(5, [], at: 4)
      + (6..<12).flatMap { packet($0, [], at: 4) }
    let sizes = MultiplexBeginning(BytesInMemory(all: bytes), stride: 188).sizes
    #expect(sizes.map(\.description) == ["352x288"])
    // In a program stream, which has no such packets, it would be one.
    #expect(MultiplexBeginning(BytesInMemory(all: bytes), stride: nil).sizes.count == 2)
  }

  @Test func anFLVTagThatIsLongerThanTheFileIsCut() {
    let tag: [UInt8] = [9, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 14]
    let file: [UInt8] = [0x46, 0x4C, 0x56, 1, 1, 0, 0, 0, 9, 0, 0, 0, 0] + tag + tag
    #expect(FLVFile.isTruncated(BytesInMemory(all: file)) == false)
    for missing in 1..<tag.count {
      // If only the trailing length is missing, the tag is complete.
      let isCut = FLVFile.isTruncated(BytesInMemory(all: Array(file.dropLast(missing))))
      #expect(isCut == (missing > 4), "\(missing)")
    }
  }

  /// A smaller size, or none, proves nothing: some writers never go back to fill it in.
  @Test func anFLVThatIsSmallerThanItStatesIsCut() {
    func file(_ stated: Double?, duration: Double? = nil) -> BytesInMemory {
      let numbers = [("filesize", stated), ("duration", duration)].flatMap { name, number -> [UInt8] in
        guard let number else { return [] }
        return [0, UInt8(name.utf8.count)] + Array(name.utf8) + [0]
          + (0..<8).map { UInt8(truncatingIfNeeded: number.bitPattern >> (56 - 8 * UInt64($0))) }
      }
      let body = [2, 0, 10] + Array("onMetaData".utf8) + [8, 0, 0, 0, 1] + numbers + [0, 0, 9]
      let length = UInt8(body.count)
      let tag = [18, 0, 0, length, 0, 0, 0, 0, 0, 0, 0] + body + [0, 0, 0, length + 11]
      // A picture after 10 seconds.
      let picture: [UInt8] = [9, 0, 0, 1, 0, 0x27, 0x10, 0, 0, 0, 0, 0x12, 0, 0, 0, 12]
      return BytesInMemory(all: [0x46, 0x4C, 0x56, 1, 1, 0, 0, 0, 9, 0, 0, 0, 0] + tag + picture)
    }
    let size = Double(file(1).size)
    for stated in [nil, 0, 1, size, -1, .nan] as [Double?] {
      #expect(FLVFile.isTruncated(file(stated)) == false, "\(String(describing: stated))")
    }
    #expect(FLVFile.isTruncated(file(size + 1)) == true)
    #expect(FLVFile.isTruncated(file(size * 3, duration: 15)) == true)
    // The stated size is that of the source from which the file was made.
    #expect(FLVFile.isTruncated(file(size * 3, duration: 10.04)) == false)
  }

  @Test func scramblingIsSeenInThePackets() {
    func stream(_ flags: UInt8) -> BytesInMemory {
      let packet = [0x47, 0, 0x20, flags] + [UInt8](repeating: 0xFF, count: 184)
      return BytesInMemory(all: Array([[UInt8]](repeating: packet, count: 8).joined()))
    }
    #expect(TransportPackets.scrambling(stream(0x10), .mpegTS)?.streams.isEmpty == true)
    #expect(TransportPackets.scrambling(stream(0xD0), .mpegTS)?.streams.isEmpty == false)
    #expect(TransportPackets.scrambling(BytesInMemory(all: [1, 2, 3]), .mpegTS) == nil)
  }

  // MARK: Arbitrary bytes

  /// Whatever a file contains, its structure is read quickly and without a trap.
  @Test(arguments: MediaContainer.allCases) func noBytesTrap(container: MediaContainer) {
    var generator = SplitMix64(seed: 3)
    let starts: [[UInt8]] = [
      [], SmallMovie(edits: [(1, -1)]).bytes, SmallMovie.external.bytes, SmallMatroska.linked.bytes,
      Self.matroska("webm", segment: [0xFF, 0xEC, 0x82, 0, 0]),
      Array("RIFF".utf8), [0x46, 0x4C, 0x56, 1, 1, 0, 0, 0, 9, 0, 0, 0, 0, 9, 0, 0, 3], Array("OggS".utf8),
      [0x06, 0x0E, 0x2B, 0x34, 0x02, 0x05, 0x01, 0x01, 0x0D, 0x01, 0x02, 0x01, 0x01, 0x02, 0, 0, 0x87],
    ]
    for _ in 0..<300 {
      var bytes = starts[Int.random(in: 0..<starts.count, using: &generator)]
      bytes += (0..<Int.random(in: 0...300, using: &generator)).map { _ in
        [0, 0, 1, 8, 0xFF, 0x7F, 0x80].randomElement(using: &generator) ?? 0
      }
      for _ in 0..<4 where !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      _ = FileStructure(BytesInMemory(all: bytes), sniffed: container)
    }
  }

  /// A list of streams that is shorter than its own name.
  @Test(arguments: [0, 1, 3] as [UInt32]) func aListTooShortForItsNameIsNone(size: UInt32) throws {
    func little(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    let headers =
      Array("hdrlLIST".utf8) + little(size) + Array("strl".utf8) + [UInt8](repeating: 0, count: 32)
    let list = Array("LIST".utf8) + little(UInt32(headers.count)) + headers
    let bytes = Array("RIFF".utf8) + little(UInt32(list.count + 4)) + Array("AVI ".utf8) + list
    let file = try #require(OpenFile(holding: bytes))
    _ = try? file.read(as: .avi)
  }

  @Test func boxesInOneAnotherHaveABottom() {
    var boxes: [UInt8] = []
    for depth in 1...7000 {
      let size = UInt32(8 * depth)
      boxes = (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + Array("wave".utf8) + boxes
    }
    let entry = [0, 0, 0, 0] + Array("mp4a".utf8) + [UInt8](repeating: 0, count: 28) + boxes
    let file = BytesInMemory(all: entry)
    let box = ISOBox(type: "mp4a", start: 0, contents: 8, end: Int64(entry.count))
    #expect(SampleEntry(box, handler: "soun", of: file).format == "mp4a")
  }
}
