import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Facts from a track's own tables, which are unknown if no codec could have them.
struct PlausibleFactsTests {
  private func track(_ width: Int, _ height: Int) throws -> ISOTrack {
    let movie = SmallMovie(width: width, height: height)
    return try #require(ISOFileMap(BytesInMemory(all: movie.bytes)).tracks.first)
  }

  @Test func oneSideAloneIsNoSize() throws {
    for (width, height) in [(0, 480), (640, 0), (0, 0)] {
      let video = VideoFacts(try track(width, height), nil, streams: 1)
      #expect(
        video.storedWidth == nil && video.storedHeight == nil && video.width == nil && video.height == nil)
    }
    let video = VideoFacts(try track(640, 480), nil, streams: 1)
    #expect(video.storedWidth == 640 && video.storedHeight == 480)
  }

  @Test func noSoundHasSoManyChannels() throws {
    for (channels, told) in [(2, 2), (1024, 1024), (1025, nil), (65_535, nil), (0, nil)] as [(Int, Int?)] {
      var movie = MovieBytes(SmallMovie(format: "sowt", handler: "soun").bytes)
      let entry = try #require(movie.entry(of: "soun"))
      // The remaining fields of a version 0 audio entry.
      for place in 16..<36 { movie.write(0, at: entry + place, bytes: 1) }
      movie.write(UInt64(channels), at: entry + 24, bytes: 2)
      movie.write(8000 << 16, at: entry + 32)
      let track = try #require(ISOFileMap(BytesInMemory(all: movie.bytes)).tracks.first)
      #expect(AudioFacts(track).channels == told && AudioFacts(track).sampleRate == 8000)
    }
  }

  /// An HEVC rate stated in larger numbers than a ratio can hold.
  @Test(.needsFFmpeg)
  func aRateInLargeNumbers() throws {
    let coded = [
      "-c:v", "libx265", "-x265-params", "log-level=none", "-video_track_timescale", "1000", "-tag:v", "hvc1",
    ]
    let rate = ["-bsf:v", "hevc_metadata=tick_rate=1499999971/49999999"]
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=30:duration=2"]
    let made = try FFmpegTool.make("a.mp4", picture + coded + rate)
    let bits = made.allBytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
    func written(_ number: UInt32) -> [UInt8] { (0..<32).map { UInt8(number >> (31 - UInt32($0)) & 1) } }
    let mark = written(49_999_999) + written(1_499_999_971)
    let places = bits.indices.filter { bits[$0...].starts(with: mark) }
    #expect(!places.isEmpty)
    var changed = bits
    for place in places {
      changed.replaceSubrange(place..<(place + 64), with: written(99_999_998) + written(2_999_999_942))
    }
    let bytes = stride(from: 0, to: changed.count, by: 8).map {
      changed[$0..<($0 + 8)].reduce(0) { $0 << 1 | $1 }
    }
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] as [Set<ProbeMethod>] {
      let media = try #require(OpenFile(holding: bytes)).read(as: .mp4, by: ways).media
      let found = try #require(media.video?.frameRate)
      #expect(
        abs(found.value - 30) < 0.1 && max(found.ratio.numerator, found.ratio.denominator) <= Int32.max,
        "\(found)")
    }
  }
}
