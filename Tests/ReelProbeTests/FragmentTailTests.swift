import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// The last fragments of a movie, and gaps between the samples of others.
@Suite(.needsFFmpeg)
struct FragmentTailTests {
  private static let flags = [
    "frag_keyframe+empty_moov", "frag_keyframe+empty_moov+default_base_moof",
    "frag_keyframe+empty_moov+separate_moof",
    "frag_keyframe+empty_moov+omit_tfhd_offset",
  ]

  private func made(_ flags: String, pictures: Int = 2, sound: Int = 2) throws -> [UInt8] {
    let inputs = [
      "-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=\(pictures)", "-f", "lavfi", "-i",
      "sine=sample_rate=44100:duration=\(sound)",
    ]
    let coded = ["-c:v", "mpeg4", "-g", "25", "-c:a", "aac", "-movflags", flags]
    return try FFmpegTool.make("a.mp4", inputs + coded).allBytes
  }

  private func read(_ bytes: [UInt8]) throws -> MediaInfo {
    try #require(OpenFile(holding: bytes)).read(as: .mp4).media
  }

  /// The range of the last fragment's `moof` box.
  private func lastFragment(_ bytes: [UInt8]) throws -> Range<Int> {
    let boxes = Array(ISOBoxes(BytesInMemory(all: bytes), in: 0..<Int64(bytes.count), atMost: 1000))
    let last = try #require(boxes.last { $0.type == "moof" })
    return Int(last.start)..<Int(last.end)
  }

  @Test(arguments: flags, [0, 1, 7, 8, 9]) func aFragmentWithoutItsMediaIsCut(flags: String, more: Int) throws
  {
    let bytes = try made(flags)
    #expect(try read(bytes).truncated == false)
    let cut = Array(bytes.prefix(try lastFragment(bytes).upperBound + more))
    let media = try read(cut)
    #expect(media.truncated == true && media.presentDuration != nil)
    #expect(!media.warnings.contains { $0.code == .indexMismatch }, "\(media.warnings)")
    // A cut before the fragment leaves a complete file.
    let whole = try read(Array(bytes.prefix(try lastFragment(bytes).lowerBound)))
    #expect(whole.truncated == false && whole.warnings.isEmpty, "\(whole.warnings)")
  }

  /// Tags, and the trailer of an HTML form upload.
  @Test(arguments: flags) func whatStandsBehindTheLastOneIsNoPartOfIt(flags: String) throws {
    let bytes = try made(flags)
    let tags: [[UInt8]] = [
      Array("TAGSome title".utf8) + [UInt8](repeating: 0, count: 115),
      Array("APETAGEX".utf8) + [0xD0, 7, 0, 0] + [UInt8](repeating: 0, count: 20),
      Array("\r\n------WebKitFormBoundaryABCDEFGH--\r\n".utf8), [UInt8](repeating: 0xFF, count: 100),
    ]
    for tag in tags {
      let media = try read(bytes + tag)
      #expect(media.truncated == false && media.warnings.isEmpty, "\(media.warnings)")
    }
    #expect(try read(Array(bytes.dropLast(20))).truncated == true)
    // A tag in place of the last fragment's media is not accepted as such.
    #expect(try read(Array(bytes.prefix(try lastFragment(bytes).upperBound)) + tags[0]).truncated == true)
  }

  /// Space reserved for more data than was written.
  @Test(arguments: flags) func roomBehindTheLastSampleIsNotMissing(flags: String) throws {
    var bytes = try made(flags)
    let media = try lastFragment(bytes).upperBound
    let size = bytes[media..<media + 4].reduce(0) { $0 << 8 | UInt32($1) }
    withUnsafeBytes(of: (size + 1000).bigEndian) { bytes.replaceSubrange(media..<media + 4, with: $0) }
    bytes.removeSubrange((media + Int(size))...)
    #expect(try read(bytes).truncated == false)
    #expect(try read(Array(bytes.dropLast())).truncated == true)
  }

  @Test(arguments: flags, [(2, 5), (5, 2), (1, 2)]) func tracksMayEndApart(flags: String, seconds: (Int, Int))
    throws
  {
    let media = try read(try made(flags, pictures: seconds.0, sound: seconds.1))
    #expect(media.warnings.isEmpty, "\(media.warnings)")
    #expect(abs((media.duration ?? 0) - Double(max(seconds.0, seconds.1))) < 0.15)
  }

