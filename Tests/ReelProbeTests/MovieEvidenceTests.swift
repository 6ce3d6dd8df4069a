import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// What tables, edits and codecs prove against the claims of a movie's boxes.
@Suite(.needsFFmpeg)
struct MovieEvidenceTests {
  /// Two seconds at 25 pictures per second, 64x48, with audio.
  private func movie(_ name: String = "a.mp4", _ arguments: [String] = []) throws -> MovieBytes {
    let made = try FFmpegTool.make(
      name, FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "mpeg4", "-c:a", "aac"] + arguments)
    return MovieBytes(made.allBytes)
  }

  private func media(_ movie: MovieBytes) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: movie.bytes))
    let container = try #require(file.sniffed)
    return try file.read(as: container).media
  }

  private func warning(_ code: MediaWarning.Code, _ media: MediaInfo) -> MediaWarning? {
    media.warnings.first { $0.code == code }
  }

  @Test func aMovieThatTellsTheTruthHasNoWarning() throws {
    for name in ["a.mp4", "a.mov", "a.3gp"] {
      let found = try media(
        try movie(name, name == "a.3gp" ? ["-s", "176x144", "-ar", "8000", "-ac", "1"] : []))
      #expect(found.warnings.isEmpty && found.durationSource == .container, "\(name) \(found.warnings)")
      #expect(abs((found.duration ?? 0) - 2) < 0.15 && found.video?.frameRate?.value == 25)
    }
  }

  @Test(arguments: [200, 16_000, UInt64(UInt32.max)]) func theMoviesDurationIsAClaim(ticks: UInt64) throws {
    var movie = try movie()
    // In the movie's time scale: milliseconds, or, from FFmpeg 9 on, a unit that suits all tracks.
    let head = try #require(movie.box("moov/mvhd"))
    let unit = Double(movie.number(at: head + 12))
    movie.write(ticks < UInt64(UInt32.max) ? UInt64(Double(ticks) / 1000 * unit) : ticks, at: head + 16)
    let found = try media(movie)
    #expect(abs((found.duration ?? 0) - 2) < 0.15)
    if ticks < UInt64(UInt32.max) {
      let told = warning(.durationMismatch, found)
      #expect(told?.stated == .number(Double(ticks) / 1000) && told?.fact == "duration")
    }
  }

  /// Even rates that do not fit into a sample entry are compared with it.
  @Test(arguments: [22_050, 48_000, 88_200, 441_000] as [UInt64])
  func theClockOfPlainSoundIsHeldToItsEntry(rate: UInt64) throws {
    var movie = MovieBytes(
      try FFmpegTool.make("a.mov", FFmpegTool.tone + ["-c:a", "pcm_s16le", "-ar", "44100"])
        .allBytes)
    #expect(try media(movie).warnings == [])
    movie.write(rate, at: try #require(movie.box("moov/trak/mdia/mdhd")) + 12)
    let told = warning(.soundMismatch, try media(movie))
    #expect(told?.stated == .number(44_100) && told?.measured == .number(Double(rate)))
  }

  @Test func aClockThatContradictsItsTrackIsNamed() throws {
    for path in ["moov/trak/mdia/mdhd", "moov/trak/mdia/minf/stbl/stts"] {
      var movie = try movie()
      // The time scale, or the step of the first run.
      let box = try #require(movie.box(path))
      let place = box + 12
      movie.write(movie.number(at: place) * 3, at: place)
      let found = try media(movie)
      #expect(
        warning(.durationMismatch, found) != nil && warning(.frameRateMismatch, found) != nil, "\(path)")
    }
  }

  /// FFmpeg 9 gives the movie the time scale of its audio. A track header that is wrong together with the movie then
  /// seems to be in the audio's ticks, unlike the video's.
  @Test func aMovieThatLiesWithItsVideoIsNamedByItsSound() throws {
    let made = try FFmpegTool.make(
      "a.mp4", FFmpegTool.picture + FFmpegTool.tone + ["-c:a", "aac", "-ar", "44100"])
    var movie = MovieBytes(made.allBytes)
    let head = try #require(movie.box("moov/mvhd"))
    // Use the audio's time scale, whichever FFmpeg made the file.
    var places = [head + 16]
    for track in 0..<2 {
      places.append(try #require(movie.box("moov/trak/tkhd", track: track)) + 20)
      if let edit = movie.box("moov/trak/edts/elst", track: track) { places.append(edit + 8) }
    }
    for place in places {
      movie.write(movie.number(at: place) * 44_100 / movie.number(at: head + 12), at: place)
    }
    movie.write(44_100, at: head + 12)
    #expect(try media(movie).warnings == [])
    movie.write(22_050, at: head + 12)
    let clock = try #require(movie.box("moov/trak/mdia/mdhd")) + 12
    movie.write(movie.number(at: clock) / 2, at: clock)
    #expect(warning(.durationMismatch, try media(movie)) != nil)
  }

  @Test func tablesThatCountDifferentSamplesAreNamed() throws {
    for (path, offset) in [("stts", 8), ("stsz", 8), ("stco", 4)] {
      var movie = try movie()
      let place = try #require(movie.box("moov/trak/mdia/minf/stbl/" + path)) + offset
      movie.write(max(1, movie.number(at: place) / 2), at: place)
      #expect(warning(.indexMismatch, try media(movie)) != nil, "\(path)")
    }
  }

  /// The other tables prove the samples that an empty size table denies.
  @Test func aTrackWhoseSizesTellOfNoSampleIsNamed() throws {
    var movie = MovieBytes(
      try FFmpegTool.make("a.mp4", FFmpegTool.picture + FFmpegTool.tone + ["-c:a", "aac"])
        .allBytes)
    let place = try #require(movie.box("moov/trak/mdia/minf/stbl/stsz")) + 8
    #expect(try media(movie).warnings == [])
    movie.write(0, at: place)
    #expect(warning(.indexMismatch, try media(movie)) != nil)
  }

  /// FATE's display matrices, and a writer that also swaps the sides in the track header.
  @Test(
    arguments: [
      ([0, 1, -1, 0], 48, 64, 48, 64, false), ([0, 1, -1, 0], 64, 48, 48, 64, false),
      ([0, 1, -2, 0], 64, 48, 96, 64, false), ([0, 2, -1, 0], 64, 48, 48, 128, false),
      ([2, 0, 0, 1], 64, 48, 128, 48, false), ([1, 0, 0, 2], 64, 48, 64, 96, false),
      ([1, 0, 0, 1], 128, 48, 128, 48, true),
    ] as [([Int], UInt64, UInt64, Int, Int, Bool)])
  func shapes(matrix: [Int], across: UInt64, down: UInt64, width: Int, height: Int, isWarned: Bool) throws {
    var movie = try movie()
    let header = try #require(movie.box("moov/trak/tkhd"))
    for (place, number) in zip([0, 1, 3, 4], matrix) {
      movie.write(UInt64(bitPattern: Int64(number) << 16), at: header + 40 + 4 * place)
    }
    movie.write(across << 16, at: header + 76)
    movie.write(down << 16, at: header + 80)
    // Without a pixel shape of its own.
    if let entry = movie.entry(of: "vide") {
      let end = entry + Int(movie.number(at: entry))
      for place in (entry + 86)..<(end - 3) where movie.bytes[place..<(place + 4)].elementsEqual("pasp".utf8)
      {
        movie.write(0x66726565, at: place)
      }
    }
    let found = try media(movie)
    #expect((found.video?.width, found.video?.height) == (width, height))
    #expect((warning(.pixelShapeMismatch, found) != nil) == isWarned)
  }

  @Test func aShapeBehindABrokenBoxIsFound() throws {
    var movie = SmallMovie()
    movie.entryExtra =
      [0, 0, 0, 3, 0x6A, 0x75, 0x6E, 0x6B, 0] + SmallMovie.box("pasp", SmallMovie.u32(2) + SmallMovie.u32(1))
    #expect(try media(MovieBytes(movie.bytes)).video?.width == 128)
  }

  /// Without `pasp` the pictures may define the shape (ISO/IEC 14496-12, 12.1.4), and the track header the resulting
  /// size, rounded or not.
  @Test func aShapeOfThePicturesThatTheTrackHeaderSharesIsTheirs() throws {
    let coded = [
      "-c:v", "libx264", "-pix_fmt", "yuv420p", "-vf", "scale=720:480,setsar=40/33", "-frames:v", "3",
    ]
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.picture + coded)
    var movie = MovieBytes(made.allBytes)
    let pixel = try #require(movie.bytes.position(of: "pasp"))
    // "free"
    movie.write(0x6672_6565, at: pixel)
    let header = try #require(movie.box("moov/trak/tkhd"))
    let exact = movie.number(at: header + 76)
    for (width, isTrue) in [(exact, true), (873 << 16, true), (640 << 16, false)] {
      movie.write(width, at: header + 76)
      let found = try media(movie)
      #expect((warning(.pixelShapeMismatch, found) == nil) == isTrue)
      if isTrue {
        #expect(found.video?.sampleAspectRatio?.ratio == Rational(40, 33) && found.video?.width == 873)
      }
    }
  }

  /// A program inserted data before the media data, or moved the index there, without adjusting the offsets.
  @Test(arguments: [
    ["-c:v", "libx264", "-c:a", "aac"], ["-c:v", "mpeg4", "-c:a", "alac"],
    ["-c:v", "libaom-av1", "-c:a", "flac"],
    ["-vn", "-c:a", "aac"],
  ]) func offsetsThatWereNotMovedAreNamed(coded: [String]) throws {
    let quick = [
      "-pix_fmt", "yuv420p", "-frames:v", "5", "-strict", "-2", "-cpu-used", "8", "-movflags", "faststart",
    ]
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.picture + FFmpegTool.tone + coded + quick)
    let bytes = made.allBytes
    #expect(try media(MovieBytes(bytes)).warnings == [])
    let place = try #require(bytes.position(of: "mdat")) - 4
    for moved in [88, bytes.count / 2] {
      let free = SmallMovie.box("free", (0..<moved - 8).map { UInt8(truncatingIfNeeded: 7 * $0 + 1) })
      let found = try media(MovieBytes(bytes[..<place] + free + bytes[place...]))
      #expect(warning(.indexMismatch, found) != nil, "\(moved) \(found.warnings)")
    }
  }

  /// MPEG-2 labeled as MPEG-4 (ISO/IEC 14496-1, table 5).
  @Test func aRecordDoesNotStandForPictures() throws {
    let coded = ["-c:v", "mpeg2video", "-f", "mp4"]
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.picture + coded)
    var movie = MovieBytes(made.allBytes)
    let entry = try #require(movie.bytes.position(of: [0x04, 0x80, 0x80, 0x80])) + 5
    #expect(movie.number(at: entry, bytes: 1) == 0x61)
    movie.write(0x20, at: entry, bytes: 1)
    let told = warning(.claimUnchecked, try media(movie))
    #expect(told?.fact == "video.codec" && told?.measured == .text("mpeg2video"))
  }

  /// FFmpeg trusts the sample entry, and would read beyond the end of the file.
  @Test(arguments: [1, 2, 6] as [UInt64]) func plainSoundOfOtherChannelsIsNotCutOff(channels: UInt64) throws {
    let coded = ["-c:a", "pcm_s16le", "-ac", "2"]
    var movie = MovieBytes(try FFmpegTool.make("a.mov", FFmpegTool.tone + coded).allBytes)
    movie.write(channels, at: try #require(movie.entry(of: "soun")) + 24, bytes: 2)
    let found = try media(movie)
    #expect(found.truncated == false && found.audio.first?.channels == 2)
    #expect(found.warnings.map(\.code) == (channels == 2 ? [] : [.soundMismatch]))
  }

  /// Uncompressed pixels with a wrong size or depth.
  @Test(arguments: ["rgb24", "uyvy422", "pal8", "v210"]) func plainPicturesAreAsLargeAsTheirPixels(
    format: String
  ) throws {
    let codec = format == "v210" ? ["v210"] : ["rawvideo", "-pix_fmt", format]
    var bytes = try FFmpegTool.make("a.mov", FFmpegTool.picture + ["-frames:v", "2", "-c:v"] + codec).allBytes
    // FFmpeg 7.1 refuses a file whose clean aperture is wider than its pictures.
    if let aperture = bytes.position(of: "clap") {
      bytes.replaceSubrange(aperture..<(aperture + 4), with: Array("free".utf8))
    }
    func doubts(_ width: UInt64) throws -> [MediaWarning] {
      var movie = MovieBytes(bytes)
      movie.write(width, at: try #require(movie.entry(of: "vide")) + 32, bytes: 2)
      return try media(movie).warnings.filter { $0.message.contains("plain pixels") }
    }
    #expect(try doubts(64) == [])
    #expect(try doubts(16).map(\.fact) == ["video"])
    #expect(try doubts(256).map(\.fact) == ["video.codec"])
  }

  @Test func datesOfTracksStandIn() throws {
    var movie = try movie("a.mov", ["-metadata", "creation_time=2024-05-01T10:11:12Z"])
    #expect(try media(movie).createdAt == Date(timeIntervalSince1970: 1_714_558_272))
    let header = try #require(movie.box("moov/mvhd")) + 4
    for none in [0, 2_082_844_800, UInt64(UInt32.max)] {
      movie.write(none, at: header)
      #expect(try media(movie).createdAt == Date(timeIntervalSince1970: 1_714_558_272), "\(none)")
    }
    let media = try #require(movie.box("moov/trak/mdia/mdhd"))
    movie.write(movie.number(at: media + 4) + 864_000, at: header)
    #expect(warning(.dateMismatch, try self.media(movie)) != nil)
  }

  @Test(arguments: [
    "1904-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2040-02-06T06:28:15Z", "2106-02-07T06:28:15Z",
    "1980-01-01T00:00:00Z", "2038-01-19T03:14:07Z",
  ])
  func beginningsAndEndsOfEpochsAreNoDates(text: String) {
    #expect(CreationTime.parse(text) == nil)
    #expect(CreationTime.parse("2040-02-06T06:28:16Z") != nil)
  }

  @Test(
    arguments: [
      ([0x43, 0x61, 0x66, 0x8E], 0, "Café"), ([0x43, 0x61, 0x66, 0xC3, 0xA9], 0, "Café"),
      ([0xFE, 0xFF, 0x65, 0xE5, 0x67, 0x2C], 0x55C4, "日本"),
      ([0xFF, 0xFE, 0xE5, 0x65, 0x2C, 0x67], 0x55C4, "日本"),
      ([0x8C, 0xE8, 0xF0], 32, "Мир"), ([0x93, 0xFA, 0x96, 0x7B], 11, nil),
      ([0x43, 0x61, 0x66, 0xE9], 0x55C4, nil),
    ] as [([UInt8], Int, String?)])
  func textInItsEncoding(bytes: [UInt8], language: Int, text: String?) {
    #expect(MovieText.text(bytes, language: language) == text)
  }

  @Test func titlesOfEachKind() throws {
    let name = [0xA9] + Array("nam".utf8)
    func box(_ type: [UInt8], _ contents: [UInt8]) -> [UInt8] {
      SmallMovie.u32(UInt32(contents.count + 8)) + type + contents
    }
    let data = SmallMovie.box("data", SmallMovie.u32(2) + SmallMovie.u32(0) + [0x65, 0xE5, 0x67, 0x2C])
    let kinds: [([UInt8], String)] = [
      (SmallMovie.box("titl", SmallMovie.u32(0) + [0x15, 0xC7] + Array("mobile".utf8) + [0]), "mobile"),
      (box(name, [0, 4, 0, 0, 0x43, 0x61, 0x66, 0x8E]), "Café"),
      (
        SmallMovie.box(
          "meta",
          SmallMovie.u32(0)
            + SmallMovie.box(
              "hdlr",
              SmallMovie.u32(0) + SmallMovie.u32(0) + Array("mdirappl".utf8) + [UInt8](repeating: 0, count: 9)
            )
            + SmallMovie.box("ilst", box(name, data))), "日本"
      ),
    ]
    for (contents, title) in kinds {
      var movie = SmallMovie()
      movie.extra = SmallMovie.box("udta", contents)
      #expect(try media(MovieBytes(movie.bytes)).title == title)
    }
  }

  @Test func anEditListThatShowsNothingIsNamed() throws {
    var movie = SmallMovie()
    movie.edits = [(40, -1), (0, 0)]
    #expect(warning(.samplesHidden, try media(MovieBytes(movie.bytes))) != nil)
    movie.edits = [(0, 0)]
    #expect(warning(.samplesHidden, try media(MovieBytes(movie.bytes))) == nil)
  }

  /// An editor's slow motion, which not every player supports.
  @Test(arguments: [([0x8000], "25/2", false), ([0x2_0000], "50/1", false), ([0x8000, 0x2_0000], nil, nil)])
  func editsOfAnotherSpeedAreNamed(speeds: [UInt64], rate: String?, isVariable: Bool?) throws {
    let lengths = speeds.map { UInt32(1000 * 0x1_0000 / $0 * 2 / UInt64(speeds.count)) }
    let length = lengths.reduce(0, +)
    let edits = lengths.indices.map { (lengths[$0], Int32(1000 * $0)) }
    var movie = MovieBytes(SmallMovie(movieDuration: length, edits: edits).bytes)
    let list = try #require(movie.box("moov/trak/edts/elst"))
    for (place, speed) in speeds.enumerated() { movie.write(speed, at: list + 16 + 12 * place) }
    let found = try media(movie)
    #expect(found.duration == Double(length) / 1000)
    #expect(found.video?.frameRate?.description == rate && found.video?.variableFrameRate == isVariable)
    #expect(found.warnings.map(\.code) == [.claimUnchecked, .claimUnchecked], "\(found.warnings)")
    #expect(found.warnings.map(\.fact) == ["duration", "video.frameRate"])
    #expect(found.warnings.map(\.measured) == [.number(2), .number(25)])
  }

  /// Players stop before the second.
  @Test func twoMoviesInOneFileAreNamed() throws {
    for fastStart in [true, false] {
      let movie = SmallMovie(fastStart: fastStart).bytes
      let found = try media(MovieBytes(movie + movie))
      #expect(found.duration == 2)
      #expect(found.warnings.map(\.code) == [.claimUnchecked] && found.warnings.first?.fact == "duration")
      // An old index that remained when another one was written.
      let index = movie.firstRange(of: Array("moov".utf8)).map { Array(movie[($0.lowerBound - 4)...]) } ?? []
      #expect(try media(MovieBytes(movie + index)).warnings == [])
    }
  }

  @Test(arguments: ["frag_keyframe+empty_moov", "frag_keyframe+empty_moov+default_base_moof"])
  func fragmentsThatWereJoinedKeepPace(flags: String) throws {
    let part = try movie("a.mp4", ["-g", "10", "-movflags", flags]).bytes
    for parts in 2...3 {
      let found = try media(MovieBytes(Array(repeatElement(part, count: parts).joined())))
      #expect(abs((found.duration ?? 0) - 2 * Double(parts)) < 0.2, "\(found.duration ?? 0)")
      #expect(found.video?.frameRate?.value == 25 && found.video?.variableFrameRate == false)
      #expect(
        Set(found.warnings.map(\.code)).subtracting([.durationMismatch]) == [.clockJumps], "\(found.warnings)"
      )
    }
  }

  /// A live recording that lost its connection: players that follow the clock show a pause. If only one track has it,
  /// or the clock returns, it is a mistake.
  @Test(arguments: [(true, 300), (true, 5), (true, 0.3), (false, 300), (false, 5)])
  func fragmentsThatBeginLaterPause(hasSound: Bool, pause: Double) throws {
    let flags = ["-g", "10", "-movflags", "frag_keyframe+empty_moov+default_base_moof"]
    let made = try movie("a.mp4", flags + (hasSound ? [] : ["-an"]))
    func moved(_ pause: Double, tracks: Int, from first: Int, to last: Int) throws -> MediaInfo {
      var (movie, next, place) = (made, 0, 0)
      while let found = movie.bytes.position(of: "tfdt", notBefore: next) {
        let (part, track) = place.quotientAndRemainder(dividingBy: hasSound ? 2 : 1)
        (next, place) = (found + 4, place + 1)
        guard track < tracks, (first..<last).contains(part) else { continue }
        let time = movie.number(at: found + 8, bytes: 8)
        movie.write(time + UInt64(pause * (track == 0 ? 12_800 : 44_100)), at: found + 8, bytes: 8)
      }
      return try media(movie)
    }
    let later = try moved(pause, tracks: 2, from: 2, to: .max)
    #expect(abs((later.duration ?? 0) - 2 - pause) < 0.1, "\(later.duration ?? 0)")
    #expect(later.video?.frameRate?.value == 25)
    #expect(later.warnings.map(\.code) == [.claimUnchecked] && later.warnings.first?.fact == "duration")
    guard pause > 1 else { return }
    let back = try moved(pause, tracks: 2, from: 2, to: 3)
    #expect(abs((back.duration ?? 0) - 2) < 0.2, "\(back.duration ?? 0)")
    #expect(back.warnings.contains { $0.code == .indexMismatch }, "\(back.warnings)")
    guard hasSound else {
      // A wrong step causes a pause, too.
      var movie = made
      let header = try #require(movie.bytes.position(of: "tfhd"))
      #expect(movie.number(at: header + 12) == 512)
      movie.write(51, at: header + 12)
      #expect(try media(movie).warnings.contains { $0.code == .indexMismatch })
      return
    }
    let alone = try moved(pause, tracks: 1, from: 2, to: .max)
    #expect(alone.warnings.contains { $0.code == .indexMismatch }, "\(alone.warnings)")
  }

  /// A step longer than any pause is another beginning, even after a pause.
  @Test func aPauseIsNoExcuseForAJump() throws {
    var movie = try movie(
      "a.mp4", ["-g", "10", "-an", "-movflags", "frag_keyframe+empty_moov+default_base_moof"])
    var (next, part) = (0, 0)
    while let found = movie.bytes.position(of: "tfdt", notBefore: next) {
      let later = [0, 0, 60, 60][min(part, 3)] + (part > 2 ? 36_000 : 0)
      movie.write(movie.number(at: found + 8, bytes: 8) + UInt64(later * 12_800), at: found + 8, bytes: 8)
      (next, part) = (found + 4, part + 1)
    }
    let found = try media(movie)
    #expect(abs((found.duration ?? 0) - 62) < 0.1, "\(found.duration ?? 0)")
    #expect(found.warnings.contains { $0.code == .clockJumps }, "\(found.warnings)")
  }

  /// The pictures state a rate at which they would end long before the audio.
  @Test func aSlideShowInFragmentsIsNotSlowed() throws {
    let slides = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=1/5:d=35", "-f", "lavfi", "-i", "sine=d=2"]
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "0", "-c:a", "aac"]
    let flags = ["-bsf:v", "h264_metadata=tick_rate=50", "-movflags", "frag_keyframe+empty_moov"]
    let made = try FFmpegTool.make("a.mp4", slides + coded + flags)
    let found = try media(MovieBytes(made.allBytes))
    #expect(abs((found.duration ?? 0) - 35) < 0.1, "\(found.duration ?? 0)")
    #expect(!found.warnings.contains { $0.fact == "duration" }, "\(found.warnings)")
  }

  /// H.264 that does not call its rate fixed may state the field rate, and MPEG-2 may repeat fields.
  @Test(arguments: [
    (["libx264", "-bsf:v", "h264_metadata=tick_rate=100:fixed_frame_rate_flag=0"], false),
    (["libx264", "-bsf:v", "h264_metadata=tick_rate=75:fixed_frame_rate_flag=0"], true),
    (["mpeg2video", "-bsf:v", "setts=pts=PTS*2:dts=DTS*2:duration=DURATION*2"], false),
  ]) func aRateOfPicturesInFragmentsAlone(coded: [String], isTold: Bool) throws {
    let flags = ["-movflags", "frag_keyframe+empty_moov+default_base_moof"]
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.picture + ["-c:v"] + coded + flags)
    let found = try media(MovieBytes(made.allBytes))
    #expect(found.warnings.isEmpty != isTold, "\(found.warnings)")
  }

  @Test func aRateIsOfWhatIsShown() {
    let runs = [SampleTimes.Run(count: 59, step: 512), SampleTimes.Run(count: 1, step: 600_000)]
    let times = SampleTimes(runs)
    #expect(times?.samples(from: 0, to: 30_720).count == 60)
    #expect(times?.samples(from: 0, to: 30_720).step == 512 && times?.ordinaryStep == 512)
    #expect(times?.samples(from: 512, to: 1024).count == 1)
    #expect(SampleTimes(runs + runs)?.samples(from: 0, to: .max / 4).step == nil)
  }

  /// Each edit shows all runs; a naive loop over them would not end.
  @Test func manyEditsOfManyRunsTakeNoTime() throws {
    func presentation(edits: Int, runs: Int) throws -> TrackPresentation? {
      var movie = SmallMovie(samples: runs)
      movie.edits = [(UInt32, Int32)](repeating: (UInt32(40 * runs), 0), count: edits)
      var bytes = MovieBytes(movie.bytes)
      let table = "moov/trak/mdia/minf/stbl/stts"
      let place = try #require(bytes.box(table))
      let more = [[UInt8]](repeating: SmallMovie.u32(1) + SmallMovie.u32(40), count: runs - 1)
      let isThere = bytes.insert(Array(more.joined()), at: place + 16, in: table)
      #expect(isThere)
      bytes.write(UInt64(runs), at: place + 4)
      bytes.write(1, at: place + 8)
      return ISOFileMap(BytesInMemory(all: bytes.bytes)).tracks.first?.presentation
    }
    #expect(try presentation(edits: 100, runs: 1000)?.shown == 100_000)
    #expect(try presentation(edits: 4096, runs: 5000) == nil)
  }

  /// The container's transfer function is kept where the bit stream has none, and a warning is given where it has
  /// another.
  @Test(
    arguments: [
      ("libx265", [], false), ("libx264", [], false), ("libaom-av1", ["-cpu-used", "8"], false),
      ("libx264", ["-x264-params", "colorprim=bt709:transfer=bt709:colormatrix=bt709"], true),
    ] as [(String, [String], Bool)])
  func colours(codec: String, more: [String], isWarned: Bool) throws {
    let arguments = FFmpegTool.picture + ["-pix_fmt", "yuv420p", "-c:v", codec, "-frames:v", "5"] + more
    let made = try FFmpegTool.make("a.mp4", arguments)
    var movie = MovieBytes(made.allBytes)
    let entry = try #require(movie.entry(of: "vide"))
    let end = entry + Int(movie.number(at: entry))
    // A 20-byte box of bit rates is turned into one of colors.
    let place = try #require(
      ((entry + 86)..<(end - 3)).first { movie.bytes[$0..<($0 + 4)].elementsEqual("btrt".utf8) })
    for (offset, word) in [0x636F_6C72, 0x6E63_6C78, 0x0009_0010, 0x0009_0000].enumerated() {
      movie.write(UInt64(word), at: place + 4 * offset)
    }
    for ways: Set<ProbeMethod> in [Set(ProbeMethod.allCases), [.full]] {
      let file = try #require(OpenFile(holding: movie.bytes))
      let found = try file.read(as: .mp4, by: ways).media
      #expect(found.video?.hdr?.kind == .pq, "\(codec) \(ways)")
      #expect((warning(.transferMismatch, found) != nil) == isWarned, "\(codec) \(ways)")
    }
  }
}
