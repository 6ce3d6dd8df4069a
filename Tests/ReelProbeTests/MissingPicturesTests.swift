import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Pictures missing in the middle of an MPEG multiplex while the audio continues, as after bad reception: the frame
/// rate is that of the remaining pictures, or a warning names it.
@Suite(.notQuick, .needsFFmpeg, .serialized)
struct MissingPicturesTests {
  /// A transport stream with some pictures removed.
  private struct Made {
    let bytes: [UInt8]
    let pictures: Int
  }

  /// Removes the picture packets in the range of seconds `missing` from a transport stream, and counts the remaining
  /// pictures.
  private static func without(_ missing: Range<Double>, of whole: [UInt8]) -> Made {
    var (bytes, pictures, first, now): ([UInt8], Int, Double?, Double) = ([], 0, nil, 0)
    bytes.reserveCapacity(whole.count)
    for at in stride(from: 0, to: whole.count - 187, by: 188) {
      let packet = whole[at..<(at + 188)]
      let isPicture = packet[at + 1] & 0x1f == 1 && packet[at + 2] == 0
      if isPicture, packet[at + 1] & 0x40 != 0 {
        let start = at + 4 + (packet[at + 3] & 0x20 != 0 ? Int(packet[at + 4]) + 1 : 0)
        let time = start + (packet[start + 7] & 0x40 != 0 ? 14 : 9)
        let ticks = [
          Int(packet[time] >> 1 & 7) << 30, Int(packet[time + 1]) << 22, Int(packet[time + 2] >> 1) << 15,
          Int(packet[time + 3]) << 7, Int(packet[time + 4] >> 1),
        ].reduce(0, |)
        let seconds = Double(ticks) / 90_000
        first = first ?? seconds
        now = seconds - (first ?? 0)
        if !missing.contains(now) { pictures += 1 }
      }
      if !isPicture || !missing.contains(now) { bytes += packet }
    }
    return Made(bytes: bytes, pictures: pictures)
  }

  private static func stream(_ seconds: Int, _ encoder: String, bitRate: Int) throws -> [UInt8] {
    try FFmpegTool.make(
      "a.ts",
      [
        "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=\(seconds),noise=alls=100:allf=t",
        "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=\(seconds)",
        "-c:v", encoder, "-pix_fmt", "yuv420p", "-g", "25", "-bf", "0", "-b:v", "\(bitRate)k",
        "-maxrate", "\(bitRate)k", "-bufsize", "\(bitRate / 4)k", "-c:a", "mp2", "-b:a", "128k",
      ] + (encoder == "libx264" ? ["-preset", "ultrafast", "-x264-params", "nal-hrd=cbr"] : [])
    ).allBytes
  }

  /// One picture of 250: the others come at the rate that they state.
  @Test func oneMissingPictureIsNotAnotherRate() throws {
    let whole = try Self.stream(10, "mpeg2video", bitRate: 300)
    let made = Self.without(4.02..<4.06, of: whole)
    #expect(made.pictures == 249)
    for media in try bothWays(made.bytes) { #expect(media.video?.frameRate?.description == "25/1") }
  }

  /// The whole file is read: gaps shorter and longer than a jump of the clock.
  @Test(arguments: ["libx264", "mpeg2video"]) func inASmallFile(encoder: String) throws {
    let whole = try Self.stream(25, encoder, bitRate: 300)
    for missing in [8..<10.0, 5..<20.0] {
      let made = Self.without(missing, of: whole)
      #expect(made.bytes.count < 2 << 20 && made.pictures < 600)
      for media in try bothWays(made.bytes) {
        let rate = Double(made.pictures) / 25
        #expect(abs((media.video?.frameRate?.value ?? 0) - rate) < 0.02 * rate, "\(missing): \(rate)")
        #expect(media.video?.variableFrameRate == true)
        #expect(abs((media.duration ?? 0) - 25) < 0.2, "\(missing): \(media.duration ?? 0)")
        #expect(media.warnings.isEmpty, "\(missing): \(media.warnings)")
      }
    }
  }

  /// Windows are read, and some of the missing pictures are between them. The audio in the short gaps is less than a
  /// window.
  @Test(arguments: [20..<24.0, 20..<35.0, 10..<50.0, 30..<61.0]) func inALargeFile(
    missing: Range<Double>
  ) throws {
    let whole = try Self.stream(60, "libx264", bitRate: 1500)
    #expect(whole.count > 8 << 20, "\(whole.count)")
    let made = Self.without(missing, of: whole)
    let isPause = missing.upperBound < 60
    let rate = isPause ? Double(made.pictures) / 60 : 25
    for (media, isThorough) in zip(try bothWays(made.bytes), [false, true]) {
      #expect(abs((media.duration ?? 0) - 60) < 0.3, "\(missing): \(media.duration ?? 0)")
      let isNamed = media.warnings.contains { $0.code == .claimUnchecked && $0.fact == "video.frameRate" }
      #expect(isNamed == (isPause && !isThorough), "\(missing): \(media.warnings)")
      if !isNamed {
        #expect(abs((media.video?.frameRate?.value ?? 0) - rate) < 0.02 * rate, "\(missing): \(rate)")
      }
      #expect(media.video?.variableFrameRate == (isNamed ? nil : isPause), "\(missing)")
    }
    let plain = try bothWays(whole)[0]
    #expect(plain.warnings.isEmpty && plain.video?.variableFrameRate == false, "\(plain.warnings)")
  }

  private func bothWays(_ bytes: [UInt8]) throws -> [MediaInfo] {
    let file = try #require(OpenFile(holding: bytes))
    return [
      try file.read(as: .mpegTS).media, try file.read(as: .mpegTS, by: [.thorough]).media,
    ]
  }
}
