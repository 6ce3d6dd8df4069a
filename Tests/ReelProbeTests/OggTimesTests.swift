import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// The granule positions on Ogg pages, compared with the number of pictures.
@Suite(.needsFFmpeg, .serialized)
struct OggTimesTests {
  private static let seconds = 30.0

  /// Makes a file, optionally with a still part in the middle whose pictures are repeated, and without its empty
  /// packets.
  private static func made(still: Bool, sound: Bool) throws -> OggPages {
    let filter = still ? ",select='lt(t,10)+gte(t,20)+not(mod(n,5))'" : ""
    var arguments = [
      "-f", "lavfi", "-i",
      "testsrc2=size=68x52:rate=25:duration=30,noise=alls=100:allf=t+u,format=yuv420p\(filter)",
    ]
    if sound {
      arguments += ["-f", "lavfi", "-i", "sine=sample_rate=44100:duration=30", "-c:a", "libvorbis"]
    }
    arguments += ["-c:v", "libtheora", "-q:v", "9", "-g", "50", "-r", "25"]
    let file = try FFmpegTool.make("a.ogv", arguments)
    var pages = OggPages(file.allBytes)
    pages.leaveEmptyPacketsOut()
    return pages
  }

  /// For some audio codecs FFmpeg ignores that they begin late.
  @Test(arguments: ["libopus", "flac", "libvorbis"]) func aPartOfABroadcastLastsAsLongAsWhatIsInIt(
    codec: String
  ) throws {
    let coded = ["-c:v", "libtheora", "-c:a", codec, "-ar", "48000", "-output_ts_offset", "3600"]
    let file = try FFmpegTool.make("a.ogv", FFmpegTool.picture + FFmpegTool.tone + coded)
    for ways in [FFmpegReader.quickWays, [.thorough]] as [Set<ProbeMethod>] {
      let media = try file.read(as: .ogg, by: ways).media
      #expect(abs((media.duration ?? 0) - 2) < 0.1, "\(media.duration ?? 0)")
      #expect(media.video?.frameRate?.description == "25/1")
    }
  }

  @Test(arguments: ["libopus", "flac", "libvorbis"], [[], ["-c:v", "libvpx"]])
  func whatBeginsLateLastsAsLongAsWhatIsInIt(codec: String, picture: [String]) throws {
    let input = (picture.isEmpty ? [] : FFmpegTool.picture) + FFmpegTool.tone
    let coded = picture + ["-c:a", codec, "-ar", "48000", "-output_ts_offset", "3600"]
    let file = try FFmpegTool.make("a.ogg", input + coded)
    let media = try file.read(as: .ogg).media
    #expect(abs((media.duration ?? 0) - 2) < 0.1, "\(media.duration ?? 0)")
    #expect(media.warnings.isEmpty, "\(media.warnings)")
  }

