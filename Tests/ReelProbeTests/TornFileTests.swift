import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Files of which a transfer has lost, repeated or replaced a part, while the rest is where it belongs.
@Suite(.needsFFmpeg)
struct TornFileTests {
  private static let inputs = [
    "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=4", "-f", "lavfi", "-i",
    "sine=sample_rate=48000:duration=4",
  ]
  private static let h264 = ["-c:v", "libx264", "-g", "25", "-pix_fmt", "yuv420p"]

  private static func made(_ name: String, _ coded: [String]) throws -> [UInt8] {
    try FFmpegTool.make(name, inputs + coded).allBytes
  }

  private static func read(_ bytes: [UInt8], by ways: Set<ProbeMethod>? = nil) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed), by: ways).media
  }

  /// The file with a part repeated, as when an upload was resumed at the wrong place, without a byte, with another in
  /// the place of a part, and with the end of lines changed from a place on.
  private static func torn(_ bytes: [UInt8], at share: Double, behind start: Int) -> [String: [UInt8]] {
    let place = start + Int(Double(bytes.count - start) * share)
    let (head, rest) = (Array(bytes[..<place]), Array(bytes[place...]))
    let part = (bytes.count - start) / 20
    let repeated = head + bytes[(place - part)..<place] + rest
    return [
      "repeated": repeated, "overlapped": Array(repeated.prefix(bytes.count)), "inserted": head + [0] + rest,
      "changed": head + rest.flatMap { $0 == 10 ? [13, 10] : [$0] },
    ]
  }

  @Test(
    arguments: [
      h264, ["-c:v", "libx265", "-pix_fmt", "yuv420p"], ["-c:v", "mpeg4"], ["-c:v", "libvpx-vp9"],
      ["-c:v", "mpeg2video"], ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"], ["-c:v", "prores_ks"],
    ], [0.1, 0.5, 0.8])
  func picturesThatAreNotWhereTheIndexSays(coded: [String], share: Double) throws {
    let name = coded.contains("prores_ks") ? "a.mov" : "a.mp4"
    let whole = try Self.made(name, coded + ["-movflags", "+faststart"])
    let before = try Self.read(whole)
    #expect(before.warnings.isEmpty, "\(before.warnings)")
    let start = try #require(whole.position(of: "mdat"))
    for (kind, bytes) in Self.torn(whole, at: share, behind: start) {
      let media = try Self.read(bytes)
      #expect(media.warnings.map(\.code) == [.indexMismatch], "\(kind): \(media.warnings)")
      #expect(media.duration == before.duration && media.video?.frameRate == before.video?.frameRate)
    }
    // The end is missing as well, so that the index alone does not tell how much is there.
    let place = start + Int(Double(whole.count - start) * share)
    let shorter = try Self.read(Array(whole[..<place] + whole[(place + 999)...]))
    #expect(shorter.truncated == true && shorter.presentDuration == nil)
    #expect(shorter.warnings.contains { $0.code == .indexMismatch }, "\(shorter.warnings)")
  }

  @Test func aPictureThatOnlyAThoroughReadingMissesTellsNotHowMuchIsThere() throws {
    let whole = try Self.made("a.mp4", Self.h264 + ["-movflags", "+faststart"])
    let start = try #require(whole.position(of: "mdat"))
    let cut = Array(whole[..<(start + (whole.count - start) * 4 / 5)])
    var media: MediaInfo?
    for place in stride(from: start + 3000, to: cut.count - 3000, by: 500) where media == nil {
      var bytes = cut
      bytes.replaceSubrange(place..<(place + 100), with: repeatElement(0xFF, count: 100))
      guard try !Self.read(bytes).warnings.contains(where: { $0.code == .indexMismatch }) else { continue }
      let read = try Self.read(bytes, by: [.thorough])
      if read.warnings.contains(where: { $0.code == .indexMismatch }) { media = read }
    }
    let found = try #require(media)
    #expect(found.truncated == true && found.presentDuration == nil)
  }

  /// The record of AV1 may leave out the sequence header (AV1 in ISOBMFF, 2.3.3), as GStreamer's does.
  @Test func picturesOfAV1BesideARecordWithoutTheirHeader() throws {
    let coded = ["-c:v", "libaom-av1", "-cpu-used", "8", "-movflags", "+faststart"]
    var whole = try Self.made("a.mp4", coded)
    let record = try #require(whole.position(of: "av1C")) + 8
    #expect(whole[record] == 0x0A)
    // Padding (5.3.2 of the AV1 specification).
    whole[record] = 0x7A
    let media = try Self.read(whole)
    #expect(media.warnings.isEmpty && media.video?.codec == "av1", "\(media.warnings)")
    let start = try #require(whole.position(of: "mdat"))
    for (kind, bytes) in Self.torn(whole, at: 0.3, behind: start) {
      let media = try Self.read(bytes)
      #expect(media.warnings.contains { $0.code == .indexMismatch }, "\(kind): \(media.warnings)")
    }
  }

  @Test(
    arguments: [
      "frag_keyframe+empty_moov", "frag_keyframe+empty_moov+default_base_moof", "cmaf+frag_keyframe",
    ])
  func fragmentsBehindBytesThatAreNoBox(flags: String) throws {
    let whole = try Self.made("a.mp4", Self.h264 + ["-movflags", flags])
    let before = try Self.read(whole)
    #expect(before.truncated == false && before.warnings.isEmpty, "\(before.warnings)")
    for (kind, bytes) in Self.torn(whole, at: 0.5, behind: 0) {
      let media = try Self.read(bytes)
      #expect(media.truncated == nil, "\(kind)")
      #expect(
        media.warnings.contains { $0.code == .indexMismatch && $0.fact == "duration" },
        "\(kind): \(media.warnings)")
    }
  }

  @Test func picturesThatAreNotWhereTheLastFragmentSays() throws {
    let flags = ["-movflags", "frag_keyframe+empty_moov+default_base_moof"]
    let whole = try Self.made("a.mp4", Self.h264 + flags)
    for (kind, bytes) in Self.torn(whole, at: 0.9, behind: 0) {
      let media = try Self.read(bytes)
      #expect(media.warnings.contains { $0.code == .indexMismatch }, "\(kind): \(media.warnings)")
    }
  }

  @Test func chunksThatAreNotWhereTheIndexSays() throws {
    let whole = try Self.made("a.avi", ["-c:v", "mpeg4", "-c:a", "libmp3lame"])
    #expect(try Self.read(whole).warnings.isEmpty)
    let (start, end) = (whole.count / 3, whole.count * 2 / 3)
    var bytes = whole
    bytes.replaceSubrange(start..<end, with: whole[(start - 5001)..<(end - 5001)])
    let media = try Self.read(bytes)
    #expect(media.warnings.contains { $0.code == .indexMismatch }, "\(media.warnings)")
    // Too few zeros to be noticed without reading everything.
    bytes = whole
    let middle = whole.count * 17 / 32
    bytes.replaceSubrange(middle..<(middle + 12_000), with: repeatElement(0, count: 12_000))
    let thorough = try Self.read(bytes, by: [.thorough])
    #expect(thorough.warnings.contains { $0.fact == "duration" }, "\(thorough.warnings)")
  }

  @Test(arguments: [0, 1, 2, 5, 17, 18, 1 << 50, .max])
  func theFirstPictureAndTheLastAreLookedAt(count: Int) {
    for looks in [16, 1 << 10] {
      let numbers = StrayPicture.numbers(of: count, looks)
      #expect(numbers.count == (count < 2 ? 0 : min(count, looks + 1)))
      #expect(count < 2 || numbers.first == 0 && (numbers.last ?? 0) > (count - 1) / 100 * 99)
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy(<) && numbers.allSatisfy { $0 < count })
    }
  }

  @Test func aFooterThatIsNotWhereTheHeaderSays() throws {
    let whole = try Self.made("a.mxf", ["-c:v", "mpeg2video", "-c:a", "pcm_s16le"])
    let before = try Self.read(whole)
    #expect(before.truncated == false && before.warnings.isEmpty, "\(before.warnings)")
    let place = whole.count / 3
    let zeros = [UInt8](repeating: 0, count: whole.count - place)
    #expect(try Self.read(whole[..<place] + zeros).truncated == true)
    let media = try Self.read(Array(whole[..<place] + whole[(place + 500)...]))
    #expect(media.truncated == nil)
    #expect(media.warnings.contains { $0.code == .indexMismatch }, "\(media.warnings)")
  }

  @Test(
    arguments: [
      ("a.mp4", h264 + ["-movflags", "+faststart"]),
      ("a.mp4", h264 + ["-movflags", "frag_keyframe+empty_moov"]), ("a.ts", h264), ("a.m2ts", h264),
      ("a.mpg", ["-c:v", "mpeg2video", "-b:v", "1M"]),
      ("a.webm", ["-c:v", "libvpx", "-b:v", "400k", "-c:a", "libopus", "-live", "1"]),
    ])
  func whatWasTakenForText(name: String, coded: [String]) throws {
    let whole = try Self.made(name, coded)
    #expect(try Self.read(whole).warnings.isEmpty)
    let changed = [
      whole.flatMap { $0 == 10 ? [13, 10] : [$0] }, whole.filter { $0 != 13 }, whole.map { $0 & 0x7F },
    ]
    for (number, bytes) in changed.enumerated() {
      let file = try #require(OpenFile(holding: bytes))
      guard let container = file.sniffed else { continue }
      #expect(throws: ProbeError.self, "\(number)") { try file.read(as: container) }
    }
  }

  /// Of few bytes, a line feed may be the only one that is missing by chance.
  @Test func aSmallFileMayLackAByte() {
    var draws = SplitMix64(seed: 3)
    for count in [1000, 1500, 2000] {
      let bytes = Array(0...255) + draws.bytes(count)
      #expect(!TextTransfer.hasChanged(BytesInMemory(all: bytes.filter { $0 != 10 })))
    }
    #expect(TextTransfer.hasChanged(BytesInMemory(all: draws.bytes(60_000).filter { $0 != 10 })))
  }
}
