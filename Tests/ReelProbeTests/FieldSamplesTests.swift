import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// H.264 whose fields are samples of their own, as FFmpeg stores AVCHD in MP4.
@Suite(.needsFFmpeg)
struct FieldSamplesTests {
  /// Fields of two macroblocks, 50 a second; of ten pictures, the first field of the first one is complete. All that
  /// follows the first `fields` are frames.
  private static func stream(samples: Int, fields: Int = .max) -> [UInt8] {
    var bytes: [UInt8] = []
    for field in 0..<samples {
      let isFrame = field >= fields
      let isFirst = field % 20 == 0 && !isFrame
      let picture = isFrame ? (field - fields / 2) % 16 : field / 2 % 10
      if isFirst { bytes += sequence + pictures }
      var bits = Bits()
      bits.unsigned(0)
      bits.unsigned(isFirst ? 7 : 5)
      bits.unsigned(0)
      bits.number(picture, 4)
      bits.number(isFrame ? 0 : 1, 1)
      if !isFrame { bits.number(field % 2, 1) }
      if isFirst { bits.unsigned(0) }
      bits.number(0, isFirst ? 2 : 3)
      bits.unsigned(0)
      if isFirst {
        for _ in 0..<2 {
          bits.unsigned(25)
          bits.align(with: 0)
          for byte in 0..<384 { bits.number(byte < 256 ? 90 : 128, 8) }
        }
      } else {
        bits.unsigned(isFrame ? 4 : 2)
      }
      bytes += [0, 0, 0, 1, isFirst ? 0x65 : 0x41] + bits.ended
    }
    return bytes
  }

  /// 32x32, fields allowed, two ticks of a 50th a picture, fixed.
  private static var sequence: [UInt8] {
    var bits = Bits()
    bits.number(77, 8)
    bits.number(20, 16)
    for value in [0, 0, 2, 1] { bits.unsigned(value) }
    bits.number(0, 1)
    bits.unsigned(1)
    bits.unsigned(0)
    // Not frames only, no adaptive fields, inferred by 8x8, no cropping, usability without anything but timing.
    for bit in [0, 0, 1, 0, 1, 0, 0, 0, 0, 1] { bits.number(bit, 1) }
    bits.number(1, 32)
    bits.number(50, 32)
    bits.number(0b10000, 5)
    return [0, 0, 0, 1, 0x67] + bits.ended
  }

  private static var pictures: [UInt8] {
    var bits = Bits()
    bits.unsigned(0)
    bits.unsigned(0)
    bits.number(0, 2)
    for _ in 0..<3 { bits.unsigned(0) }
    bits.number(0, 3)
    for _ in 0..<3 { bits.unsigned(0) }
    bits.number(0, 3)
    return [0, 0, 0, 1, 0x68] + bits.ended
  }

  @Test(arguments: [[], ["-movflags", "frag_keyframe+empty_moov+default_base_moof"]])
  func aPictureCountsOnce(options: [String]) throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.stream(samples: 200), to: "a.264")
    let file = try FFmpegTool.make(
      "a.mp4", ["-r", "50", "-f", "h264", "-i", folder.path(of: "a.264"), "-c", "copy"] + options)
    for media in try file.readBothWays(as: .mp4) + [file.read(as: .mp4, by: [.thorough]).media] {
      #expect(media.video?.frameRate?.description == "25/1", "\(String(describing: media.video?.frameRate))")
      #expect(media.video?.variableFrameRate == false && media.warnings.isEmpty, "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - 4) < 0.03, "\(media.duration ?? 0)")
    }
  }

  /// Two fields at the beginning say nothing about the rest.
  @Test func framesBehindFieldsCountOneByOne() throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.stream(samples: 200, fields: 2), to: "a.264")
    let file = try FFmpegTool.make(
      "a.mp4", ["-r", "50", "-f", "h264", "-i", folder.path(of: "a.264"), "-c", "copy"])
    for media in try file.readBothWays(as: .mp4) {
      #expect(media.video?.frameRate?.description == "50/1", "\(String(describing: media.video?.frameRate))")
    }
  }

  /// Frames in a stream that allows fields are counted one by one, however fast they come.
  @Test func framesAreNoFields() throws {
    let coded = ["-c:v", "libx264", "-flags", "+ildct+ilme", "-bf", "0", "-pix_fmt", "yuv420p"]
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.picture + coded)
    let file = try FFmpegTool.make("b.mp4", ["-itsscale", "0.5", "-i", made.path, "-c", "copy"])
    for media in try file.readBothWays(as: .mp4) {
      #expect(media.video?.frameRate?.description == "50/1", "\(String(describing: media.video?.frameRate))")
    }
  }
}

private struct Bits {
  private var bits: [UInt8] = []

  mutating func number(_ value: Int, _ count: Int) {
    for place in (0..<count).reversed() { bits.append(UInt8(value >> place & 1)) }
  }

  mutating func unsigned(_ value: Int) {
    let width = Int.bitWidth - (value + 1).leadingZeroBitCount
    number(0, width - 1)
    number(value + 1, width)
  }

  mutating func align(with bit: Int) {
    while bits.count % 8 != 0 { number(bit, 1) }
  }

  /// The payload of a NAL unit: with its end, and without anything that looks like a start code.
  var ended: [UInt8] {
    var own = self
    own.number(1, 1)
    own.align(with: 0)
    var (bytes, zeros): ([UInt8], Int) = ([], 0)
    for first in stride(from: 0, to: own.bits.count, by: 8) {
      let byte = own.bits[first..<(first + 8)].reduce(0) { $0 << 1 | $1 }
      if zeros >= 2, byte <= 3 {
        bytes.append(3)
        zeros = 0
      }
      bytes.append(byte)
      zeros = byte == 0 ? zeros + 1 : 0
    }
    return bytes
  }
}