  /// The bytes of another upload from the middle on, or in the middle alone; behind the last page they do no harm.
  @Test func bytesOfAnotherFileAreNamed() throws {
    let coded = ["-c:v", "libtheora", "-c:a", "libvorbis"]
    let bytes = try FFmpegTool.make("a.ogv", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
    let other = try FFmpegTool.make("a.avi", FFmpegTool.picture + FFmpegTool.tone).allBytes
    let (half, third) = (bytes.count / 2, bytes.count / 3)
    func told(_ bytes: [UInt8]) throws -> [MediaWarning] {
      try #require(OpenFile(holding: bytes)).read(as: .ogg).media.warnings
    }
    #expect(try told(bytes) == [])
    #expect(try told(bytes + other) == [])
    #expect(try told(Array(bytes[..<half])).allSatisfy { $0.code == .truncated })
    for mixed in [bytes[..<half] + other, bytes[..<third] + other[..<1000] + bytes[(third + 1000)...]] {
      let warnings = try told(Array(mixed))
      #expect(warnings.contains { $0.code == .claimUnchecked && $0.fact == "duration" }, "\(warnings)")
    }
  }

  @Test(arguments: ["libtheora", "libvpx"], ["libvorbis", "libopus", "flac"])
  func soundMayBeginBehindThePictures(picture: String, codec: String) throws {
    let tone = ["-itsoffset", "3"] + FFmpegTool.tone
    let file = try FFmpegTool.make("a.ogg", FFmpegTool.picture + tone + ["-c:v", picture, "-c:a", codec])
    let media = try file.read(as: .ogg).media
    #expect(abs((media.duration ?? 0) - 5) < 0.1, "\(media.duration ?? 0)")
    #expect(media.warnings.isEmpty, "\(media.warnings)")
  }

  /// Pages follow one another by their times, so they show how far the sound is where the pictures end.
  @Test(arguments: [(6, 10, 0), (10, 6, 0), (6, 10, 4), (6, 10, 2)], ["libvorbis", "libopus"])
  func picturesMayEndElsewhereThanTheirSound(seconds: (picture: Int, sound: Int, late: Int), codec: String)
    throws
  {
    let arguments = [
      "-itsoffset", "\(seconds.late)", "-f", "lavfi", "-i",
      "testsrc2=size=64x48:rate=25:duration=\(seconds.picture)", "-f", "lavfi", "-i",
      "sine=sample_rate=48000:duration=\(seconds.sound)", "-c:v", "libtheora", "-c:a", codec, "-fps_mode",
      "passthrough",
    ]
    let file = try FFmpegTool.make("a.ogv", arguments)
    for media in [try file.read(as: .ogg).media, try file.read(as: .ogg, by: [.thorough]).media] {
      #expect(abs((media.duration ?? 0) - 10) < 0.1, "\(media.duration ?? 0)")
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
    // Its pictures at twice their rate.
    var bytes = file.allBytes
    let header = try #require(bytes.firstRange(of: [0x80] + Array("theora".utf8))).lowerBound
    bytes[header + 25] *= 2
    OggPages.seal(&bytes)
    let media = try #require(OpenFile(holding: bytes)).read(as: .ogg).media
    #expect(media.warnings.contains { $0.fact == "video.frameRate" }, "\(media.warnings)")
  }

  /// A page of sound that is as long as the file lies beside any rate of its pictures.
  @Test(arguments: [2, 3], ["libvorbis", "libopus"])
  func aShortFileConfirmsNoFalseRate(seconds: Int, codec: String) throws {
    let arguments = [
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=\(seconds)", "-f", "lavfi", "-i",
      "sine=sample_rate=48000:duration=\(seconds)", "-c:v", "libtheora", "-c:a", codec,
    ]
    let bytes = try FFmpegTool.make("a.ogv", arguments).allBytes
    let header = try #require(bytes.firstRange(of: [0x80] + Array("theora".utf8))).lowerBound
    for rate in [12, 25, 35, 50] as [UInt8] {
      var changed = bytes
      changed[header + 25] = rate
      OggPages.seal(&changed)
      let media = try #require(OpenFile(holding: changed)).read(as: .ogg).media
      let isTold = media.warnings.contains { $0.fact == "video.frameRate" }
      #expect(isTold == (rate != 25), "\(rate): \(media.warnings)")
    }
  }

  /// Pages count pictures that newer writers leave out; nothing here says that they don't.
  @Test(arguments: ["libvorbis", "libopus"], [(4, 12), (20, 1)])
  func repeatedPicturesCountBesideALongPageOfSound(codec: String, seconds: (picture: Int, sound: Int)) throws
  {
    let arguments = [
      "-f", "lavfi", "-i", "testsrc2=size=68x52:rate=5:duration=\(seconds.picture)", "-f", "lavfi", "-i",
      "sine=sample_rate=48000:duration=\(seconds.sound)", "-r", "25", "-c:v", "libtheora", "-c:a", codec,
    ]
    let longest = Double(max(seconds.picture, seconds.sound))
    for more in [[], ["-page_duration", "5000000"]] {
      var pages = OggPages(try FFmpegTool.make("a.ogv", arguments + more).allBytes)
      pages.leaveEmptyPacketsOut()
      let media = try #require(OpenFile(holding: pages.bytes)).read(as: .ogg).media
      #expect(abs((media.duration ?? 0) - longest) < 0.2, "\(media.duration ?? 0)")
      #expect(!media.warnings.contains { $0.code == .clockJumps }, "\(media.warnings)")
    }
  }

  @Test func whatIsNoPageBetweenPagesIsNamed() throws {
    let coded = FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "libtheora", "-c:a", "libvorbis"]
    let whole = try FFmpegTool.make("a.ogv", coded).allBytes
    let middle = whole.count / 2
    let (head, rest) = (Array(whole[..<middle]), Array(whole[middle...]))
    let torn: [[UInt8]] = [head + [0] + rest, head + rest.dropFirst(999), head + head.suffix(999) + rest]
    for bytes in torn {
      let media = try #require(OpenFile(holding: bytes)).read(as: .ogg).media
      #expect(media.warnings.contains { $0.fact == "duration" }, "\(media.warnings)")
    }
    // What was appended is of no page.
    let media = try #require(OpenFile(holding: whole + Array("TAG and so on".utf8))).read(as: .ogg).media
    #expect(media.warnings.isEmpty, "\(media.warnings)")
  }

  /// Eight times as many streams take eight times as long, not 64 times.
  @Test func streamsThatOnlyBeginCostAsMuchAsOthers() throws {
    func pages(_ count: Int) -> BytesInMemory {
      let header: [UInt8] =
        [1] + Array("vorbis".utf8) + [0, 0, 0, 0, 1, 0x40, 0x1F, 0, 0] + Array(repeating: 0, count: 12)
        + [0xB8, 1]
      return BytesInMemory(
        all: (0..<count).flatMap { number -> [UInt8] in
          let serial = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
          return Array("OggS".utf8) + [0, 2] + Array(repeating: 0, count: 8) + serial
            + Array(repeating: 0, count: 8) + [1, UInt8(header.count)] + header
        })
    }
    func cost(_ count: Int) throws -> Double {
      let file = pages(count)
      var (before, after) = (timespec(), timespec())
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before)
      #expect(try #require(OggTimes(file)).links == 1)
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after)
      return Double(after.tv_sec - before.tv_sec) + Double(after.tv_nsec - before.tv_nsec) / 1e9
    }
    // The least of several, because whatever else the machine does only adds to it.
    func least(_ count: Int) throws -> Double { try (0..<5).map { _ in try cost(count) }.min() ?? 0 }
    #expect(try least(16_000) < 24 * least(2000))
  }

  /// The facts from the quick reading, and from every packet.
  private static func media(_ pages: OggPages) throws -> [MediaInfo] {
    let file = try #require(OpenFile(holding: pages.bytes))
    return [try file.read(as: .ogg).media, try file.read(as: .ogg, by: [.thorough]).media]
  }

  /// A change to an intact file.
  enum Change: CaseIterable {
    case none, allNumbersZero, timesOfEveryOtherPageOnly
    case onePageLost, onePageTwice, onePageLater, allPagesLaterFromTheMiddle, lastPageLater
    case beginsInTheMiddle

    func made(to original: OggPages) -> OggPages {
      var pages = original
      let pictures = original.pictures
      let middle = pictures[pictures.count / 2]
      switch self {
      case .none: break
      case .allNumbersZero: for index in pages.pages.indices { pages.pages[index].clearNumber() }
      case .timesOfEveryOtherPageOnly:
        for (place, index) in pictures.enumerated() where place % 2 == 0 && place + 1 < pictures.count {
          pages.pages[index].granule = .max
        }
      case .onePageLost: pages.pages.remove(at: middle)
      case .onePageTwice: pages.pages.insert(pages.pages[middle], at: middle)
      case .onePageLater: pages.delay(middle, by: 25 * 60)
      case .allPagesLaterFromTheMiddle:
        for index in pictures where index >= middle { pages.delay(index, by: 25 * 3600) }
      case .lastPageLater: pages.delay(pictures[pictures.count - 1], by: 25 * 60)
      case .beginsInTheMiddle:
        let headers = pages.pages.prefix { $0.granule == 0 }.count
        pages.pages.removeSubrange(headers..<middle)
      }
      return pages
    }

    /// Whether a page contradicts its packets.
    var isContradiction: Bool {
      [.onePageLost, .onePageTwice, .onePageLater, .allPagesLaterFromTheMiddle, .lastPageLater].contains(self)
    }
  }

  @Test(arguments: Change.allCases) func withSound(change: Change) throws {
    for still in [false, true] {
      let original = try Self.made(still: still, sound: true)
      for media in try Self.media(change.made(to: original)) {
        let what = Comment(rawValue: "\(change), still: \(still): \(media.duration ?? 0), \(media.warnings)")
        #expect(media.warnings.contains { $0.code == .clockJumps } == change.isContradiction, what)
        let duration = try #require(media.duration)
        switch change {
        case .none, .allNumbersZero, .timesOfEveryOtherPageOnly:
          #expect(abs(duration - Self.seconds) < 0.25 && media.warnings.isEmpty, what)
        // False claims of a minute or an hour are not reported; a repeated page counts.
        default: #expect(duration < Self.seconds + 1, what)
        }
      }
    }
  }

  @Test(arguments: Change.allCases) func withoutSound(change: Change) throws {
    for still in [false, true] {
      let original = try Self.made(still: still, sound: false)
      for media in try Self.media(change.made(to: original)) {
        let what = Comment(rawValue: "\(change), still: \(still): \(media.duration ?? 0), \(media.warnings)")
        let duration = try #require(media.duration)
        switch change {
        case .none, .allNumbersZero, .timesOfEveryOtherPageOnly:
          #expect(abs(duration - Self.seconds) < 0.25, what)
          // Nothing else proves the duration of a still part.
          #expect(Set(media.warnings.map(\.code)) == (still ? [.claimUnchecked] : []), what)
        case .beginsInTheMiddle: #expect(!media.warnings.contains { $0.code == .clockJumps }, what)
        default: #expect(media.warnings.contains { $0.fact == "duration" }, what)
        }
      }
    }
  }
}
