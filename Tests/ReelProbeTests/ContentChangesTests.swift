import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Pictures and audio that change in the middle of a file.
struct ContentChangesTests {
  private func changes(_ bytes: [UInt8], by ways: Set<ProbeMethod> = [.thorough]) throws -> [MediaWarning] {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed), by: ways).media.warnings.filter {
      $0.code == .contentChanges
    }
  }

  /// VP8 with half the height from the 31st of 50 pictures on.
  @Test func aSizeThatChanges() throws {
    var bytes = SmallMatroska().bytes
    #expect(try changes(bytes) == [])
    let mark: [UInt8] = [0x9D, 0x01, 0x2A, 64, 0, 48, 0]
    let places = (0..<(bytes.count - mark.count)).filter {
      bytes[$0] == mark[0] && bytes[$0...].starts(with: mark)
    }
    #expect(places.count == 50)
    for place in places.dropFirst(30) { bytes[place + 5] = 24 }
    let told = try changes(bytes)
    #expect(told.map(\.fact) == ["video"])
    #expect(told.map(\.stated) == [.text("64x48")] && told.map(\.measured) == [.text("64x24")])
  }

  /// A second of one kind followed by a second of another.
  @Test(
    .needsFFmpeg,
    arguments: [
      ("ts", "mpeg2video", "ac3", 0), ("ts", "libx264", "mp2", 0), ("ts", "libx265", "aac", 0),
      ("flv", "libx264", "aac", 13), ("mpg", "mpeg2video", "mp2", 0),
    ] as [(String, String, String, Int)])
  func joinedFiles(name: String, video: String, audio: String, head: Int) throws {
    func part(_ size: String, _ channels: Int, at second: Int) throws -> [UInt8] {
      try FFmpegTool.make(
        "a.\(name)",
        [
          "-f", "lavfi", "-i", "testsrc=size=\(size):rate=25:duration=1", "-f", "lavfi", "-i",
          "sine=frequency=440:sample_rate=44100:duration=1", "-c:v", video, "-pix_fmt", "yuv420p", "-c:a",
          audio,
          "-ac", "\(channels)", "-output_ts_offset", "\(second)",
        ]
      ).allBytes
    }
    let (first, same, other) = (
      try part("64x48", 1, at: 0), try part("64x48", 1, at: 1), try part("96x48", 2, at: 1)
    )
    #expect(try changes(first + same.dropFirst(head)) == [])
    let joined = first + other.dropFirst(head)
    let told = try changes(joined)
    // The new record is in a tag that is read anyway.
    if name == "flv" { #expect(try changes(joined, by: FFmpegReader.quickWays) == told) }
    let picture = told.first { $0.fact == "video" }
    #expect(picture?.stated == .text("64x48") && picture?.measured == .text("96x48"), "\(told)")
    let sound = told.first { $0.fact == "audio.0.channels" }
    #expect(sound?.stated == .number(1) && sound?.measured == .number(2), "\(told)")
  }

  /// Streams of one codec followed by streams of others under the same packet identifiers.
  @Test(
    .needsFFmpeg,
    arguments: [
      ("libx265", "aac", ["video.codec"], ["hevc"]), ("libx264", "ac3", ["audio.0.codec"], ["ac3"]),
      ("mpeg2video", "mp2", ["video.codec", "audio.0.codec"], ["mpeg2video", "mp2"]),
      ("libx264", "aac", [], []),
    ] as [(String, String, [String], [String])])
  func aCodecThatChanges(video: String, audio: String, facts: [String], names: [String]) throws {
    let joined = try part("libx264", "aac", at: 0) + part(video, audio, at: 2)
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] {
      let told = try changes(joined, by: ways)
      #expect(told.map(\.fact) == facts, "\(told)")
      #expect(told.map(\.measured) == names.map { .text($0) }, "\(told)")
      let file = try #require(OpenFile(holding: joined))
      let media = try file.read(as: .mpegTS, by: ways).media
      #expect(media.video?.codec == "h264" && media.audio.map(\.codec) == ["aac"])
    }
  }

  private func part(_ video: String, _ audio: String, at second: Int) throws -> [UInt8] {
    let coded = ["-c:v", video, "-pix_fmt", "yuv420p", "-c:a", audio, "-output_ts_offset", "\(second)"]
    return try FFmpegTool.make("a.ts", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
  }

  /// MPEG-1 and MPEG-2 have two stream types, but are one to decoders.
  @Test(.needsFFmpeg) func aCodecThatChangesBehindAnotherOfItsTypes() throws {
    let joined =
      try part("mpeg1video", "mp2", at: 0) + part("mpeg2video", "mp2", at: 2) + part("libx264", "mp2", at: 4)
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] {
      let told = try changes(joined, by: ways).filter { $0.fact == "video.codec" }
      #expect(told.map(\.measured) == [.text("h264")], "\(told)")
    }
  }

  /// A 4:3 broadcast followed by a 16:9 one.
  @Test(
    .needsFFmpeg,
    arguments: [("ts", "mpeg2video"), ("ts", "libx264"), ("ts", "libx265"), ("mpg", "mpeg2video")])
  func aShapeThatChanges(name: String, video: String) throws {
    func part(_ shape: String, at second: Int) throws -> [UInt8] {
      try FFmpegTool.make(
        "a.\(name)",
        [
          "-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=1", "-vf", "setsar=\(shape)", "-c:v",
          video,
          "-pix_fmt", "yuv420p", "-output_ts_offset", "\(second)",
        ]
      ).allBytes
    }
    let (first, same, other) = (try part("1", at: 0), try part("1", at: 1), try part("4/3", at: 1))
    #expect(try changes(first + same) == [])
    let told = try changes(first + other)
    #expect(told.map(\.fact) == ["video.sampleAspectRatio"], "\(told)")
    #expect(told.map(\.stated) == [.text("1:1")] && told.map(\.measured) == [.text("4:3")], "\(told)")
  }

  /// 4:3 and 16:9 at 720x576, and the middle of a picture that is displayed as 4:3.
  @Test(
    arguments: [
      (0x23, [], nil), (0x23, extended, "16:15"), (0x33, extended, "64:45"), (0x13, extended, "1:1"),
      (0x03, extended, nil),
      (0x23, extended + [0, 0, 1, 0xB5, 0x2A, 8, 0x72, 0x12, 0, 0, 0, 1, 0xB8], "64:45"),
    ] as [(UInt8, [UInt8], String?)])
  func shapesOfMPEG(code: UInt8, extensions: [UInt8], shape: String?) {
    let head = [0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, code, 0x02, 0x4E, 0xE0, 0x20]
    let found = MPEGSequenceHeader(head + extensions + [0, 0, 1, 0xB8, 0, 8])
    #expect(found?.width == 720 && found?.height == 576 && found?.pixel?.description == shape)
  }

  private static let extended: [UInt8] = [0, 0, 1, 0xB5, 0x14, 0x8A, 0, 1, 0, 0, 0, 0, 1, 0xB2, 0x44]

  /// As programs join MP4 files: the samples of each part have their own sample entry.
  @Test(.needsFFmpeg)
  func anEntryOfTheLastSamples() throws {
    func make(_ size: String, _ channels: Int) throws -> [UInt8] {
      try FFmpegTool.make(
        "a.mp4",
        [
          "-f", "lavfi", "-i", "testsrc=size=\(size):rate=25:duration=2", "-f", "lavfi", "-i",
          "sine=frequency=440:sample_rate=44100:duration=2", "-c:v", "libx264", "-pix_fmt", "yuv420p",
          "-c:a", "aac", "-ac", "\(channels)",
        ]
      ).allBytes
    }
    var bytes = try make("64x48", 1)
    let other = try make("96x48", 2)
    let same = try make("64x48", 1)
    #expect(try changes(bytes, by: FFmpegReader.quickWays) == [])
    var alike = bytes
    for (name, source) in [("avc1", other), ("mp4a", other)] { try bytes.addEntry(name, of: source) }
    for (name, source) in [("avc1", same), ("mp4a", same)] { try alike.addEntry(name, of: source) }
    #expect(try changes(alike, by: FFmpegReader.quickWays) == [])
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let told = try changes(bytes, by: ways)
      #expect(told.map(\.fact) == ["video", "audio.0.channels"], "\(told)")
      #expect(told.map(\.stated) == [.text("64x48"), .number(1)], "\(told)")
      #expect(told.map(\.measured) == [.text("96x48"), .number(2)], "\(told)")
    }
  }

  /// As `-c copy` joins what encoders made of different sources.
  @Test(
    .needsFFmpeg,
    arguments: [
      ("libx264", "yuv444p", "4:4:4 with 8 bits"), ("libx264", "yuv420p10le", "4:2:0 with 10 bits"),
      ("libx265", "yuv420p10le", "4:2:0 with 10 bits"), ("libx265", "yuv422p", "4:2:2 with 8 bits"),
    ])
  func aSamplingThatChanges(codec: String, format: String, name: String) throws {
    func make(_ file: String, _ format: String) throws -> [UInt8] {
      try FFmpegTool.make(
        file,
        [
          "-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=2", "-f", "lavfi", "-i",
          "sine=frequency=440:sample_rate=44100:duration=2", "-c:v", codec, "-pix_fmt", format, "-c:a", "aac",
        ]
      ).allBytes
    }
    let (first, other) = (try make("a.ts", "yuv420p"), try make("a.ts", format))
    var movie = try make("a.mp4", "yuv420p")
    let otherMovie = try make("a.mp4", format)
    #expect(try changes(first + first) == [])
    func expect(_ told: [MediaWarning]) {
      #expect(told.map(\.fact) == ["video.pixelFormat"], "\(told)")
      #expect(told.map(\.stated) == [.text("4:2:0 with 8 bits")], "\(told)")
      #expect(told.map(\.measured) == [.text(name)], "\(told)")
    }
    expect(try changes(first + other))
    try movie.addEntry(codec == "libx264" ? "avc1" : "hev1", of: otherMovie)
    for ways in [FFmpegReader.quickWays, [.thorough]] { expect(try changes(movie, by: ways)) }
  }

  /// As QuickTime Player joins recordings of two phones.
  @Test(.needsFFmpeg)
  func anEntryOfAnotherCodec() throws {
    func make(_ video: String, _ audio: String) throws -> [UInt8] {
      try FFmpegTool.make(
        "a.mp4",
        [
          "-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=2", "-f", "lavfi", "-i",
          "sine=frequency=440:sample_rate=44100:duration=2", "-c:v", video, "-pix_fmt", "yuv420p",
          "-tag:v", video == "libx264" ? "avc1" : "hvc1", "-c:a", audio,
        ]
      ).allBytes
    }
    var bytes = try make("libx264", "aac")
    let other = try make("libx265", "ac3")
    try bytes.addEntry("avc1", of: other, named: "hvc1")
    try bytes.addEntry("mp4a", of: other, named: "ac-3")
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let told = try changes(bytes, by: ways)
      #expect(told.map(\.fact) == ["video.codec", "audio.0.codec"], "\(told)")
      #expect(told.map(\.stated) == [.text("h264"), .text("aac")], "\(told)")
      #expect(told.map(\.measured) == [.text("hevc"), .text("ac3")], "\(told)")
    }
  }
}

