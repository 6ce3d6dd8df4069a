import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// FLV tags other than audio, video and script data, and damaged ones.
@Suite(.needsFFmpeg)
struct FLVTagsTests {
  private func made() throws -> (bytes: [UInt8], tags: [Int]) {
    let coded = ["-c:v", "flv", "-g", "25", "-c:a", "libmp3lame"]
    let bytes = try FFmpegTool.make("a.flv", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
    var (tags, next): ([Int], Int) = ([], 13)
    while next + 11 < bytes.count {
      tags.append(next)
      next += 15 + (Int(bytes[next + 1]) << 16 | Int(bytes[next + 2]) << 8 | Int(bytes[next + 3]))
    }
    return (bytes, tags)
  }

  private func read(_ bytes: [UInt8]) throws -> MediaInfo {
    try #require(OpenFile(holding: bytes)).read(as: .flv).media
  }

  /// An AMF3 data tag, and an aggregate tag.
  @Test(arguments: [15, 22] as [UInt8]) func tagsOfOtherKindsArePassed(kind: UInt8) throws {
    let (original, tags) = try made()
    var bytes = original
    let tag: [UInt8] = [kind, 0, 0, 4] + [UInt8](repeating: 0, count: 7) + [1, 2, 3, 4, 0, 0, 0, 15]
    for place in [tags[tags.count / 2], tags[1]] { bytes.insert(contentsOf: tag, at: place) }
    let media = try read(bytes)
    #expect(abs((media.duration ?? 0) - 2) < 0.15 && media.truncated == false)
    #expect(media.video?.frameRate?.value == 25 && media.warnings.isEmpty, "\(media.warnings)")
    // Cut within the last tag.
    #expect(try read(bytes.dropLast(20)).truncated == true)
  }

  /// FFmpeg ends a stream of H.264 with a tag that holds nothing. Without a picture before it, its time is -1 without
  /// the highest bit.
  @Test func aTagThatHoldsNothingHasNoTime() throws {
    let head = Array("FLV".utf8) + [1, 1, 0, 0, 0, 9, 0, 0, 0, 0]
    let end: [UInt8] = [9, 0, 0, 5, 0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0x17, 2, 0, 0, 0, 0, 0, 0, 16]
    let media = try read(head + end)
    #expect(media.duration == nil && media.durationSource == nil, "\(media.duration ?? 0)")
  }

  /// Other bytes between two tags, and a tag of an unknown type.
  @Test(arguments: [[UInt8](repeating: 0, count: 57), [UInt8](repeating: 0xEE, count: 200), []])
  func theClockGoesOnBehindDamage(extra: [UInt8]) throws {
    let (original, tags) = try made()
    var bytes = original
    let place = tags[tags.count / 2]
    if extra.isEmpty { (bytes[place], bytes[place + 8]) = (0x77, 1) }
    bytes.insert(contentsOf: extra, at: place)
    let media = try read(bytes)
    #expect(abs((media.duration ?? 0) - 2) < 0.15, "\(media.duration ?? 0)")
    #expect(media.warnings.map(\.code) == [.claimUnchecked], "\(media.warnings)")
  }

  /// A few bytes after the last tag, or a missing final length, do not mean truncation; a partial tag does.
  @Test func aFewBytesAtTheEnd() throws {
    let (bytes, tags) = try made()
    for tail in [[0x0A], [0, 0, 0], [0x1A], [UInt8](repeating: 0, count: 10)] {
      #expect(try read(bytes + tail).truncated != true, "\(tail)")
    }
    for left in 1...4 { #expect(try read(bytes.dropLast(left)).truncated == false, "\(left)") }
    #expect(try read(bytes.dropLast(5)).truncated == true)
    let last = try #require(tags.last)
    for part in [1, 5] { #expect(try read(Array(bytes[..<(last + part)])).truncated == true, "\(part)") }
  }

  /// Data after the last tag is not part of it.
  @Test func anythingMayFollow() throws {
    let (bytes, _) = try made()
    let media = try read(bytes + [UInt8](repeating: 0xEE, count: 300))
    #expect(abs((media.duration ?? 0) - 2) < 0.15)
    #expect(media.warnings.isEmpty, "\(media.warnings)")
  }

  /// In a file that ends within a tag, all earlier tags are walked.
  @Test func aLongFileMayBeCut() {
    let head = Array("FLV".utf8) + [1, 4, 0, 0, 0, 9, 0, 0, 0, 0]
    let tag: [UInt8] = [8, 0, 0, 1] + [UInt8](repeating: 0, count: 7) + [0x2F, 0, 0, 0, 12]
    let tags = [[UInt8]](repeating: tag, count: 30_000).joined()
    #expect(FLVFile.isTruncated(BytesInMemory(all: head + tags)) == false)
    #expect(FLVFile.isTruncated(BytesInMemory(all: head + tags + tag.dropLast(5))) == true)
  }
}
