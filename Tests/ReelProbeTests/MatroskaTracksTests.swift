import CFFmpeg
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Matroska tracks of which FFmpeg makes too many streams, or whose rate it rounds.
struct MatroskaTracksTests {
  private static func tracks(of bytes: [UInt8]) -> [UInt8]? {
    guard let start = bytes.position(of: [0x16, 0x54, 0xAE, 0x6B]) else { return nil }
    let length = bytes[(start + 5)..<(start + 12)].reduce(0) { $0 << 8 | Int($1) }
    return Array(bytes[start..<(start + 12 + length)])
  }

  private func bothWays(_ bytes: [UInt8]) throws -> [MediaInfo] {
    let file = try #require(OpenFile(holding: bytes))
    return try [FFmpegReader.quickWays, [.full], [.thorough]].map {
      try file.read(as: .matroska, by: $0).media
    }
  }

  /// The format permits repeated, identical lists of tracks.
  @Test func tracksThatAreListedTwiceCountOnce() throws {
    var made = SmallMatroska()
    made.beforeClusters = try #require(Self.tracks(of: made.bytes))
    for media in try bothWays(made.bytes) {
      #expect(media.video?.streams == 1 && media.video?.width == 64 && media.video?.hasSamples == true)
      #expect(media.video?.frameRate?.description == "25/1")
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  @Test func listsOfOtherTracksAreNamed() throws {
    var made = SmallMatroska()
    made.beforeClusters = try #require(Self.tracks(of: SmallMatroska(width: 128, height: 96).bytes))
    for media in try bothWays(made.bytes) {
      #expect(media.video?.streams == 1 && media.video?.width == 64)
      #expect(media.warnings.map(\.code) == [.indexMismatch], "\(media.warnings)")
    }
  }

  /// FFmpeg starts over after data that it can't read.
  @Test(
    arguments: [
      [0x67, 0xC8, 0x88, 0x45, 0xA3, 0x40, 0xFF, 1, 2, 3, 4], [UInt8](repeating: 0, count: 20),
    ] as [[UInt8]])
  func aDamagedElementMakesNoTrackTwice(inner: [UInt8]) throws {
    var made = SmallMatroska()
    made.beforeClusters = SmallMatroska.element(0x1254_C367, SmallMatroska.element(0x7373, inner))
    for media in try bothWays(made.bytes) {
      #expect(media.video?.streams == 1 && media.video?.hasSamples == true)
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  @Test func tracksThatAreAlikeAreSeveral() throws {
    for media in try bothWays(SmallMatroska(tracksBefore: 3).bytes) {
      #expect(media.video?.streams == 4)
    }
  }

  @Test(
    arguments: [
      (16_683_333, "60000/1001"), (16_683_334, "60000/1001"), (20_854_167, "48000/1001"),
      (16_666_667, "60/1"),
      (33_366_667, "30000/1001"), (41_708_333, "24000/1001"), (40_000_000, "25/1"),
      (8_341_667, "120000/1001"),
      (4_166_667, "240/1"),
    ] as [(UInt64, String)])
  func aStepInNanosecondsIsARate(step: UInt64, rate: String) throws {
    let found = try #require(MatroskaFileMap.rate(lasting: step))
    #expect("\(found.num)/\(found.den)" == rate)
  }

  @Test(arguments: [0, 1, 80_000_000, 16_683_000, 17_000_000, 5_000_000_000, .max] as [UInt64])
  func anotherStepIsNone(step: UInt64) {
    #expect(MatroskaFileMap.rate(lasting: step) == nil)
  }

  @Test(
    .needsFFmpeg,
    arguments: ["60000/1001", "48000/1001", "60/1", "30000/1001", "12000/1001", "25/2"])
  func ratesAreThoseThatAreStated(rate: String) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=\(rate):duration=1"]
    for coded in [["-c:v", "mpeg4"], ["-c:v", "libvpx-vp9", "-cpu-used", "8"], ["-c:v", "ffv1"]] {
      // A single frame has no timestamps to compute a rate from.
      for count in [[], ["-frames:v", "1"]] {
        let made = try FFmpegTool.make("a.mkv", picture + coded + count)
        for media in try bothWays(made.allBytes) {
          #expect(media.video?.frameRate?.description == rate, "\(coded) \(count)")
        }
      }
    }
  }
}