extension [UInt8] {
  fileprivate func number(at place: Int) -> Int { self[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) } }

  fileprivate mutating func write(_ number: Int, at place: Int) {
    for byte in 0..<4 { self[place + byte] = UInt8(truncatingIfNeeded: number >> (24 - 8 * byte)) }
  }

  /// Adds another file's sample entry, named `otherName` or `name`, after the one of this file, whose index is at the
  /// end, and assigns it to the samples of the last run.
  fileprivate mutating func addEntry(_ name: String, of other: [UInt8], named otherName: String? = nil) throws
  {
    let movie = try #require(lastIndex(of: "moov"))
    let foreign = try #require(other.lastIndex(of: otherName ?? name)) - 4
    let entry = other[foreign..<(foreign + other.number(at: foreign))]
    let place = try #require(lastIndex(of: name)) - 4
    let end = place + number(at: place)
    let runs = try #require(self[end...].firstRange(of: Array("stsc".utf8))).upperBound
    let count = number(at: runs + 4)
    try #require(count > 1)
    write(2, at: runs + 8 + 12 * (count - 1) + 8)
    write(2, at: place - 4)
    // Every box that contains the whole entry.
    for box in movie..<place where ["moov", "trak", "mdia", "minf", "stbl", "stsd"].contains(kind(at: box)) {
      let start = box - 4
      if start + number(at: start) >= end { write(number(at: start) + entry.count, at: start) }
    }
    insert(contentsOf: entry, at: end)
  }

  private func kind(at place: Int) -> String { String(decoding: self[place..<(place + 4)], as: UTF8.self) }

  private func lastIndex(of name: String) -> Int? {
    ranges(of: Array(name.utf8)).last?.lowerBound
  }
}
