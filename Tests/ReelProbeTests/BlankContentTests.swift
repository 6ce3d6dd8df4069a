import Glibc
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Files whose space was allocated, but only partly filled.
@Suite struct BlankContentTests {
  private static func sample(_ name: String) throws -> [UInt8] {
    try #require(OpenFile(Checkout.root.appending(path: "Samples/clips/" + name).path)).allBytes
  }

  private static func read(_ bytes: [UInt8]) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed)).media
  }

  private static func zeroed(_ bytes: [UInt8], from start: Double, to end: Double) -> [UInt8] {
    var bytes = bytes
    let range = Int(Double(bytes.count) * start)..<Int(Double(bytes.count) * end)
    bytes.replaceSubrange(range, with: repeatElement(0, count: range.count))
    return bytes
  }

  @Test("samples that are only zeros count as missing", arguments: [0.5, 0.7, 0.9])
  func byTheIndex(start: Double) throws {
    let whole = try Self.sample("faststart.mp4")
    let before = try Self.read(whole)
    #expect(before.truncated == false && before.warnings.isEmpty)
    let media = try Self.read(Self.zeroed(whole, from: start, to: 1))
    #expect(media.truncated == true && media.bitRate == nil)
    #expect(media.duration == before.duration)
    let there = try #require(media.presentDuration)
    #expect(there < 0.95 * (before.duration ?? 0), "\(there)")
    #expect(Set(media.warnings.map(\.code)) == [.contentMissing, .truncated], "\(media.warnings)")
  }

  @Test(
    "a gap of zeros in the middle of the file is found",
    arguments: ["program.mpg", "flash.flv", "matroska.mkv", "vp9.webm"])
  func gap(name: String) throws {
    // Longer than any unit can be.
    var whole = try Self.sample(name)
    let before = try Self.read(whole)
    let middle = whole.count * 6 / 10
    whole.replaceSubrange(middle..<middle, with: repeatElement(0, count: 300_000))
    let media = try Self.read(whole)
    #expect(before.truncated != true && media.truncated == true, "\(media.warnings)")
    #expect(media.presentDuration == nil)
    #expect(media.warnings.contains { $0.code == .contentMissing }, "\(media.warnings)")
  }

  @Test("zeros at the end are reported, but do not count as truncation, where the format states no length")
  func tail() throws {
    for name in ["flash.flv", "program.mpg"] {
      let media = try Self.read(Self.sample(name) + [UInt8](repeating: 0, count: 300_000))
      #expect(media.truncated != true, "\(name)")
      #expect(media.warnings.contains { $0.code == .contentMissing }, "\(name): \(media.warnings)")
    }
    // Recordings and recovered files may begin like this.
    let media = try Self.read([UInt8](repeating: 0, count: 4096) + Self.sample("transport.ts"))
    #expect(media.truncated != true && media.presentDuration == nil, "\(media.warnings)")
    #expect(media.warnings.map(\.code) == [.contentMissing])
  }

  @Test("a Void element of zeros is not a gap")
  func padding() throws {
    let whole = try Self.sample("matroska.mkv")
    // The first cluster (RFC 9559, 5.1.3), preceded by a Void element of 300,000 zeros (RFC 8794, 11.3.2).
    let cluster = try #require(whole.indices.first { whole[$0...].starts(with: [0x1F, 0x43, 0xB6, 0x75]) })
    var bytes = whole
    let size = 300_000
    bytes.insert(
      contentsOf: [0xEC, 0x08, 0, 0, 0] + [UInt8](repeating: 0, count: size), at: cluster)
    bytes[cluster + 1] = 0x10 | UInt8(size >> 24)
    for place in 2...4 { bytes[cluster + place] = UInt8(size >> (8 * (4 - place)) & 0xFF) }
    #expect(try !Self.read(bytes).warnings.contains { $0.code == .contentMissing })
  }

  /// Files whose content has many zeros, interrupted by other data.
  @Test(
    "padding to a constant rate, and silence beside pictures, are not gaps",
    .needsFFmpeg
  )
  func filledUp() throws {
    let grey = ["-f", "lavfi", "-i", "color=gray:s=720x576:r=25:d=4"]
    let moving = ["-f", "lavfi", "-i", "testsrc=s=352x288:r=25:d=12"]
    let silence = ["-f", "lavfi", "-i", "anullsrc=r=48000:cl=stereo"]
    let constant = ["-b:v", "6M", "-minrate", "6M", "-maxrate", "6M", "-bufsize", "1835k"]
    for (name, arguments) in [
      ("a.mkv", grey + ["-c:v", "mpeg1video"] + constant),
      ("a.avi", grey + ["-c:v", "mpeg1video"] + constant),
      ("a.vob", grey + ["-c:v", "mpeg2video", "-f", "dvd"] + constant),
      ("b.mpg", moving + silence + ["-shortest", "-target", "pal-vcd"]),
      ("c.vob", moving + silence + ["-shortest", "-c:v", "mpeg2video", "-c:a", "pcm_dvd", "-f", "dvd"]),
      ("d.asf", moving + silence + ["-shortest", "-c:v", "msmpeg4v3", "-c:a", "pcm_s16le"]),
    ] {
      let file = try FFmpegTool.make(name, arguments)
      let media = try file.read(as: try #require(file.sniffed)).media
      #expect(
        media.truncated != true && !media.warnings.contains { $0.code == .contentMissing },
        "\(name): \(media.warnings)")
      // A real gap is still found.
      let bytes = file.allBytes
      let middle = bytes.count / 2
      let cut = bytes[..<middle] + [UInt8](repeating: 0, count: bytes.count / 4 + 300_000) + bytes[middle...]
      #expect(try Self.read(Array(cut)).warnings.contains { $0.code == .contentMissing }, "\(name)")
    }
  }

  @Test("silence stored in one piece in a fragment is not a gap", .needsFFmpeg)
  func silenceOfAFragment() throws {
    let moving = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=5:d=15"]
    let silence = ["-f", "lavfi", "-i", "anullsrc=r=48000:cl=7.1:d=15"]
    let coded = ["-c:v", "mpeg4", "-g", "25", "-c:a", "pcm_s24le", "-movflags", "frag_keyframe+empty_moov"]
    let file = try FFmpegTool.make("a.mov", moving + silence + coded)
    let media = try file.read(as: .mov).media
    #expect(media.truncated == false && media.warnings.isEmpty, "\(media.warnings)")
    let gap = try Self.read(Self.zeroed(file.allBytes, from: 0.3, to: 0.9))
    #expect(gap.truncated == true && gap.warnings.contains { $0.code == .contentMissing }, "\(gap.warnings)")
  }

  @Test("zeros in an attached file are not a gap", .needsFFmpeg)
  func attached() throws {
    let black = ["-f", "lavfi", "-i", "color=black:s=640x480", "-frames:v", "1"]
    let picture = try FFmpegTool.make("a.bmp", black)
    let attached = [
      "-attach", picture.path, "-metadata:s:t", "mimetype=image/bmp",
    ]
    let file = try FFmpegTool.make("a.mkv", FFmpegTool.picture + ["-c:v", "mpeg4"] + attached)
    let media = try file.read(as: .matroska).media
    #expect(media.truncated == false && media.warnings.isEmpty, "\(media.warnings)")
    // A gap after them is still found.
    let gap = [UInt8](repeating: 0, count: 400_000)
    let bytes = file.allBytes
    let behind = try Self.read(Array(bytes.dropLast(9000)) + gap + bytes.suffix(9000))
    #expect(behind.warnings.contains { $0.code == .contentMissing }, "\(behind.warnings)")
  }

  @Test("zeros in a box without media do not hide a later gap", .needsFFmpeg)
  func unused() throws {
    let moving = ["-f", "lavfi", "-i", "testsrc=s=352x288:r=25:d=8"]
    let coded = ["-c:v", "mpeg4", "-b:v", "1M", "-movflags", "frag_keyframe+empty_moov+default_base_moof"]
    let file = try FFmpegTool.make("a.mp4", moving + coded)
    let bytes = file.allBytes
    let size = 400_000
    for type in ["uuid", "free"] {
      let box = [0, UInt8(size >> 16), UInt8(size >> 8 & 0xFF), UInt8(size & 0xFF)] + Array(type.utf8)
      let first = try #require(bytes.position(of: "moof")) - 4
      var whole = bytes
      whole.insert(contentsOf: box + [UInt8](repeating: 0, count: size - 8), at: first)
      #expect(try Self.read(whole).warnings.isEmpty)
      let media = try Self.read(Self.zeroed(whole, from: 0.6, to: 0.8))
      #expect(media.truncated == true && media.warnings.contains { $0.code == .contentMissing }, "\(type)")
    }
  }

  @Test("uncompressed black and silence are not gaps", .needsFFmpeg)
  func plain() throws {
    let black = ["-f", "lavfi", "-i", "color=black:s=320x240:r=5:d=4"]
    let silence = ["-f", "lavfi", "-i", "anullsrc=r=48000:cl=stereo:d=20"]
    let moving = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=5:d=20"]
    for (name, arguments) in [
      ("a.mov", black + ["-c:v", "rawvideo", "-pix_fmt", "rgb24"]),
      ("a.avi", black + ["-c:v", "rawvideo", "-pix_fmt", "bgr24"]),
      ("b.mkv", moving + silence + ["-c:v", "mpeg4", "-c:a", "pcm_s16le"]),
      ("b.avi", moving + silence + ["-c:v", "mpeg4", "-c:a", "pcm_s16le"]),
      ("c.mkv", black + silence + ["-c:v", "ffv1", "-c:a", "pcm_s24le"]),
    ] {
      let file = try FFmpegTool.make(name, arguments)
      let media = try file.read(as: try #require(file.sniffed)).media
      #expect(
        media.truncated != true && !media.warnings.contains { $0.code == .contentMissing },
        "\(name): \(media.warnings)")
    }
    // Black in an unknown codec.
    let file = try FFmpegTool.make("d.mov", black + ["-c:v", "rawvideo", "-pix_fmt", "rgb24"])
    var bytes = file.allBytes
    for place in bytes.indices.dropLast(4) where bytes[place...].starts(with: "raw ".utf8) {
      bytes.replaceSubrange(place..<(place + 4), with: "zzzz".utf8)
    }
    let media = try Self.read(bytes)
    #expect(media.video?.codec == nil && media.truncated == false, "\(media.warnings)")
  }
}
