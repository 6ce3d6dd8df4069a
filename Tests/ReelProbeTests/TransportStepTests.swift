import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Transport streams that are damaged or partly scrambled.
@Suite(.needsFFmpeg)
struct TransportStepTests {
  enum Damage: String, CaseIterable { case tooMany, missing, mark, thirdMarks, lastMark }

  private static let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "25", "-c:a", "aac"]

  private func made(_ name: String) throws -> [UInt8] {
    let flags = name == "a.m2ts" ? ["-mpegts_m2ts_mode", "1"] : []
    return try FFmpegTool.make(name, FFmpegTool.picture + FFmpegTool.tone + Self.coded + flags).allBytes
  }

  private func read(_ bytes: [UInt8]) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed)).media
  }

  private func id(_ bytes: [UInt8], _ packet: Int) -> Int {
    Int(bytes[packet + 1] & 0x1f) << 8 | Int(bytes[packet + 2])
  }

  @Test(arguments: ["a.ts", "a.m2ts"], Damage.allCases)
  func packetsAreFoundAgain(name: String, damage: Damage) throws {
    var bytes = try made(name)
    let (stride, lead) = name == "a.m2ts" ? (192, 4) : (188, 0)
    let packets = bytes.count / stride
    let middle = packets / 2 * stride
    switch damage {
    case .tooMany: bytes.insert(contentsOf: [UInt8](repeating: 0xff, count: 100), at: middle)
    case .missing: bytes.removeSubrange(middle..<(middle + 70))
    case .mark: bytes[middle + lead] = 0
    case .thirdMarks:
      for packet in Swift.stride(from: packets / 2, to: packets / 2 + 9, by: 3) {
        bytes[packet * stride + lead] = 0
      }
    case .lastMark: bytes[(packets - 2) * stride + lead] = 0
    }
    let media = try read(bytes)
    #expect(abs((media.duration ?? 0) - 2) < 0.3, "\(media.duration ?? 0)")
    // Pictures may be among the lost data.
    if damage == .tooMany { #expect(media.video?.frameRate?.value == 25) }
    #expect(media.encrypted == false && media.warnings.isEmpty, "\(media.warnings)")
  }

  @Test func allPlacesAreFound() {
    let packet = [0x47] + [UInt8](repeating: 0xff, count: 187)
    func places(_ parts: [[UInt8]]) -> [Int] {
      Array(parts.joined()).withUnsafeBufferPointer { Array(TransportPackets.Places($0, stride: 188)) }
    }
    #expect(places([]) == [] && places([[UInt8](repeating: 0, count: 2000)]) == [])
    #expect(places([packet]) == [0] && places([[1, 2, 3], packet, packet]) == [3, 191])
    let four = [[UInt8]](repeating: packet, count: 4)
    #expect(places(four + [[9, 9]] + four) == [0, 188, 376, 564, 754, 942, 1130, 1318])
    // Three in step may be a coincidence.
    #expect(places(four + [[9, 9]] + four.dropLast()) == [0, 188, 376, 564])
  }

  /// A single packet has damaged scrambling bits, or belongs to nothing that is shown.
  @Test(
    arguments: [[0x47, 0x9A, 0xBC, 0xD0], [0x47, 0x1A, 0xBC, 0xD0], [0x47, 0x1F, 0xFF, 0xD0]] as [[UInt8]])
  func onePacketIsNotTheFile(head: [UInt8]) throws {
    var bytes = try made("a.ts")
    bytes.insert(contentsOf: head + [UInt8](repeating: 0, count: 184), at: 40 * 188)
    let media = try read(bytes)
    #expect(media.encrypted == false)
    #expect(media.video?.frameRate?.value == 25 && media.video?.variableFrameRate == false)
    #expect(media.audio.first?.channels == 1 && media.warnings.isEmpty, "\(media.warnings)")
  }

  /// The table left by a recorder that keeps one language of a broadcast, and a second video that is not on air.
  @Test(arguments: [["0:v", "1:a", "1:a"], ["0:v", "0:v", "1:a"]], [0x101, 0x102])
  func whatIsListedAndNotThere(streams: [String], absent: Int) throws {
    let inputs = FFmpegTool.picture + FFmpegTool.tone
    let maps = streams.flatMap { ["-map", $0] }
    let all = try FFmpegTool.make("a.ts", inputs + maps + Self.coded).allBytes
    let packets = stride(from: 0, to: all.count, by: 188)
    let media = try read(packets.filter { id(all, $0) != absent }.flatMap { all[$0..<($0 + 188)] })
    let isOfVideo = streams[absent - 0x100] == "0:v"
    // If the only audio is missing, no other can be heard.
    #expect(media.audio.count == 1 && media.video?.streams == (streams[1] == "1:a" || isOfVideo ? 1 : 2))
    if isOfVideo || streams[1] == "1:a" {
      #expect(media.audio.first?.sampleRate == 44_100 && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Data and subtitles have their own timestamps, such as a drone's telemetry or a camera's position.
  @Test(arguments: [0, 0.6, 1, 1.3]) func dataThatComesFirst(second: Double) throws {
    let clean = try made("a.ts")
    let time = Int(second * 90_000)
    let stamp = [time >> 29 & 14 | 0x21, time >> 22, time >> 14 | 1, time >> 7, time << 1 | 1]
    let head = [0x47, 0x43, 0, 0x10, 0, 0, 1, 0xBD, 0, 178, 0x84, 0x80, 5] + stamp
    var bytes = clean
    bytes.insert(
      contentsOf: head.map { UInt8(truncatingIfNeeded: $0) } + [UInt8](repeating: 0x55, count: 170),
      at: 3 * 188)
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] {
      let (file, other) = (try #require(OpenFile(holding: clean)), try #require(OpenFile(holding: bytes)))
      let (own, media) = try (
        file.read(as: .mpegTS, by: ways).media, other.read(as: .mpegTS, by: ways).media
      )
      #expect(media.duration == own.duration && media.warnings == own.warnings, "\(ways) \(media)")
    }
  }

  /// Stream types whose samples are encrypted while their packets are in the clear.
  @Test func samplesThatAreEncrypted() throws {
    let clear = try made("a.ts")
    let sound = UntrustedEntryTests.renamed(0x0F, 0xCF, in: clear)
    for bytes in [sound, UntrustedEntryTests.renamed(0x1B, 0xDB, in: sound)] {
      let media = try read(bytes)
      #expect(media.encrypted == true && media.audio.count == 1)
      #expect(media.video?.codec == "h264" && media.video?.width == 64)
      #expect(abs((media.duration ?? 0) - 2) < 0.3 && media.warnings.isEmpty, "\(media.warnings)")
    }
    #expect(try read(clear).encrypted == false)
  }

  /// Stream types unknown to FFmpeg in picture packets.
  @Test func picturesOfAnUnknownType() throws {
    let known = try made("a.ts")
    var bytes = UntrustedEntryTests.renamed(0x1B, 0x7F, in: known)
    // FFmpeg would recognize H.264 by its units.
    for packet in stride(from: 0, to: bytes.count, by: 188) where id(bytes, packet) == 0x100 {
      for place in (packet + 36)..<(packet + 188) { bytes[place] = 0x55 }
    }
    let media = try read(bytes)
    #expect(media.video == nil && media.audio.count == 1)
    #expect(media.warnings.map(\.code) == [.codecUnknown], "\(media.warnings)")
  }

  /// Stream types unknown to FFmpeg in sound packets.
  @Test(arguments: [(0x90, "pcm_alaw"), (0x91, "pcm_mulaw"), (0x9C, nil)] as [(UInt8, String?)])
  func soundOfAnUnknownType(type: UInt8, codec: String?) throws {
    let known = try made("a.ts")
    var bytes = UntrustedEntryTests.renamed(0x0F, type, in: known)
    // FFmpeg would recognize AAC by its headers.
    for packet in stride(from: 0, to: bytes.count, by: 188) where id(bytes, packet) == 0x101 {
      let adaptation = bytes[packet + 3] & 0x20 != 0 ? Int(bytes[packet + 4]) + 1 : 0
      let contents = packet + 4 + adaptation
      let header = bytes[packet + 1] & 0x40 != 0 ? 9 + Int(bytes[contents + 8]) : 0
      for place in (contents + header)..<(packet + 188) { bytes[place] = 0x55 }
    }
    let media = try read(bytes)
    #expect(media.video?.codec == "h264" && media.audio == [AudioFacts(codec: codec)], "\(media.audio)")
    #expect(media.warnings.map(\.code) == (codec == nil ? [.codecUnknown] : []), "\(media.warnings)")
  }

  /// As surveillance cameras store it.
  @Test func telephonySoundInAProgramStream() throws {
    // As many bytes a second as G.711 has: FFmpeg 7 knows from them how long the last packet lasts.
    let coded = ["-c:v", "mpeg2video", "-c:a", "mp2", "-b:a", "64k"]
    var bytes = try FFmpegTool.make("a.mpg", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
    let first = try #require(bytes.firstRange(of: [0, 0, 1, 0xE0])).lowerBound
    for packet in bytes.ranges(of: [0, 0, 1, 0xC0]).map(\.lowerBound) {
      let contents = packet + 9 + Int(bytes[packet + 8])
      let end = packet + 6 + Int(bytes[packet + 4]) << 8 + Int(bytes[packet + 5])
      for place in contents..<max(contents, min(end, bytes.count)) { bytes[place] = 0x55 }
    }
    let streams: [UInt8] = [2, 0xE0, 0, 0, 0x90, 0xC0, 0, 0]
    bytes.insert(
      contentsOf: [0, 0, 1, 0xBC, 0, 18, 0xE1, 0xFF, 0, 0, 0, 8] + streams + [0, 0, 0, 0], at: first)
    let file = try #require(OpenFile(holding: bytes))
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] {
      let media = try file.read(as: .mpegPS, by: ways).media
      #expect(media.audio == [AudioFacts(codec: "pcm_alaw")] && media.warnings.isEmpty, "\(media)")
      #expect(abs((media.duration ?? 0) - 2) < 0.1)
    }
  }

  @Test func damagedBitsAreNoScrambling() throws {
    var bytes = try made("a.ts")
    let pictures = stride(from: 0, to: bytes.count, by: 188).filter { id(bytes, $0) == 0x100 }
    for packet in pictures.dropFirst(3).prefix(2) { bytes[packet + 3] |= 0xC0 }
    let media = try read(bytes)
    #expect(media.encrypted == false && media.video?.width == 64)
    #expect(media.video?.frameRate?.value == 25)
  }

  /// With two programs, the one that is shown decides whether a key is needed.
  @Test(arguments: [(0x100, true), (0x102, false)]) func anotherProgramMayTakeAKey(first: Int, isShown: Bool)
    throws
  {
    let programs = [
      "-map", "0", "-map", "1", "-map", "0", "-map", "1", "-program", "st=0:st=1", "-program", "st=2:st=3",
    ]
    var bytes = try FFmpegTool.make("a.ts", FFmpegTool.picture + FFmpegTool.tone + programs + Self.coded)
      .allBytes
    for packet in stride(from: 0, to: bytes.count, by: 188)
    where [first, first + 1].contains(id(bytes, packet)) {
      bytes[packet + 3] |= 0x80
      let start = packet + 4 + (bytes[packet + 3] & 0x20 != 0 ? Int(bytes[packet + 4]) + 1 : 0)
      for at in start..<max(start, packet + 188) { bytes[at] ^= 0x5A }
    }
    let media = try read(bytes)
    #expect(media.encrypted == isShown)
    #expect(abs((media.duration ?? 0) - 2) < 0.3, "\(media.duration ?? 0)")
    #expect(media.video?.frameRate?.value == (isShown ? nil : 25))
    #expect(media.video?.width == (isShown ? nil : 64))
  }
}