  /// A copy of a live stream that lost some of its audio: the sample before the gap lasts until the audio continues.
  @Test(arguments: [10, 60]) func aGapInTheSoundIsNoContradiction(frame: Int) throws {
    let inputs = FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "mpeg4", "-g", "25", "-c:a", "aac"]
    let lossy = [
      "-bsf:a", "noise=drop=between(n\\,\(frame)\\,\(frame + 12))", "-movflags", "frag_keyframe+empty_moov",
    ]
    let bytes = try FFmpegTool.make("a.mp4", inputs + lossy).allBytes
    let media = try read(bytes)
    #expect(!media.warnings.contains { $0.code == .indexMismatch }, "\(media.warnings)")
    #expect(abs((media.duration ?? 0) - 2) < 0.15)
  }

  /// A `mdat` that claims to extend beyond the end hides what follows it; media data without a table is not shown,
  /// either.
  @Test(arguments: flags) func hiddenFragmentsAreNamed(flags: String) throws {
    let bytes = try made(flags)
    let boxes = Array(ISOBoxes(BytesInMemory(all: bytes), in: 0..<Int64(bytes.count), atMost: 1000))
    let media = try #require(boxes.first { $0.type == "mdat" })
    let fragment = try #require(boxes.first { $0.type == "moof" })
    var (long, freed) = (bytes, bytes)
    long[Int(media.start)] = 1
    freed.replaceSubrange(Int(fragment.start) + 4..<Int(fragment.start) + 8, with: Array("free".utf8))
    for changed in [long, freed] {
      let found = try read(changed)
      #expect(
        found.warnings.contains { $0.code == .indexMismatch && $0.fact == "duration" }, "\(found.warnings)")
    }
  }

  /// A last fragment that gives all its samples another duration is confirmed only by itself.
  @Test func theLastFragmentDoesNotConfirmItself() throws {
    var bytes = try made("frag_keyframe+empty_moov+default_base_moof")
    let last = try lastFragment(bytes)
    let header = try #require(bytes.position(of: Array("tfhd".utf8), notBefore: last.lowerBound))
    let step = bytes[(header + 12)..<(header + 16)].reduce(0) { $0 << 8 | Int($1) }
    for place in 0..<4 {
      bytes[header + 12 + place] = UInt8(truncatingIfNeeded: (2 * step) >> (24 - 8 * place))
    }
    let found = try read(bytes)
    #expect(found.warnings.contains { $0.fact == "duration" }, "\(found.warnings) \(found)")
  }

  /// Pictures from before a pause may be decoded just before the one that ends it is displayed.
  @Test(arguments: flags) func aPauseMakesNothingLonger(flags: String) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10:duration=30"]
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "3", "-b_strategy", "0"]
    let some = ["-vf", "select=lt(t\\,5)+gt(t\\,20)", "-fps_mode", "vfr", "-movflags", flags]
    let file = try FFmpegTool.make("a.mp4", source + coded + some)
    for media in try file.readBothWays(as: .mp4) {
      #expect(abs((media.duration ?? 0) - 30) < 0.1, "\(media.duration ?? 0)")
      #expect(!media.warnings.contains { $0.code == .indexMismatch }, "\(media.warnings)")
    }
  }

  /// Slow reordered pictures: the last to be displayed is decoded when the one two before it is displayed. The file
  /// ends when it is no longer displayed, not when the last picture is decoded. A much longer display is stated only
  /// by its own duration.
  @Test(arguments: flags + ["cmaf", "dash", "frag_every_frame+empty_moov"])
  func theLastPictureIsShownLate(flags: String) throws {
    // Five seconds between pictures, or a long gap before the last one.
    let uneven = [
      ("not(mod(n\\,125))", false), ("lt(n\\,100)+eq(n\\,109)", false), ("lt(n\\,100)+eq(n\\,148)", true),
      ("not(mod(n\\,12))*lt(n\\,60)+eq(n\\,260)", true),
    ]
    for (select, isTold) in uneven {
      let source = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=40"]
      let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "3", "-b_strategy", "0", "-g", "25"]
      let some = ["-vf", "select=\(select)", "-fps_mode", "vfr", "-movflags", flags]
      let file = try FFmpegTool.make("a.mp4", source + coded + some)
      let actual = try FFmpegTool.length(of: file)
      for media in try file.readBothWays(as: .mp4) {
        #expect(abs((media.duration ?? 0) - actual) < 0.1, "\(media.duration ?? 0), not \(actual)")
        let warnings = media.warnings.filter { $0.message.contains("its last picture comes far later") }
        #expect(warnings.map(\.fact) == (isTold ? ["duration", "video.frameRate"] : []), "\(warnings)")
        #expect(!media.warnings.contains { $0.code == .indexMismatch }, "\(media.warnings)")
      }
    }
  }

  /// A writer that sends each picture at once does not know its duration yet (FFmpeg 5.1, when it copies pictures).
  @Test(arguments: [25, 12]) func picturesThatTakeNoTimeStayUntilTheNext(rate: Int) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=\(rate):duration=5"]
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "0"]
    let flags = ["-movflags", "empty_moov+default_base_moof+frag_every_frame"]
    var bytes = try FFmpegTool.make("a.mp4", source + coded + flags).allBytes
    var (next, changed) = (0, 0)
    while let place = bytes.position(of: "tfhd", notBefore: next) {
      // Headers with a default duration, but without a data offset or a description index.
      if bytes[place + 7] & 0x0B == 8 {
        bytes.replaceSubrange((place + 12)..<(place + 16), with: [0, 0, 0, 0])
        changed += 1
      }
      next = place + 4
    }
    #expect(changed >= 4 * rate)
    for media in try #require(OpenFile(holding: bytes)).readBothWays(as: .mp4) {
      #expect(abs((media.duration ?? 0) - 5) <= 1.05 / Double(rate), "\(media.duration ?? 0)")
      #expect(
        media.video?.frameRate?.description == "\(rate)/1" && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// The audio continues, which confirms that the film does.
  @Test func soundGoesOnBehindALatePicture() throws {
    let source = [
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=40", "-f", "lavfi", "-i", "sine=d=40",
    ]
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "3", "-b_strategy", "0", "-g", "25"]
    let some = ["-vf", "select=lt(n\\,100)+eq(n\\,148)", "-fps_mode", "vfr", "-movflags", Self.flags[0]]
    let file = try FFmpegTool.make("a.mp4", source + coded + some)
    for media in try file.readBothWays(as: .mp4) {
      #expect(abs((media.duration ?? 0) - 40) < 0.1, "\(media.duration ?? 0)")
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// How many pictures each fragment has, and how many frames of sound.
  private struct Plan {
    let pictures: [Int]
    let sounds: [Int]
    /// How many frames late the sound begins.
    var late = 0
    var isFault = false

    static let all = [
      Plan(pictures: [25, 25, 25, 25, 25, 75], sounds: [43, 43, 473, 11, 11, 65]),
      Plan(pictures: [25, 25, 25, 25, 25, 25, 25, 25], sounds: [43, 215, 215, 43, 43, 43, 43, 1]),
      Plan(pictures: [25, 25, 25, 25, 25, 75, 100], sounds: [301, 301, 43, 43, 43, 129, 43]),
      Plan(pictures: [75, 75, 25, 25, 25, 25, 25], sounds: [43, 86, 86, 86, 64, 64, 70]),
      Plan(pictures: [25, 25, 25, 25], sounds: [86, 86, 86, 86], isFault: true),
      Plan(pictures: [25, 25, 25], sounds: [65, 64, 65], isFault: true),
      Plan(
        pictures: Array(repeating: 25, count: 10), sounds: Array(repeating: 22, count: 10), late: 129,
        isFault: true),
    ]
  }

  /// A writer that waits for pictures may write sound far ahead of them. Fragments in which all of it lasts longer than
  /// the pictures contradict one of their clocks.
  @Test func soundIsWrittenAhead() throws {
    let pictures = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=12"]
    let sounds = ["-f", "lavfi", "-i", "sine=d=24"]
    let flags = "frag_every_frame+empty_moov+default_base_moof"
    let coded = ["-c:v", "mpeg4", "-g", "1", "-c:a", "aac", "-movflags", flags]
    let made = try FFmpegTool.make("a.mp4", pictures + sounds + coded).allBytes
    for plan in Plan.all {
      let found = try read(try #require(regrouped(made, plan)))
      let shown = 0.04 * Double(plan.pictures.reduce(0, +))
      let heard = 1024 * Double(plan.sounds.reduce(0, +)) / 44_100
      #expect(
        found.warnings.contains { $0.code == .indexMismatch } == plan.isFault, "\(plan): \(found.warnings)")
      #expect(abs((found.duration ?? 0) - max(shown, heard)) < 0.05, "\(plan): \(found.duration ?? 0)")
      #expect(plan.isFault || found.warnings.isEmpty, "\(plan): \(found.warnings)")
    }
  }

  @Test(arguments: [4, 30]) func slowPicturesBesideSoundDoNotDrift(seconds: Int) throws {
    let pictures = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=1:duration=\(seconds)"]
    let sounds = ["-f", "lavfi", "-i", "sine=d=\(seconds)"]
    for reordered in ["0", "3"] {
      let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", reordered, "-c:a", "aac"]
      let flags = ["-frag_duration", "700000", "-movflags", "empty_moov+default_base_moof"]
      let file = try FFmpegTool.make("a.mp4", pictures + sounds + coded + flags)
      for media in try file.readBothWays(as: .mp4) {
        #expect(!media.warnings.contains { $0.code == .indexMismatch }, "\(media.warnings)")
      }
    }
  }

  /// Puts the samples of a movie that has a fragment for each into other fragments.
  private func regrouped(_ bytes: [UInt8], _ plan: Plan) -> [UInt8]? {
    let boxes = Array(ISOBoxes(BytesInMemory(all: bytes), in: 0..<Int64(bytes.count), atMost: 4096))
    guard let first = boxes.first(where: { $0.type == "moof" }) else { return nil }
    var samples: [[[UInt8]]] = [[], []]
    for (head, media) in zip(boxes, boxes.dropFirst()) where head.type == "moof" && media.type == "mdat" {
      guard let place = bytes.position(of: Array("tfhd".utf8), notBefore: Int(head.start)) else { return nil }
      let track = Int(bytes[place + 11]) - 1
      guard samples.indices.contains(track) else { return nil }
      samples[track].append(Array(bytes[Int(media.contents)..<Int(media.end)]))
    }
    var film = Array(bytes[..<Int(first.start)])
    var begun = [0, 0]
    for (number, counts) in zip(plan.pictures, plan.sounds).enumerated() {
      let ends = [begun[0] + counts.0, begun[1] + counts.1]
      guard ends[0] <= samples[0].count, ends[1] <= samples[1].count else { return nil }
      let parts = [0, 1].map { Array(samples[$0][begun[$0]..<ends[$0]]) }
      let starts = [begun[0], begun[1] + plan.late]
      let length = fragment(number, starts, parts, dataAt: 0).count
      film += fragment(number, starts, parts, dataAt: length + 8)
      film += SmallMovie.box("mdat", Array(parts.joined().joined()))
      begun = ends
    }
    return film
  }

  private func fragment(_ number: Int, _ begun: [Int], _ parts: [[[UInt8]]], dataAt start: Int) -> [UInt8] {
    func full(_ type: String, _ flags: UInt32, _ numbers: [Int]) -> [UInt8] {
      SmallMovie.box(type, SmallMovie.u32(flags) + numbers.flatMap { SmallMovie.u32(UInt32($0)) })
    }
    var (place, tracks): (Int, [UInt8]) = (start, [])
    for (track, step) in [512, 1024].enumerated() {
      let sizes = parts[track].map(\.count)
      let header = full("tfhd", 0x02_0008, [track + 1, step])
      let time = full("tfdt", 0, [begun[track] * step])
      let run = full("trun", 0x201, [sizes.count, place] + sizes)
      tracks += SmallMovie.box("traf", header + time + run)
      place += sizes.reduce(0, +)
    }
    return SmallMovie.box("moof", full("mfhd", 0, [number + 1]) + tracks)
  }

  /// The picture decoded last, a B picture, lasts until the last one is displayed after a pause, as x264 states
  /// through FFmpeg from 6.1 on.
  @Test(arguments: [true, false]) func aPauseBeforeTheLastPictureCountsOnce(hasSound: Bool) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30:duration=8"]
    let sound = hasSound ? ["-f", "lavfi", "-i", "sine=duration=6"] : []
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "3", "-b_strategy", "0"]
    let some = [
      "-x264-params", "scenecut=0", "-vf", "select=lt(n\\,119)*not(eq(n\\,50))+eq(n\\,179)", "-fps_mode",
      "vfr",
      "-movflags", "frag_keyframe+empty_moov+default_base_moof",
    ]
    var bytes = try FFmpegTool.make("a.mp4", source + sound + coded + some).allBytes
    let flags: [UInt8] = [0, 0, 0x0B, 0x05]
    let place = try #require(
      bytes.indices.dropLast(8).last {
        bytes[$0..<($0 + 4)].elementsEqual("trun".utf8)
          && bytes[($0 + 5)..<($0 + 8)].elementsEqual(flags.dropFirst())
      })
    let count = bytes[(place + 8)..<(place + 12)].reduce(0) { $0 << 8 | Int($1) }
    // After the data offset and the first sample's flags come 12 bytes per sample, beginning with the duration.
    let last = place + 20 + 12 * (count - 1)
    bytes.replaceSubrange(last..<(last + 4), with: SmallMovie.u32(30_720))
    let media = try read(bytes)
    #expect(abs((media.duration ?? 0) - 6.03) < 0.1, "\(media.duration ?? 0)")
    #expect(media.warnings.isEmpty, "\(media.warnings)")
  }

  /// Timestamps at both ends of the number range: a picture displayed before all others, and an end later than any.
  @Test func timesBeyondAllNumbersAreAnError() throws {
    let bytes = try made("frag_keyframe+empty_moov")
    let boxes = Array(ISOBoxes(BytesInMemory(all: bytes), in: 0..<Int64(bytes.count), atMost: 1000))
    let first = try #require(boxes.first { $0.type == "moof" })
    func wide(_ number: Int64) -> [UInt8] {
      SmallMovie.u32(UInt32(truncatingIfNeeded: number >> 32))
        + SmallMovie.u32(UInt32(truncatingIfNeeded: number))
    }
    func full(_ type: String, _ flags: UInt32, _ contents: [UInt8]) -> [UInt8] {
      SmallMovie.box(type, SmallMovie.u32(1 << 24 | flags) + contents)
    }
    func run(_ count: UInt32, offset: Int32? = nil) -> [UInt8] {
      full(
        "trun", offset == nil ? 0 : 0x800,
        SmallMovie.u32(count) + (offset.map { SmallMovie.u32(UInt32(bitPattern: $0)) } ?? []))
    }
    func fragment(_ start: Int64?, step: UInt32, _ runs: [UInt8]) -> [UInt8] {
      let head = full("tfhd", 0x02_0018, SmallMovie.u32(1) + SmallMovie.u32(step) + SmallMovie.u32(0))
      let time = start.map { full("tfdt", 0, wide($0)) } ?? []
      return SmallMovie.box(
        "moof", full("mfhd", 0, SmallMovie.u32(1)) + SmallMovie.box("traf", head + time + runs))
        + SmallMovie.box("mdat", [])
    }
    let begun: Int64 = 1_000_000_000
    var (left, film) = (Int64.max - begun, Array(bytes[..<Int(first.start)]))
    film += fragment(0, step: 1, run(1, offset: .max)) + fragment(begun, step: 0, run(1, offset: .min))
    let (count, longest) = (UInt32(1) << 20, Int64(UInt32.max))
    while left >= Int64(count) * longest {
      let runs = min(60, left / (Int64(count) * longest))
      film += fragment(nil, step: .max, (0..<runs).flatMap { _ in run(count) })
      left -= runs * Int64(count) * longest
    }
    film += fragment(nil, step: .max, run(UInt32(left / longest)))
    film += fragment(nil, step: UInt32(left % longest / 2), run(2)) + fragment(nil, step: 0, run(1))
    #expect(throws: ProbeError.self) { _ = try read(film) }
  }

  /// A picture may be displayed for long; an audio frame lasts as long as the others.
  @Test func theLastFrameOfSoundLastsAsLongAsTheOthers() throws {
    let bytes = try made("frag_keyframe+empty_moov", pictures: 2, sound: 2)
    let whole = try #require(try read(bytes).duration)
    var movie = MovieBytes(bytes)
    let last = try lastFragment(bytes)
    let place = try #require(bytes.position(of: Array("trun".utf8), notBefore: last.lowerBound + 8))
    let run = try #require(bytes.position(of: Array("trun".utf8), notBefore: place + 4))
    // Each sample has a duration and a size.
    try #require(movie.number(at: run + 4) == 0x301)
    let end = run - 4 + Int(movie.number(at: run - 4))
    movie.write(10_240, at: end - 8)
    let media = try read(movie.bytes)
    #expect(abs((media.duration ?? 0) - whole) < 0.1, "\(media.duration ?? 0), not \(whole)")
  }

  /// Where the pictures contradict their clock, the durations that follow from it are wrong, too.
  @Test func aClockThatPicturesContradictDoesNotTellHowLongTheyLast() throws {
    let inputs = FFmpegTool.picture + FFmpegTool.tone
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "25", "-c:a", "aac", "-movflags"]
    let made = try FFmpegTool.make("a.mp4", inputs + coded + ["frag_keyframe+empty_moov+default_base_moof"])
    var bytes = made.allBytes
    let header = try #require(bytes.position(of: Array("mdhd".utf8)))
    let scale = bytes[(header + 16)..<(header + 20)].reduce(0) { $0 << 8 | Int($1) }
    for place in 0..<4 {
      bytes[header + 16 + place] = UInt8(truncatingIfNeeded: (scale / 10) >> (24 - 8 * place))
    }
    let found = try read(bytes)
    #expect(found.warnings.contains { $0.fact == "duration" }, "\(found.warnings)")
  }
}
